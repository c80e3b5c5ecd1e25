"""Every built page, opened from disk in a real Chromium: quiet, typeset, legible in light and dark and on a phone."""

import io
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import measure  # noqa: E402 (the scripts beside the chapters)
import pdf  # noqa: E402

HTML = measure.HTML
CHAPTERS = measure.chapters()
PAGES = [page for part in measure.contents().values() for page in part]
FROM_SPHINX = ["book/appendix/api/cycle.metrics", "genindex", "prf-prf", "py-modindex", "search"]

pytestmark = pytest.mark.skipif(
    pdf.BROWSER is None, reason="no Chromium or Chrome on this machine (apt install chromium)"
)


@pytest.fixture(scope="module")
def browser():
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built book to look at: python3 run.py book")
    with measure.browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def found(browser):
    """What measure.py finds on a page, looked at once."""
    seen = {}
    return lambda page: seen.get(page) or seen.setdefault(page, measure.measure(browser, page))


@pytest.mark.parametrize("page", PAGES + FROM_SPHINX)
def test_a_page_is_quiet_typeset_described_and_legible(found, page):
    seen = found(page)
    assert not seen["outside"] and not seen["complaints"]
    assert not seen["maths"] and not seen["nameless"]
    assert not seen["cut"] and not seen["cut on a phone"]
    assert not seen["pale, light"] and not seen["pale, dark"]


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_answers_on_its_first_screen_and_keeps_its_length(found, page):
    assert not measure.beyond(found(page))


def test_links_within_the_book_lead_somewhere(found):
    ids = {str(HTML / f"{page}.html"): set(found(page)["ids"]) for page in PAGES}
    broken = []
    for page in PAGES:
        for link in found(page)["links"]:
            path, place = unquote(urlparse(link).path), unquote(urlparse(link).fragment)
            if not Path(path).exists() or (path in ids and place and place not in ids[path]):
                broken.append(f"{page}: {link.removeprefix(HTML.as_uri())}")
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_figures_keep_a_light_ground_in_the_dark(browser, page):
    """Axes and labels of pictures of points are black: their border must be light as it appears on the screen."""
    if "<img" not in (HTML / f"{page}.html").read_text(encoding="utf-8").split("<article", 1)[1]:
        return
    visit = measure.Visit(browser, (HTML / f"{page}.html").as_uri(), theme="dark")
    for picture in visit.page.locator("main article img").all():
        if picture.is_visible():
            seen = Image.open(io.BytesIO(picture.screenshot())).convert("L")
            corner = seen.getpixel((3, 3)), seen.getpixel((seen.width - 4, seen.height - 4))
            assert min(corner) > 150, picture.get_attribute("alt")
    visit.context.close()


@pytest.mark.parametrize("page", PAGES)
def test_what_a_reader_moves_moves(browser, page):
    """By keyboard, in the page itself: the value, the drawing and the sentence follow, at both widths."""
    if "cycle-explore" not in (HTML / f"{page}.html").read_text(encoding="utf-8"):
        return
    visit = measure.Visit(browser, (HTML / f"{page}.html").as_uri())
    for size in (measure.DESK, measure.PHONE):
        visit.page.set_viewport_size(size)
        visit.page.wait_for_timeout(50)
        for block in visit.page.locator(".cycle-explore").all():
            panels, says = block.locator(".cycle-panels"), block.locator(".cycle-says")
            for control in block.locator("input[type=range], fieldset input:checked").all():
                before = panels.inner_html(), says.inner_text()
                control.focus()
                for _ in range(3):
                    visit.page.keyboard.press("ArrowRight")
                if (panels.inner_html(), says.inner_text()) == before:  # it started at the end
                    for _ in range(4):
                        visit.page.keyboard.press("ArrowLeft")
                assert panels.inner_html() != before[0] and says.inner_text() != before[1], control.get_attribute(
                    "aria-label"
                )
            texts = block.locator("svg text").all()
            assert all(float(t.evaluate("t => getComputedStyle(t).fontSize").removesuffix("px")) >= 12 for t in texts)
            names = panels.locator("svg").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
            assert names and set(names) == {says.inner_text()}
    assert not visit.complaints
    visit.context.close()


def test_the_front_door_leads_to_page_one(browser):
    page = browser.new_page()
    page.goto((HTML / "index.html").as_uri(), wait_until="commit")
    page.wait_for_url("**/book/introduction.html")
    page.close()


def test_search_works_from_disk(browser):
    visit = measure.Visit(browser, (HTML / "search.html").as_uri() + "?q=reputation")
    visit.page.locator("#search-results li a", has_text="Reputation").first.wait_for(timeout=20_000)
    assert not visit.complaints
    visit.context.close()


def test_the_dark_follows_the_system(browser):
    visit = measure.Visit(browser, (HTML / "book" / "fairness.html").as_uri(), theme="dark")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
    visit.context.close()
