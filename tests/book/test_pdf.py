"""The PDF, printed by a browser."""

import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import pdf  # noqa: E402 (the script beside the chapters)

HTML = ROOT / "_build" / "html"


@pytest.mark.skipif(pdf.BROWSER is None, reason="no Chromium or Chrome on this machine (apt install chromium)")
def test_a_chapter_prints(tmp_path):
    """The whole book goes the same way (python3 run.py pdf); one chapter with maths, sliders and tables shows it."""
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built book to look at: python3 run.py book")
    file = tmp_path / "chapter.pdf"
    pdf.print_pdf(HTML / "book" / "fairness.html", file)
    printed = PdfReader(file)
    text = "\n".join(page.extract_text() for page in printed.pages)
    assert len(printed.pages) > 5 and printed.outline
    assert "A better fairness metric" in text and "collaboration gain" in text
    assert "smallest gain (points)" in text and "FedAvg" in text  # a figure's labels are text
    for button in ("Show code cell source", "Ctrl", "Previous"):
        assert button not in text
    assert "70.1" in text and "\\frac" not in text  # the slider's value; no maths in TeX


def test_the_single_page_links_into_itself(tmp_path):
    page = tmp_path / "book" / "introduction.html"
    page.parent.mkdir()
    page.write_text(
        '<a href="book/introduction.html#term-x"></a><a href="#y"></a><a href="fed-isic.html"></a>'
        '<a href="appendix/records.html#runs-a"></a><a href="https://example.org/a.html#b"></a>'
    )
    whole = pdf.single(page)
    assert whole.parent == tmp_path
    assert whole.read_text() == (
        '<a href="#term-x"></a><a href="#y"></a><a href="#document-book/fed-isic"></a>'
        '<a href="#runs-a"></a><a href="https://example.org/a.html#b"></a>'
    )
