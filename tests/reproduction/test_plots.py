"""Sliders: the frames of a page, and the controls that draw anew in Jupyter."""

import re

import matplotlib.pyplot as plt
import pytest

from reproduction.draw import plots


@pytest.fixture
def drawn():
    """A slider and the list of what it was asked to draw."""
    asked = []

    def draw(gamma, topology, rounds):
        asked.append((gamma, topology, rounds))
        figure, ax = plt.subplots(figsize=(2, 1))
        ax.set_title(f"{gamma:.3f} {topology} {rounds}", size=6)
        return figure

    return plots.slider(draw, {"gamma": [0.5, 1, 2.0], "topology": ["ring", "<b>"], "rounds": [0, 5]}, "a title"), asked


def test_a_page_gets_every_frame_and_no_widget(drawn, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    slider, asked = drawn
    bundle = slider._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and bundle["text/plain"] == "a title"
    assert len(asked) == len(set(asked)) == 3 * 2 * 2
    frames = re.findall(r'<img alt="([^"]+)" style="display:(\w+)[^"]*" src="([^"]+)"', bundle["text/html"])
    assert len({source for *_, source in frames}) == 12  # all different
    assert [shown for _, shown, _ in frames] == ["block"] + ["none"] * 11
    assert frames[-1][0] == "a title (2.0, &lt;b&gt;, 5)" and asked[-1] == (2.0, "<b>", 5)
    assert "<b>" not in bundle["text/html"]


def test_jupyter_draws_anew_for_values_in_between(drawn, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "book/x.ipynb")
    slider, asked = drawn
    assert "application/vnd.jupyter.widget-view+json" in slider._repr_mimebundle_()
    controls, picture = slider.widget().children
    gamma, topology, rounds = controls.children
    before, asked[:] = picture.value, []
    for control, value, expected in [
        (gamma, 0.83, (0.83, "ring", 0)),
        (rounds, 3, (0.83, "ring", 3)),
        (topology, "<b>", (0.83, "<b>", 3)),
    ]:
        control.value = value
        assert asked == [expected] and picture.value != before
        before, asked[:] = picture.value, []
    gamma.value = 99  # beyond the largest value
    assert asked[-1][0] == 2.0


@pytest.mark.parametrize("values", [{}, {"gamma": [1]}])
def test_a_slider_needs_something_to_slide_over(values):
    with pytest.raises(ValueError, match="values: needs"):
        plots.slider(lambda gamma: None, values, "nothing")
