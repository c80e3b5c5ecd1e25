#!/usr/bin/env python3
"""One command for everything: sets up .venv by itself (standard library only), then does what you ask.

python3 run.py book      execute the chapters and build the book into _build/html
python3 run.py pdf       the same as one file, _build/cycle-book.pdf (needs Chromium or Chrome, no LaTeX)
python3 run.py test      build the book and run all tests: every chapter (pytest --nbval), every page in a browser
python3 run.py accept    execute the chapters and store their outputs (after a change that should change them)
python3 run.py serve     show the built book on http://localhost:8000
python3 run.py setup     only prepare .venv
python3 run.py address URL   write another repository address everywhere it is mentioned (_config.yml holds it)
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OLDEST_PYTHON = (3, 11)
NEEDED_GIGABYTES = 4
OF_THE_PAGES = ("tests/book/test_browser.py", "tests/book/test_pdf.py")  # tests that look at the built book


def digest(*patterns: str) -> str:
    """One hash over the files that match."""
    total = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def stamped(stamp: Path, value: str) -> bool:
    return stamp.exists() and stamp.read_text() == value


def setup() -> None:
    """Make .venv and install the pinned requirements, once for each state of the requirement files."""
    wanted = digest("requirements.txt", "pyproject.toml") + sys.version
    stamp = VENV / "cycle-setup.txt"
    if PYTHON.exists() and stamped(stamp, wanted):
        return
    if not PYTHON.exists() or stamp.exists() and not stamp.read_text().endswith(sys.version):
        stamp.unlink(missing_ok=True)  # made with a Python that is gone, or with another one
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < NEEDED_GIGABYTES:
        sys.exit(f"{ROOT} has {free:.1f} GB free; the packages need {NEEDED_GIGABYTES} GB. Make room and repeat.")
    print("preparing .venv (a few minutes the first time) ...", flush=True)
    if not stamp.exists():  # never finished: begin anew
        try:
            venv.create(VENV, with_pip=True, clear=True)
        except subprocess.CalledProcessError:
            sys.exit(
                "Python's venv could not install pip. On Debian and Ubuntu: apt install python3-venv; then repeat."
            )
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]
    if subprocess.run(command, cwd=ROOT).returncode:
        sys.exit(
            "pip could not install the requirements (its message is above). If it speaks of connections, there is no "
            "network or a proxy is missing; if of 'No space left', the disk is full. Mend that and repeat the command."
        )
    stamp.write_text(wanted)


def python(*arguments, **options) -> int:
    return subprocess.run([str(PYTHON), *arguments], cwd=ROOT, **options).returncode


def build(builder: str) -> int:
    """Run Jupyter Book; drop the cache of executed chapters when the code or the records under them changed."""
    place, beneath = ROOT / "_build", digest("cycle/**/*", "reproduction/**/*", "results/**/*.json", "requirements.txt")
    stamp = place / "beneath.txt"
    if place.exists() and not stamped(stamp, beneath):
        shutil.rmtree(place)
    jupyter_book = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    code = python("-c", jupyter_book, "build", ".", "-W", "-n", "--keep-going", "--builder", builder)
    if code == 0:
        stamp.write_text(beneath)
    return code


def book() -> int:
    code = build("html")
    if code == 0:
        print(f"\nThe book is ready: open {(ROOT / '_build' / 'html' / 'index.html').as_uri()}")
    return code


def pdf() -> int:
    """Build the book as one page and have a browser print it."""
    page, file = ROOT / "_build" / "singlehtml" / "book" / "introduction.html", ROOT / "_build" / "cycle-book.pdf"
    code = build("singlehtml") or python("book/pdf.py", str(page), str(file))
    if code == 0:
        print(f"\nThe book is ready: open {file.as_uri()}")
    return code


def test() -> int:
    """Build the book without a warning and look at its pages in a browser; all other tests run meanwhile."""
    pytest, rest = ["-m", "pytest", "-q"], ["--nbval", "-n", "2", "--dist", "loadfile"]
    with tempfile.TemporaryFile() as report, ThreadPoolExecutor() as pool:
        ignored = [f"--ignore={path}" for path in OF_THE_PAGES]
        others = pool.submit(python, *pytest, *rest, *ignored, stdout=report, stderr=subprocess.STDOUT)
        pages = book() or python(*pytest, *OF_THE_PAGES)
        print("\nAll other tests ...", flush=True)
        others = others.result()
        report.seek(0)
        sys.stdout.buffer.write(report.read())
    return others or pages


def accept(*chapters: str) -> int:
    return python("book/record.py", *chapters)


def serve() -> int:
    if not (ROOT / "_build" / "html").exists() and book():
        return 1
    print("http://localhost:8000 (Ctrl-C ends it)")
    try:
        return python("-m", "http.server", "8000", "--bind", "127.0.0.1", "--directory", "_build/html")
    except KeyboardInterrupt:
        return 0


def address(new: str) -> int:
    """Put the address `new` in the place of the one in _config.yml, there and in all that repeat it."""
    new = re.sub(r"(\.git)?/*$", "", new)
    if not re.fullmatch(r"https://[^/\s]+/[^/\s]+/[^/\s]+", new):
        sys.exit(f"address: wants the https address of the repository, e.g. https://github.com/you/book, not {new!r}")
    old = re.search(r"^  url: (\S+)", (ROOT / "_config.yml").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    for pattern in ("_config.yml", "README.md", "CITATION.cff", "book/**/*.md", "book/**/*.ipynb"):
        for path in ROOT.glob(pattern):
            text = path.read_text(encoding="utf-8")
            if old in text:
                path.write_text(text.replace(old, new), encoding="utf-8")
                print(path.relative_to(ROOT))
    return 0


VERBS = {"book": book, "pdf": pdf, "test": test, "accept": accept, "serve": serve, "setup": lambda: 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=[*VERBS, "address"])
    parser.add_argument("what", nargs="*", help="for address: the new one; for accept: chapters (default: all)")
    asked = parser.parse_args()
    verb = asked.verb
    if verb == "address":
        sys.exit(address(" ".join(asked.what)))
    if asked.what and verb != "accept":
        parser.error(f"{verb} takes no further argument, got {' '.join(asked.what)}")
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed, this is {sys.version.split()[0]}. "
            "Repeat the command with a newer one, e.g. python3.11 run.py " + verb
        )
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # the chapters' networks are small: threads would only wait for each other
    setup()
    sys.exit(VERBS[verb](*asked.what))


if __name__ == "__main__":
    main()
