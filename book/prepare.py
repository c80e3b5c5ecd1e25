"""Run by the first cell of every chapter: installs what is missing (Colab, a hub), says what the chapter needs.

What is there stays as it is, above all Colab's own torch.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parent
# what the chapters import, and what pip calls it; tests/book/test_first_cell.py compares it with pyproject.toml
SAME = ("torch", "numpy", "scipy", "networkx", "tqdm", "pydantic", "tenseal", "torchvision", "pandas", "matplotlib")
PACKAGES = {name: name for name in (*SAME, "ipywidgets", "jinja2")}
PACKAGES |= {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml", "IPython": "ipython"}


def missing() -> list[str]:
    """The requirements, with their pins, whose package cannot be imported here."""
    pins = dict(re.findall(r"^([\w-]+)(==\S+)", (BOOK.parent / "requirements.txt").read_text(), re.MULTILINE))
    return [pip + pins[pip] for name, pip in PACKAGES.items() if importlib.util.find_spec(name) is None]


def needs(seconds: float, megabytes: float) -> str:
    """What a chapter needs, in words (the word "seconds" keeps the line out of nbval's comparison)."""
    return f"needs: {max(1, round(seconds))} seconds, {megabytes / 1000:.1f} GB memory, no GPU"


def recorded(chapter: str) -> dict[str, float]:
    """What `record.py` measured; nothing before the first time."""
    notebook = BOOK / f"{chapter}.ipynb"
    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"] if notebook.exists() else {}
    return metadata.get("needs", {"seconds": 0, "megabytes": 0})


def main(chapter: str) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 (a hub may be older than pyproject.toml allows)
        raise RuntimeError(f"the book needs Python 3.11 or newer, this is {sys.version.split()[0]}")
    if importlib.util.find_spec("cycle") is None:
        sys.path.insert(0, str(BOOK.parent))
    if wanted := missing():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)
    print(needs(**recorded(chapter)))


if __name__ == "__main__":
    main(sys.argv[1])
