"""What chapters put on their pages: sentences that records fill, figures, tables, source, links to runs, sliders."""

import base64
import csv
import io
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reproduction.draw import explore, lead, origin, page, style

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import records  # noqa: E402 (the Sphinx extension of the page of records)

FRAME = pd.DataFrame({"method": ["CYCle", "VPDL"], "MCG": [1.234, -0.001]})


def test_sentences_are_filled_and_refuse_what_does_not_fit():
    text = page.say("CYCle gains {gain:.1f} points in {n} splits.", gain=-2.04, n=5).data
    assert text == "CYCle gains −2.0 points in 5 splits."
    assert page.say("{share:.0%} of them", share=0.386).data == "39\u00a0% of them"
    with pytest.raises(ValueError, match="wins"):
        page.say("{n} splits.", n=5, wins=3)
    with pytest.raises(ValueError, match="nan"):
        page.say("{n:.1f}", n=float("nan"))
    with pytest.raises(KeyError):
        page.say("{m}", n=1)


def test_the_answer_stands_in_its_box():
    assert re.fullmatch(
        r'<div class="cycle-answer">\n\n\*\*The answer\.\*\* Yes: 3\.\n\n</div>', page.answer("Yes: {n}.", n=3).data
    )


def test_a_sentence_that_the_records_contradict_stops_the_book():
    page.check("1 is less than 2", 1 < 2)
    with pytest.raises(AssertionError, match="contradict: 2 is less than 1"):
        page.check("2 is less than 1", np.bool_(False))


def draw(width):
    figure, ax = plt.subplots(figsize=(width, 2.5))
    ax.plot([0, 1], [0, 1], color=style.COLOURS["cycle"], marker="o", markerfacecolor="white", label="a < b")
    ax.set_xlabel(r"$\gamma$")
    ax.legend()
    return figure


def test_a_figure_is_the_same_every_time_and_follows_the_page():
    page.style()
    made = page.figure(draw, "A line that rises.", "Rising & so on.", FRAME).data
    assert made == page.figure(draw, "A line that rises.", "Rising & so on.", FRAME).data
    drawings = re.findall(r"<svg.*?</svg>", made, re.DOTALL)
    assert len(drawings) == 2
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("aria-label") == "A line that rises." and root.get("role") == "img"
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", drawing)]
        scale = float(re.search(r"max-width:(\d+)px", drawing)[1]) / float(root.get("viewBox").split()[2])
        assert sizes and min(sizes) * scale >= 12 - 0.1  # 9 points are 12 pixels
        assert "var(--cycle-cycle, #d55e00)" in drawing and "var(--cycle-ground, #fff)" in drawing
        assert "#000000" not in drawing and "DejaVu" not in drawing and "<style" not in drawing
        names = set(re.findall(r' id="([^"]+)"', drawing))
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', drawing)) == names
    assert not set(re.findall(r' id="([^"]+)"', drawings[0])) & set(re.findall(r' id="([^"]+)"', drawings[1]))
    assert "Rising &amp; so on." in made and made.count("<details") == 1


def test_a_figure_without_a_description_is_refused():
    with pytest.raises(ValueError, match="alt"):
        page.figure(draw, " ", "caption")


def test_methods_have_one_colour_on_pages_and_in_figures():
    sheet = (ROOT / "book" / "_vendor" / "cycle.css").read_text()
    blocks = [
        re.search(pattern + r" \{(.*?)\}", sheet, re.DOTALL)[1] for pattern in (r":root", r'html\[data-theme="dark"\]')
    ]
    light, dark = (dict(re.findall(r"--cycle-([\w-]+): (#\w+);", block)) for block in blocks)
    assert light.keys() == dark.keys()
    colours = {name: colour for name, colour in style.COLOURS.items() if not name.endswith("gossip")}
    assert colours == {name: colour for name, colour in light.items() if name not in ("ground", "ink")}
    assert (style.COLOURS["cycle-gossip"], style.COLOURS["gossip"]) == (colours["cycle"], colours["vpdl"])


