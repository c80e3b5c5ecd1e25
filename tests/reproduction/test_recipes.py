import pytest

from cycle import store
from reproduction import execute, recipes

CHOSEN = {"methods": ("standalone", "cycle"), "splits": ("imbalanced-0.6-1",)}


def fill(results, **more):
    return recipes.fill("cifar10-cnn", "smoke", results=results, **CHOSEN, **more)


@pytest.fixture
def interrupted(monkeypatch):
    """A session that ends after round 6 of CYCle, which is saved by then."""
    play = execute.play

    def until_the_line_drops(state, method, *arguments):
        for done in play(state, method, *arguments):
            yield done
            if method == "cycle" and done.index == 6:
                raise KeyboardInterrupt

    monkeypatch.setattr(execute, "play", until_the_line_drops)
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)
    return monkeypatch


def test_it_goes_on_after_a_disconnect(tmp_path, interrupted):
    """The table after an interruption and a second start is the table of one session, and nothing ran twice."""
    shown = []

    def show(table, done, needed):
        shown.append((len(table), done, needed))

    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "drive", show=show)
    assert shown == [(0, 0, 2), (1, 1, 2)]  # nothing, then standalone
    interrupted.undo()
    epochs, play = [], execute.play

    def counted(state, method, *arguments):
        for done in play(state, method, *arguments):
            epochs.append((method, done.index))
            yield done

    interrupted.setattr(execute, "play", counted)
    resumed = fill(tmp_path / "drive", show=show)
    assert shown[-1] == (2, 2, 2)
    assert {method for method, _ in epochs} == {"cycle"} and epochs[0][1] == 7
    assert resumed.equals(fill(tmp_path / "whole", show=lambda *_: None))


def test_in_a_notebook_the_table_stands_in_one_place(tmp_path, capsys):
    table = fill(tmp_path, device="cpu")
    printed = capsys.readouterr().out
    assert list(table["method"]) == ["standalone", "cycle"]
    assert "HTML" in printed  # what IPython prints for a display without a front end


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="splits must be among"):
        recipes.fill("cifar10-cnn", "smoke", results=tmp_path, splits=("sideways",))
    with pytest.raises(ValueError, match="got sideways$"):  # one name without brackets is one name
        recipes.fill("cifar10-cnn", "smoke", results=tmp_path, methods="sideways")
