"""Measures every built page as a reader meets it, in a browser, and keeps the table for the appendix.

python book/measure.py     (after a build)
"""

import csv
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import yaml
from pdf import BROWSER
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
TABLE = ROOT / "book" / "appendix" / "measures.csv"
QUESTIONS = (ROOT / "book" / "measure.js").read_text(encoding="utf-8")
DESK, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
# The limits of a chapter; the appendix has none of length.
LIMITS = {"words": 3500, "height": 12_000, "tables": 4, "columns": 7, "rows": 12}
LIMITS |= {"code lines": 15, "code width": 88, "hidden": 0, "imports": 0}
SHOWN = ("words", "height", "tables", "columns", "rows", "hidden", "code lines", "controls")


def contents() -> dict[str, list[str]]:
    """The pages of the book by part, without those of single modules; the first page's part is called `front`."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = {part["caption"]: [chapter["file"] for chapter in part["chapters"]] for part in toc["parts"]}
    return {"front": [toc["root"]]} | parts


def chapters() -> list[str]:
    """The pages with limits: all but the appendix."""
    return [page for part, pages in contents().items() if not part.startswith("Appendix") for page in pages]


@contextmanager
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield chromium
        chromium.close()


class Visit:
    """One page in its own window, with what it asked for and complained about while it was looked at."""

    def __init__(self, chromium, address: str, theme: str = "light"):
        self.requests, self.complaints = [], []
        self.context = chromium.new_context(viewport=DESK, color_scheme=theme)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url[:200]}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("console", lambda line: line.type == "error" and self.complaints.append(f"console: {line.text}"))
        self.page.goto(address)
        self.page.add_style_tag(content="* { transition: none !important; animation: none !important }")
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise.then(() => null)")

    def ask(self, question: str):
        return self.page.evaluate(f"{QUESTIONS}.{question}()")


def measure(chromium, page: str) -> dict:
    """Everything about one page, in both themes and at both widths."""
    visit = Visit(chromium, (HTML / f"{page}.html").as_uri())
    found = visit.ask("layout") | {question: visit.ask(question) for question in ("maths", "links", "ids")}
    found["cut"] = visit.ask("cut")
    visit.page.set_viewport_size(PHONE)
    visit.page.wait_for_timeout(50)  # figures that fit themselves to the width
    found["cut on a phone"] = visit.ask("cut")
    visit.page.set_viewport_size(DESK)
    visit.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    for theme in ("light", "dark"):
        visit.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found[f"pale, {theme}"] = visit.ask("contrast")
    found["outside"] = [url[:200] for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))]
    found["complaints"] = visit.complaints
    visit.context.close()
    return found


def beyond(found: dict) -> list[str]:
    """What of a chapter's measures is beyond the limits."""
    return [f"{name}: {found[name]}, at most {most}" for name, most in LIMITS.items() if found[name] > most] + (
        [f"first screen: {', '.join(found['first'])}"] if found["first"] else []
    )


def main() -> None:
    with browser() as chromium, TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["part", "page", *SHOWN, "first screen"])
        for part, pages in contents().items():
            for page in pages:
                found = measure(chromium, page)
                first = ", ".join(found["first"]) if page in chapters() else ""
                table.writerow([part, re.sub("^book/", "", page), *(found[name] for name in SHOWN), first])
                if page in chapters() and (over := beyond(found)):
                    print(f"{page}: {'; '.join(over)}", file=sys.stderr)


if __name__ == "__main__":
    main()