def test_short_tables_are_short_and_mark_the_winner():
    made = page.table(FRAME, mark=pd.DataFrame([[False, True], [False, False]])).data
    assert '<td class="numbers best">1.23</td>' in made and '<td class="numbers">0.00</td>' in made
    pivoted = FRAME.rename_axis(columns="rule")
    assert page.table(pivoted).data == page.table(FRAME).data
    for frame in (pd.DataFrame([range(8)]), pd.DataFrame({"a": range(13)})):
        with pytest.raises(ValueError, match="long_table"):
            page.table(frame)


def test_long_tables_can_be_kept():
    made = page.long_table(FRAME, "gains").data
    data = re.search(r'download="gains.csv" href="data:text/csv;base64,([^"]+)"', made)[1]
    kept = list(csv.reader(io.StringIO(base64.b64decode(data).decode())))
    assert kept == [["method", "MCG"], ["CYCle", "1.234"], ["VPDL", "-0.001"]]
    with pytest.raises(ValueError, match="name"):
        page.long_table(FRAME, "../gains")


def test_links_lead_to_the_folder_of_the_runs():
    paths = [
        f"paper/cifar10-cnn-n5/homogeneous/{method}.seed{seed}.json" for method in ("vpdl", "cycle") for seed in (0, 1)
    ]
    assert origin.link(paths) == '<a href="appendix/records.html#runs-paper-cifar10-cnn-n5">from 4 runs</a>'
    mixed = origin.link([*paths, "bench/round.json"])
    assert mixed.startswith("from 5 runs: ") and "#runs-bench" in mixed and ">4</a>" in mixed
    with pytest.raises(ValueError, match="runs"):
        origin.link([])


def test_a_row_of_the_list_of_runs():
    path = next(iter(sorted((ROOT / "results").rglob("*.seed0.json"))))
    record = json.loads(path.read_text())
    cells = records.row(path.relative_to(ROOT / "results").as_posix(), record, "https://example.org/a/b")
    assert len(cells) == len(records.HEADS)
    assert cells[1] == f"{np.mean(record['accuracy']):.2f}" and record["provenance"]["commit"][:8] in cells[4]


def rule_of_a_test(a, b):
    """What it does."""
    if a < 0:
        raise ValueError("a must not be negative")
    if b is not None:
        check_pair(a, b)
    total = a + b  # the rule
    if total > 3:
        total = 3
    return total


def check_pair(a, b): ...


def test_source_is_shown_without_its_validation():
    shown = page.rule(rule_of_a_test).data
    assert "raise" not in shown and "check_pair" not in shown and "None" not in shown and "left out" in shown
    assert "    total = a + b  # the rule\n    if total > 3:\n        total = 3\n" in shown
    assert "left out" not in page.rule(check_pair).data


def angles():
    return page.explore(
        "What does an angle earn?",
        {
            "angle": page.slider("angle", range(0, 181, 45), 90, "°"),
            "kind": page.buttons("kind of clip", ["soft", "hard"], "soft"),
        },
        [page.panel("Score", x="cosine", y="score"), page.panel("Bars", ylim=(0, 1), xticks=[[0, "P1"]])],
        lambda angle, kind: (
            f"At {angle}° ({kind}) <so>.",
            [
                [page.line([-1, 1], [0, 1]), page.dots([np.cos(np.radians(angle))], [0.5], "cycle", "here")],
                [page.bars([0], [angle / 180], "vpdl"), page.area([0, 1], [0, None], [angle / 180, 1], "tie")],
            ],
        ),
    )


def test_explorables_hold_every_position_and_start_where_they_should():
    made = angles().html()
    data = json.loads(re.search(r'<script type="application/json">(.*)</script>', made, re.DOTALL)[1])
    assert data["texts"] == [["0°", "45°", "90°", "135°", "180°"], ["soft", "hard"]]
    assert len(data["states"]) == 10 and data["states"][7][0] == "At 135° (hard) <so>."
    line = data["marks"][data["states"][0][1][0][0]]
    assert line["mark"] == "line" and all(state[1][0][0] == data["states"][0][1][0][0] for state in data["states"])
    assert data["marks"][data["states"][8][1][0][1]]["x"] == [-1]
    area = data["marks"][data["states"][8][1][1][1]]
    assert (area["mark"], area["y"], area["toy"]) == ("area", [0, None], [1, 1])
    assert data["panels"][0]["xlim"] == [-1.1, 1.1] and data["panels"][1]["ylim"] == [0, 1]
    assert 'value="2"' in made and 'aria-valuetext="90°"' in made and "At 90° (soft) &lt;so&gt;.</p>" in made
    assert made == angles().html()


