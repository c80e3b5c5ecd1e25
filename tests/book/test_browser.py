"""Every built page, opened from disk in a real Chromium: quiet, typeset, legible in light and dark and on a phone."""

import io
import sys
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import pdf  # noqa: E402 (the script beside the chapters)

HTML = ROOT / "_build" / "html"
PAGES = [f"book/{path.stem}" for path in sorted((ROOT / "book").glob("*.md"))]
PAGES += ["genindex", "prf-prf", "py-modindex", "search"]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

pytestmark = pytest.mark.skipif(
    pdf.BROWSER is None, reason="no Chromium or Chrome on this machine (apt install chromium)"
)


@pytest.fixture(scope="module")
def browser():
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built book to look at: python3 run.py book")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=pdf.BROWSER, args=flags)
        yield chromium
        chromium.close()


class Visit:
    """One page in its own window, with what it asked for and complained about while it was looked at."""

    def __init__(self, browser, address: str, theme: str = "light"):
        self.requests, self.complaints = [], []
        self.context = browser.new_context(viewport=DESKTOP, color_scheme=theme)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url[:200]}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("console", lambda line: line.type == "error" and self.complaints.append(f"console: {line.text}"))
        self.page.goto(address)
        self.page.add_style_tag(content="* { transition: none !important; animation: none !important }")
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise.then(() => null)")


@pytest.fixture(scope="module", params=PAGES)
def visit(browser, request):
    visit = Visit(browser, (HTML / f"{request.param}.html").as_uri())
    yield visit
    visit.context.close()


@pytest.fixture
def page(visit):
    visit.page.set_viewport_size(DESKTOP)
    return visit.page


def test_opens_from_disk_without_a_request_or_a_complaint(visit):
    outside = [url[:200] for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert not outside and not visit.complaints


def test_maths_is_typeset(page):
    assert (
        page.evaluate("""() => [...document.querySelectorAll('.math')]
        .filter(m => !m.querySelector('mjx-container') || m.querySelector('[data-mml-node=merror]'))
        .map(m => m.textContent.slice(0, 80))""")
        == []
    )
    raw = page.evaluate(r"""() => {
        const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const node = walk.currentNode;
            if (/\$\$|\\\(|\\\[|\\begin\{/.test(node.data) && !node.parentElement.closest('pre, code, script, style'))
                found.push(node.data.slice(0, 80));
        }
        return found;
    }""")
    assert raw == []


def test_every_picture_has_alternative_text(page):
    nameless = "() => [...document.images].filter(m => !m.alt.trim()).map(m => m.outerHTML.slice(0, 200))"
    assert page.evaluate(nameless) == []


# What sticks out of the window or of a box that neither wraps nor scrolls.
CUT_OFF = """() => {
    const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push('page ' + document.documentElement.scrollWidth);
    for (const e of document.querySelectorAll('main article *, main article pre')) {
        const box = e.getBoundingClientRect();
        if (!box.width || !e.checkVisibility() || e.closest('svg, mjx-assistive-mml')) continue;
        let around = e.parentElement;
        while (around && !scrolls(around)) around = around.parentElement;
        const held = around && around.closest('article');
        if (box.right > innerWidth + 1 && !held) found.push(e.outerHTML.slice(0, 150));
        const cut = e.tagName == 'PRE' && e.scrollWidth > e.clientWidth + 1 && !scrolls(e);
        if (cut) found.push(e.textContent.slice(0, 150));
    }
    return found;
}"""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_cut_off(page, size):
    page.set_viewport_size(size)
    assert page.evaluate(CUT_OFF) == []


# WCAG 2.1, 1.4.3: texts whose contrast with what lies behind them is below 4.5 (3 for large ones).
PALE = """() => {
    const parse = text => { const v = text.match(/[\\d.]+/g).map(Number); return {rgb: v.slice(0, 3), a: v[3] ?? 1}; };
    const over = (top, under) => top.rgb.map((c, i) => c * top.a + under[i] * (1 - top.a));
    const luminance = rgb => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = element => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
        return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
    };
    const found = {}, elements = new Set(document.querySelectorAll('mjx-container'));
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (walk.currentNode.data.trim()) elements.add(walk.currentNode.parentElement);
    for (const element of elements) {
        if (element.closest('script, style, noscript, svg, mjx-assistive-mml')) continue;
        if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        let opacity = 1;
        for (let e = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
        const behind = ground(element), colour = parse(style.color);
        const front = over({rgb: colour.rgb, a: colour.a * opacity}, behind);
        const [dark, light] = [luminance(front), luminance(behind)].sort((x, y) => x - y);
        const contrast = (light + 0.05) / (dark + 0.05);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        if (contrast < (large ? 3 : 4.5)) {
            const key = element.tagName + '.' + element.className + ' ' + style.color + ' on ' + behind.map(Math.round);
            found[key] ??= contrast.toFixed(2) + ' ' + element.textContent.trim().slice(0, 40);
        }
    }
    return found;
}"""


def set_theme(page, theme):
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, theme):
    set_theme(page, theme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate(PALE) == {}


def test_figures_keep_a_light_ground_in_the_dark(page):
    """Axes and labels are black: the picture's border must be light as it appears on the screen."""
    set_theme(page, "dark")
    for picture in page.locator("main article img").all():
        if picture.is_visible():
            seen = Image.open(io.BytesIO(picture.screenshot())).convert("L")
            corner = seen.getpixel((3, 3)), seen.getpixel((seen.width - 4, seen.height - 4))
            assert min(corner) > 150, picture.get_attribute("alt")


def test_sliders_change_the_figure(page):
    for block in page.locator(".cycle-slider").all():
        shown = block.locator("img:visible")
        for control in block.locator("input[type=range]").all():
            before, number = shown.get_attribute("src"), control.locator("xpath=following-sibling::output").inner_text()
            control.focus()
            page.keyboard.press("ArrowRight")
            assert shown.count() == 1 and shown.get_attribute("src") != before
            assert control.locator("xpath=following-sibling::output").inner_text() != number


def test_sliders_exist_where_the_book_promises_them(browser):
    for name in ("fairness", "mean-estimation", "reputation", "gossip"):
        text = (HTML / "book" / f"{name}.html").read_text(encoding="utf-8")
        assert "cycle-slider" in text, name


def test_the_front_door_leads_to_page_one(browser):
    page = browser.new_page()
    page.goto((HTML / "index.html").as_uri(), wait_until="commit")
    page.wait_for_url("**/book/introduction.html")
    page.close()


def test_search_works_from_disk(browser):
    visit = Visit(browser, (HTML / "search.html").as_uri() + "?q=reputation")
    visit.page.locator("#search-results li a", has_text="Reputation").first.wait_for(timeout=20_000)
    assert not visit.complaints
    visit.context.close()


def test_the_dark_follows_the_system(browser):
    visit = Visit(browser, (HTML / "book" / "fairness.html").as_uri(), theme="dark")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
    visit.context.close()
