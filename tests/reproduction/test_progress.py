"""The line that names a run, and bars that fit 80 columns whatever they have to say."""

import io

import pytest

from reproduction import progress


def test_a_run_is_named_by_what_sets_it_apart(small_run):
    said = progress.heading(small_run("vpdl"), 3, 14)
    assert said == "run 3 of 14: vpdl on digits, imbalanced-0.6-1, 5 participants, seed 0, 8 epochs"


def test_few_accuracies_are_all_shown_many_as_mean_and_range():
    assert progress.accuracies([91.25, 8.0]) == "91.2 8.0"
    assert progress.accuracies([10.0, 20.0, 30.0, 40.0, 50.0, 90.0]) == "mean 40.0, 10.0 to 90.0"


@pytest.mark.parametrize("n", [2, 5, 20])
def test_a_bar_says_where_it_is_and_fits(small_run, n, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.bar(small_run("vpdl", n=n), epoch=2, number=13, count=14) as bar:
        bar.set_postfix_str(progress.accuracies([100.0] * n), refresh=False)
        bar.update(6)
        bar.refresh()
    lines = [line.strip() for line in screen.getvalue().replace("\r", "\n").split("\n") if line.strip()]
    assert lines[0].startswith("run 13 of 14: vpdl on digits")
    assert max(len(line) for line in lines[1:]) <= 80
    last = lines[-1]
    assert last.startswith("run 13 of 14, digits 100%") and "8/8" in last
    assert last.endswith("100.0 " * 4 + "100.0" if n == 5 else progress.accuracies([100.0] * n))


def test_a_hidden_bar_says_nothing(small_run, capsys):
    progress.bar(small_run("vpdl"), hidden=True).close()
    assert capsys.readouterr().err == ""
