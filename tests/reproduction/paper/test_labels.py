"""Every table and figure of the paper has a counterpart: an experiment, a section or a figure of this book."""

import itertools
import re
from pathlib import Path

import pytest

from reproduction import catalogue, paper
from reproduction.judge import counterparts

BOOK = Path(__file__).resolve().parents[3] / "book"


def places(page: str) -> set[str]:
    """Headings and figure names of a page."""
    text = (BOOK / f"{page}.md").read_text(encoding="utf-8")
    headings = re.findall(
        r"^#{1,4} (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    names = re.findall(r"^(?:    name: (fig-\S+)|\((fig-\S+)\)=)$", text, re.MULTILINE)
    return {heading.strip() for heading in headings} | {one or other for one, other in names}


def problems(label) -> list[str]:
    """What is wrong with the counterpart of one label."""
    found = [f"no experiment {name}" for name in label.experiments.split() if name not in catalogue.EXPERIMENTS]
    if not label.page or not (BOOK / f"{label.page}.md").exists():
        return [*found, f"no page {label.page!r}"]
    return (
        found if label.place in places(label.page) else [*found, f"nothing called {label.place!r} in {label.page}.md"]
    )


def test_the_paper_has_thirteen_table_and_thirty_seven_figure_labels():
    labels = paper.labels()
    assert labels["kind"].value_counts().to_dict() == {"figure": 37, "table": 13}
    assert labels["label"].is_unique and (labels["label"].str[:3] == labels["kind"].str[:3]).all()


@pytest.mark.parametrize("label", list(paper.labels().itertuples()), ids=lambda label: label.label)
def test_every_label_has_a_counterpart(label):
    assert not problems(label)


def test_a_label_without_counterpart_is_noticed():
    label = next(paper.labels().itertuples())
    assert problems(label._replace(place="fig-nowhere")) and problems(label._replace(page="nowhere"))
    assert problems(label._replace(experiments="cifar11"))


def test_every_printed_table_belongs_to_a_label():
    named = {name for names in paper.labels()["tables"] for name in names.split()}
    assert named == set(paper.tables()["table"])


def test_every_printed_value_has_a_run_that_would_measure_it():
    """All but the zeros of standalone training: table, data set, network, split, N and method, at the paper's scale."""
    runs = set()
    for name, experiment in catalogue.EXPERIMENTS.items():
        data, model = paper.DATASET_NAMES.get(experiment.dataset), paper.MODEL_NAMES.get(experiment.model, "")
        for run in catalogue.runs_of(name, "paper") if experiment.paper else ():
            for table, method in itertools.product(experiment.paper, paper.METHOD_NAMES.get(run.label, ())):
                runs |= {(table, data, network, run.split, run.n, method) for network in (model, "")}
    columns = ["table", "dataset", "model", "split", "N", "method"]
    missing = set(counterparts.printed()[columns].itertuples(index=False, name=None)) - runs
    assert not missing, sorted(missing)[:5]


def test_an_experiment_says_which_tables_it_is_for():
    """The labels and the experiments name the same tables."""
    for label in paper.labels().itertuples():
        for table in label.tables.split():
            assert any(table in catalogue.EXPERIMENTS[name].paper for name in label.experiments.split()), label.label


def test_a_reading_of_what_is_printed_stands_beside_the_same_value():
    """(0.6, 1), CNN: 14.08 is CYCle's printed MCG, whichever way Algorithm 2 is read; other variants have none."""

    def printed(experiment, method):
        return paper.metric(experiment, method, "imbalanced-0.6-1", 5, "MCG")

    assert printed("cifar10-cnn", "cycle") == printed("cifar10-cnn-per-peer", "cycle per-peer") == 14.08
    assert printed("cifar10-cnn-augmented", "cycle augmented-lr0.1-per-peer") == 14.08
    assert (
        printed("augmentation", "cycle augmented") is None
        and printed("augmentation", "cycle augmented-per-peer") is None
    )
