"""Several ranks, as torchrun would start them."""

import os
import socket
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def rank_processes():
    """`size` processes that run these Python arguments; `only` some of them."""

    def start(size, *arguments, only=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
        return [
            subprocess.Popen(
                [sys.executable, *arguments],
                env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in (range(size) if only is None else only)
        ]

    return start
