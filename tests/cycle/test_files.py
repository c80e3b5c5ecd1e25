import pytest

from cycle import files


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    files.write_atomically(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        files.write_atomically(path, fail)
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1
