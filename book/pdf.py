"""The whole book as one PDF, printed by a browser from the single-page build: no LaTeX.

python book/pdf.py PAGE.html BOOK.pdf     (python3 run.py pdf does both steps)
"""

import re
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAPER = {"format": "A4", "margin": {"top": "16mm", "bottom": "18mm", "left": "15mm", "right": "15mm"}}
PRINTED_WIDTH = 680  # of A4 between these margins, in CSS pixels
FOOTER = (
    '<div style="width:100%;text-align:center;font:8px sans-serif;color:#555"><span class="pageNumber"></span></div>'
)
# Paper does not scroll: what is wider than its box shrinks to it, and text wraps where that would be tiny.
SHRINK = """() => {
    const boxes = '.cycle-table, .pst-scrollable-table-container, div.math, pre, .output';
    for (const box of document.querySelectorAll(boxes)) {
        const inner = box.querySelector('table, mjx-container svg') ?? box;
        const factor = box.clientWidth / Math.max(box.scrollWidth, inner.getBoundingClientRect().width);
        if (box.tagName == 'PRE' && factor < 0.6) box.style.whiteSpace = 'pre-wrap';
        else if (factor < 0.999 && box.clientWidth) inner.style.zoom = factor;
    }
}"""


def single(page: Path) -> Path:
    """A copy of the single page where links hold: to pictures and styles a level above, to chapters in the page."""
    start = page.relative_to(page.parent.parent).as_posix()
    copy = page.parent.parent / "whole.html"
    text = page.read_text(encoding="utf-8").replace(f'href="{start}#', 'href="#')
    text = re.sub(r'href="[\w./-]+\.html(#[\w-]+)"', r'href="\1"', text)  # all is in this page
    text = re.sub(r'href="((?:appendix/)?[\w-]+)\.html"', rf'href="#document-{page.parent.name}/\1"', text)  # its start
    copy.write_text(text, encoding="utf-8")
    return copy


def print_pdf(page: Path, pdf: Path) -> None:
    """What the browser shows of `page`, once its maths is typeset, on numbered A4 sheets with bookmarks."""
    if BROWSER is None:
        raise SystemExit("no Chromium or Chrome was found; it prints the PDF (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        sheet = chromium.new_page(viewport={"width": PRINTED_WIDTH, "height": 1000}, color_scheme="light")
        sheet.goto(page.as_uri(), timeout=120_000)
        sheet.evaluate("window.MathJax && MathJax.startup.promise.then(() => null)")
        sheet.emulate_media(media="print")
        sheet.evaluate("document.querySelectorAll('.tag_hide-cell details').forEach(one => { one.open = true })")
        sheet.evaluate(SHRINK)
        sheet.pdf(
            path=pdf,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            print_background=True,
            outline=True,
            tagged=True,
            **PAPER,
        )
        chromium.close()


if __name__ == "__main__":
    print_pdf(single(Path(sys.argv[1]).resolve()), Path(sys.argv[2]))
