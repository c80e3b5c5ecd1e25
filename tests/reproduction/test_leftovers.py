"""What `clean` finds, of which kind, and what it leaves alone."""

import os
import socket
import time

import pytest

from reproduction import leftovers

RUN = "smoke/digits-mlp-n5/homogeneous/cycle.seed0.json"
OTHER = "smoke/digits-mlp-n5/homogeneous/vpdl.seed0.json"


@pytest.fixture
def results(tmp_path):
    """A record, a kept model, and one file of each kind, written two hours ago."""
    nobody = 2**22 + 1  # no process has this number
    files = {
        RUN: "record",
        RUN.replace(".json", ".models.safetensors"): "kept",
        f".checkpoints/{RUN}.12.0.pt": "recorded",
        f".checkpoints/{OTHER}.12.0.pt": "unfinished",
        f".checkpoints/{OTHER}.12.1.pt": "unfinished",
        f".checkpoints/{OTHER}.10.0.pt.unused": "set aside",
        ".checkpoints/warmup-0123456789abcdef.10.0.pt": "shared",
        f"smoke/.x.json@{socket.gethostname()}.{nobody}.01234567.partial": "partial",
        f"smoke/.y.json@{socket.gethostname()}.{os.getpid()}.01234567.partial": "being written by this process",
    }
    for name, kind in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kind)
        os.utime(path, (time.time() - 7200,) * 2)
    return tmp_path


def test_each_file_is_of_the_kind_it_was_made_as(results):
    found = leftovers.find([results, results / "not there"])
    assert all(path.read_text() == kind for kind, path in found)
    assert sorted(kind for kind, _ in found) == [
        "partial", "recorded", "set aside", "shared", "unfinished", "unfinished",
    ]  # fmt: skip


def test_what_a_run_may_be_using_is_kept(results):
    lately = results / ".checkpoints" / f"{OTHER}.12.0.pt"
    os.utime(lately)
    found = leftovers.find([results])
    assert ("in use", lately) in found and lately not in leftovers.removable(found)
    assert len(leftovers.removable(found)) == len(found) - 1


def test_the_report_counts_bytes_and_names_the_first_files(results):
    big = results / ".checkpoints" / "warmup-big.pt"
    big.write_bytes(bytes(2_500_000))
    os.utime(big, (time.time() - 7200,) * 2)
    text = leftovers.report(leftovers.find([results]))
    assert "2.5 MB, 2 of kind shared: local epochs that several runs share" in text and str(big) in text
    assert "0.0 MB, 2 of kind unfinished" in text
    assert leftovers.report([]) == "nothing is left over"


def test_a_long_list_is_cut(tmp_path):
    paths = [tmp_path / f"warmup-{number}.pt" for number in range(8)]
    for path in paths:
        path.write_text("")
    lines = leftovers.report([("shared", path) for path in paths]).splitlines()
    assert len(lines) == 1 + leftovers.SHOWN + 1 and lines[-1] == f"  and {8 - leftovers.SHOWN} more"
