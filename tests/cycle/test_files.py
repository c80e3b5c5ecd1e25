import errno
import os
import resource
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

from cycle import files


@pytest.fixture
def gone():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left(path, machine, process, age=0.0):
    """A half-done file of `path`, last written `age` seconds ago."""
    partial = path.with_name(f".{path.name}@{machine}.{process}.0123abcd.partial")
    partial.write_text("half")
    when = partial.stat().st_mtime - age
    os.utime(partial, (when, when))
    return partial


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    files.write_atomically(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"half")
        raise RuntimeError("not a number")

    with pytest.raises(RuntimeError, match="not a number"):
        files.write_atomically(path, fail)
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_half_done_files_belong_to_a_process_of_a_machine(tmp_path, gone):
    here, path = socket.gethostname(), tmp_path / "run.json"
    cut, old = left(path, here, gone), left(tmp_path / "run.json.0.pt", "elsewhere", 1, age=25 * 3600)
    kept = [left(path, here, os.getpid()), left(path, "elsewhere", gone), left(tmp_path / "other", here, gone)]
    stranger = tmp_path / ".run.json.partial"
    stranger.write_text("not ours")
    assert sorted(files.cut_writes(path)) == sorted([cut, old])
    files.write_atomically(path, lambda file: file.write(b"whole"))
    assert sorted(tmp_path.iterdir()) == sorted([path, stranger, *kept])


def test_a_name_is_read_as_it_is_not_as_a_pattern(tmp_path, gone):
    other = left(tmp_path / "runs", socket.gethostname(), gone)
    assert files.cut_writes(tmp_path / "run[s]") == [] and files.cut_writes(tmp_path / "runs") == [other]


def test_a_killed_writer_leaves_what_the_next_one_removes(tmp_path):
    path = tmp_path / "record.json"
    path.write_text("old")
    code = (
        "import os, pathlib, signal, sys; from cycle import files\n"
        "def write(file):\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomically(pathlib.Path(sys.argv[1]), write)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == -9
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    files.write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_names_differ_between_machines_and_calls(tmp_path, monkeypatch):
    names = {files.owned(tmp_path / "file") for _ in range(100)}
    monkeypatch.setattr(files.socket, "gethostname", lambda: "another")
    assert len(names) == 100 and files.owned(tmp_path / "file").name.startswith(".file@another.")


@pytest.mark.parametrize(
    "write",
    [
        lambda file: file.write(bytes(100_000)),
        lambda file: np.savez(file, zeros=np.zeros(100_000)),
        lambda file: torch.save(torch.zeros(100_000), file),
    ],
    ids=["bytes", "numpy", "torch"],
)
def test_a_disk_that_is_full_is_one_line_and_harms_nothing(tmp_path, write):
    path = tmp_path / "file"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(files.DiskError) as found:
            files.write_atomically(path, write)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(found.value).startswith(f"{path} cannot be written (File too large): free some space")
    assert "\n" not in str(found.value) and path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_read_only_is_one_line(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(files.DiskError, match=r"file cannot be written \(Read-only file system\): make it writable"):
        files.write_atomically(tmp_path / "file", lambda file: file.write(b"new"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(files.DiskError, match=r"run.json cannot be written \(.*\): check the disk"):
        files.write_atomically(tmp_path / "results" / "run.json", lambda file: file.write(b"new"))