def test_explorables_compute_anew_where_a_kernel_listens(monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    page_alone = angles()._repr_mimebundle_()
    assert set(page_alone) == {"text/plain", "text/html"} and page_alone["text/html"] == angles().html()
    for variable in "JPY_SESSION_NAME", "COLAB_RELEASE_TAG":
        with monkeypatch.context() as here:
            here.setenv(variable, "here")
            assert "application/vnd.jupyter.widget-view+json" in angles()._repr_mimebundle_()
    widget = angles().widget()
    _, move, choose, shown = widget.children
    assert (move.value, choose.value) == (90, "soft") and "At 90° (soft)" in shown.value
    move.value = 180
    assert "At 180° (soft) &lt;so&gt;." in shown.value
    choose.value = "hard"
    assert "At 180° (hard)" in shown.value


def test_a_start_that_is_no_value_is_refused():
    with pytest.raises(ValueError, match="angle"):
        page.slider("angle", [1, 2], start=3)
    with pytest.raises(ValueError, match="2 lists"):
        explore.Explore(
            "?", {"a": page.slider("a", [1, 2], 1)}, [page.panel("x"), page.panel("y")], lambda a: ("", [[]])
        )


SCHEME = {"one": (20, 80, "has", "mine"), "two": (80, 80, "answers", "theirs"), "three": (50, 20, "learns", "mine")}


def test_arrows_of_a_diagram_join_its_boxes():
    arrows = [
        ("one", "two", "once", {"once": True}),
        ("two", "three", "", {"bend": 0.1}),
        ("one", "three", "x", {"at": (5, 5)}),
    ]
    ax = page.diagram({"who": 20}, SCHEME, arrows, theirs=60).axes[0]
    drawn = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert [(arrow.xyann, arrow.xy) for arrow in drawn] == [
        (SCHEME[one][:2], SCHEME[two][:2]) for one, two, *_ in arrows
    ]
    said = {text.get_text(): text.get_position() for text in ax.texts if text.get_text()}
    assert said["once"] == (50, 80) and said["x"] == (5, 5) and {"who", "has", "answers", "learns"} <= set(said)
    with pytest.raises(ValueError, match="boxes must not overlap, got 'one' and 'four'"):
        page.diagram({}, SCHEME | {"four": (25, 82, "beside it", "mine")}, [])
    with pytest.raises(KeyError):
        page.diagram({}, SCHEME, [("one", "five", "", {})])


def test_a_lead_is_a_difference_on_one_split_and_seed():
    reports = pd.DataFrame(
        [
            ("a", "cycle", 0, 3.0),
            ("a", "vpdl", 0, 2.5),
            ("a", "vpdl", 1, 9.0),
            ("b", "cycle", 0, 1.0),
            ("b", "cffl", 0, 2.0),
        ],
        columns=["split", "method", "seed", "MCG"],
    )
    found = lead.differences(reports, "MCG")
    assert found.to_numpy().tolist() == [["a", "vpdl", 0, 0.5], ["b", "cffl", 0, -1.0]]
    assert lead.differences(reports, "MCG", others=["cffl"])["difference"].tolist() == [-1.0]
    printed = pd.DataFrame({"split": ["a"], "minus": ["vpdl"], "difference": [7.0]})
    ax = lead.lead(found, "CYCle gains more", "points", printed)(7.0).axes[0]
    drawn = {tuple(line.get_xdata()) for line in ax.lines}
    assert {(0.5,), (-1.0,), (7.0,), (0, 0)} <= drawn and [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]


def test_titles_and_labels_stay_inside_the_figure():
    figure, ax = plt.subplots(figsize=(3.6, 2.5))
    ax.set_title("a title of many words that is wider than a phone is", loc="left")
    ax.set_xlabel("a label of many words that is wider than a phone is too")
    style.svg(figure, "an empty panel")
    for text in (ax._left_title, ax.xaxis.label):
        box = text.get_window_extent()
        assert "\n" in text.get_text() and box.x0 >= 0 and box.x1 <= figure.bbox.width
