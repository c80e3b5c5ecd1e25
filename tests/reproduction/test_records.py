import itertools
import json

import pytest
import torch

from reproduction import catalogue, execute, provenance, records, settings
from reproduction.draw import tables

FIELDS = (
    "experiment profile dataset model method split n seed rounds accuracy standalone messages seconds provenance "
    "images epochs sizes options curve reputation shares data_hash"
).split()


def test_a_record_has_what_readers_need(small_run, tmp_path):
    alone = execute.execute(small_run("standalone"), "test", tmp_path, progress=False)
    record = execute.execute(small_run("cycle"), "test", tmp_path, progress=False)
    assert all(field in record for field in FIELDS)
    assert record["standalone"] == alone["accuracy"] and alone["standalone"] == alone["accuracy"]
    origin = {"commit", "command", "python", "torch", "hardware", "date"}
    assert set(alone["provenance"]) == origin and set(record["provenance"]) == origin | {"earlier"}
    (warmup,) = record["provenance"]["earlier"]  # the local epochs were those of the standalone run
    assert set(warmup) == origin | {"epochs"} and warmup["epochs"] == 2
    chosen = "--profile smoke --seed 0 --methods cycle --splits imbalanced-0.6-1 --variants unchanged"
    assert record["provenance"]["command"] == f"python -m cycle run test {chosen}"  # nobody typed one
    assert [point["round"] for point in record["curve"]] == [2, 5]  # after epoch 5 and at the end
    assert record["accuracy"] == record["curve"][-1]["accuracy"]
    assert record["images"] == sum(record["sizes"]) == 200
    assert json.loads((tmp_path / small_run("cycle").path).read_text()) == record


def test_a_record_names_the_commit_that_was_there_first(monkeypatch):
    """Somebody commits while a command runs: its code is still the one that it loaded."""
    answers = iter(["first", "", "second", " M file"])
    monkeypatch.setattr(provenance, "_git", lambda *_: next(answers))
    provenance.commit.cache_clear()
    assert provenance.commit() == provenance.commit() == "first"
    provenance.commit.cache_clear()
    assert provenance.commit() == "second-dirty"
    provenance.commit.cache_clear()


def test_what_is_recorded_is_not_run_again(small_run, tmp_path, monkeypatch):
    record = execute.execute(small_run("vpdl"), "test", tmp_path, progress=False)
    monkeypatch.setattr(execute, "begin", lambda *_: pytest.fail("ran again"))
    assert execute.execute(small_run("vpdl"), "test", tmp_path, progress=False) == record


def test_a_record_with_other_options_is_not_taken_for_this_run(small_run, tmp_path):
    record = execute.execute(small_run("vpdl"), "test", tmp_path, progress=False)
    with pytest.raises(ValueError, match="was recorded with lr=.*, this run has lr=0.001: move the file away"):
        execute.execute(small_run("vpdl", lr=0.001), "test", tmp_path, progress=False)
    path = tmp_path / small_run("vpdl").path
    record["options"] = {"lr": record["options"]["lr"], "an option": "of an older version"}
    path.write_text(json.dumps(record))
    assert execute.execute(small_run("vpdl"), "test", tmp_path, progress=False) == record


@pytest.mark.parametrize(
    "field, value",
    [("method", "cycle"), ("split", "homogeneous"), ("seed", 3), ("variant", "T1"), ("width", 8)],
)
def test_a_record_of_another_run_is_not_taken_for_this_one(small_run, tmp_path, field, value):
    record = execute.execute(small_run("vpdl"), "test", tmp_path, progress=False)
    (tmp_path / small_run("vpdl").path).write_text(json.dumps(record | {field: value}))
    with pytest.raises(ValueError, match=f"was recorded with {field}={value}, this run has {field}="):
        execute.execute(small_run("vpdl"), "test", tmp_path, progress=False)


@pytest.mark.parametrize(
    "content, said",
    [
        (b'{"a": ', "Expecting value"),
        (b"\x8d\x00", "utf-8"),
        (b"null", "valid dictionary"),
        (b"{}", "accuracy: .* required"),
    ],
)
def test_a_damaged_record_is_named(small_run, tmp_path, content, said):
    path = tmp_path / small_run("vpdl").path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is damaged .*{said}.*: restore or remove it"):
        execute.execute(small_run("vpdl"), "test", tmp_path, progress=False)


@pytest.mark.parametrize(
    "method, what", [("standalone", "loss of P1, .*"), ("cgsv", "loss of P1"), ("rffl", "loss of P1")]
)
def test_what_diverged_is_not_recorded(small_run, tmp_path, method, what):
    run = small_run(method, lr=1e20)
    with pytest.raises(FloatingPointError, match=rf"the {what}.* is not finite; lr.* may be too large"):
        execute.execute(run, "test", tmp_path, progress=False)
    assert not (tmp_path / run.path).exists()


def test_every_standalone_run_has_the_options_of_its_place():
    """B_n is looked up by its path, which does not hold the options: all that lead there must mean the same run."""
    for profile in settings.PROFILES:
        meant = {}
        for name in catalogue.EXPERIMENTS:
            for run in catalogue.runs_of(name, profile):
                assert meant.setdefault(run.alone().path, run.alone()) == run.alone(), name
    for run in catalogue.runs_of("augmentation", "laptop"):
        alone = "standalone+augmented" if run.options.augment else "standalone"
        assert run.alone().path.split("/")[-1] == f"{alone}.seed0.json"
        assert run.method != "standalone" or run == run.alone()
    for run in catalogue.runs_of("cifar10-cnn-augmented", "paper"):
        assert run.alone().variant == "augmented-lr0.1" and run.alone().options.lr == run.options.lr == 0.1
        assert run.alone().options.augment and run.alone().options.normalisation == "mean"


def test_every_seed_is_read_and_a_late_standalone_run_is_found(tmp_path):
    """CYCle first, with a seed that nobody foresaw; its participants alone afterwards."""
    chosen = {"seeds": (42,), "splits": ("homogeneous",)}
    (cycle,) = catalogue.runs_of("cifar10-cnn", "smoke", methods=("cycle",), **chosen)
    assert execute.execute(cycle, "cifar10-cnn", tmp_path, progress=False)["standalone"] is None
    assert tables.summary("cifar10-cnn", "smoke", tmp_path).empty
    assert "1 of 35 runs (1 of them in no table until" in tables.provenance_line("cifar10-cnn", "smoke", tmp_path)
    alone = execute.execute(cycle.alone(), "cifar10-cnn", tmp_path, progress=False)
    found = {run.method: record for run, record in records.read("cifar10-cnn", "smoke", results=tmp_path)}
    assert found["cycle"]["standalone"] == alone["accuracy"]
    assert tables.summary("cifar10-cnn", "smoke", tmp_path)["method"].tolist() == ["standalone", "cycle"]
    again = alone | {"accuracy": [value - 1 for value in alone["accuracy"]]}  # recorded once more, elsewhere
    again["curve"][-1]["accuracy"] = again["accuracy"]
    (tmp_path / cycle.alone().path).write_text(json.dumps(again))
    found = {run.method: record for run, record in records.read("cifar10-cnn", "smoke", results=tmp_path)}
    assert found["cycle"]["standalone"] == again["accuracy"]


def test_committed_records_hold_the_accuracy_alone_that_is_recorded_now():
    """Whoever reads the files without `cycle` finds the same gains."""
    for name, profile in itertools.product(catalogue.EXPERIMENTS, settings.RECORDED):
        for run, record in records.read(name, profile):
            held = json.loads((records.RESULTS / run.path).read_text())["standalone"]
            assert held == record["standalone"], f"{run.path}: copy the accuracy of {run.alone().path}"


def test_committed_records_are_whole_and_what_they_say():
    """A record called `paper` has all images, all epochs and a full curve; every record matches its place."""
    paths = [path for profile in settings.RECORDED for path in (records.RESULTS / profile).rglob("*.json")]
    assert paths
    for path in paths:
        record = json.loads(path.read_text())
        assert all(field in record for field in FIELDS), path
        place = path.relative_to(records.RESULTS).as_posix()
        assert place.startswith(f"{record['profile']}/{record['dataset']}-{record['model']}"), path
        assert f"/{record['split']}/{record['method']}" in place and place.endswith(f".seed{record['seed']}.json")
        for origin in (record["provenance"], *record["provenance"].get("earlier", ())):
            assert "dirty" not in origin["commit"] and origin["commit"] != "unknown", path
        tested = [point["round"] + record["epochs"] - record["rounds"] + 1 for point in record["curve"]]
        spacings = (5,) if record["profile"] == "paper" else (5, 10)  # `laptop` was tested every 5 epochs at first
        assert tested in [sorted({*range(k, record["epochs"] + 1, k), record["epochs"]}) for k in spacings], path
        if record["profile"] == "paper" and record["dataset"].startswith("cifar"):
            assert record["images"] == 50_000 and record["epochs"] == 100, path


@pytest.mark.parametrize(
    "damage",
    [
        {"images": 10_000},
        {"epochs": 40},
        {"curve": []},
        lambda record: {"curve": record["curve"][:3] + record["curve"][4:]},
    ],
    ids=["images", "epochs", "no curve", "a gap"],
)
def test_a_record_called_paper_that_is_not_whole_is_refused(tmp_path, damage):
    run = next(catalogue.runs_of("cifar10-cnn", "paper", (0,), ("vpdl",), ("homogeneous",)))
    record = json.loads((records.RESULTS / run.path).read_text())
    path = tmp_path / run.path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    assert len(records.read("cifar10-cnn", "paper", results=tmp_path)) == 1
    path.write_text(json.dumps(record | (damage(record) if callable(damage) else damage)))
    with pytest.raises(ValueError, match="is called `paper` but has"):
        records.read("cifar10-cnn", "paper", results=tmp_path)
    with pytest.raises(ValueError, match="is called `paper` but has"):
        execute.execute(run, "cifar10-cnn", tmp_path, progress=False)


def test_gains_over_two_processors_are_named(tmp_path):
    """By the local epochs that were shared (10 of 40, in which CYCle is altered), whatever names say; else by names."""
    names = {"standalone": "here", "fedavg": "here", "rffl": "elsewhere", "vpdl": "elsewhere", "cycle": "here"}
    for method, where in names.items():
        (run,) = catalogue.runs_of("cifar10-cnn", "laptop", (0,), (method,), ("homogeneous",))
        record = json.loads((records.RESULTS / run.path).read_text())
        record["provenance"]["hardware"] = where
        if method in ("cycle", "vpdl"):
            local = [point for point in record["curve"] if point["round"] < 0]
            assert local and record["curve"][0] in local
            local[-1]["accuracy"][3] += 0.01 * (method == "cycle")
        (tmp_path / run.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / run.path).write_text(json.dumps(record))
    assert [run.method for run in tables.across_processors("cifar10-cnn", "laptop", tmp_path)] == ["rffl", "cycle"]
    found = catalogue.runs_of("learning-rate", "laptop", (0,))  # local epochs at another rate are others anyway
    for run in found:
        (tmp_path / run.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / run.path).write_text((records.RESULTS / run.path).read_text())
    assert tables.across_processors("learning-rate", "laptop", tmp_path) == []


def test_processors_of_one_name_are_told_apart_by_their_instructions(monkeypatch):
    here = provenance.hardware(torch.device("cpu"))
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "OTHER")
    assert here != provenance.hardware(torch.device("cpu")) and ", OTHER, " in provenance.hardware(torch.device("cpu"))


def test_every_experiment_can_be_named_and_read():
    for name in catalogue.EXPERIMENTS:
        for profile in settings.PROFILES:
            paths = [run.path for run in catalogue.runs_of(name, profile)]
            assert paths and len(set(paths)) == len(paths)


def test_variants_are_chosen_by_name():
    """Asked for one by one, or as `unchanged` the one without a name, they are all runs of the experiment."""
    for name, experiment in catalogue.EXPERIMENTS.items():
        asked = [variant or "unchanged" for variant in experiment.variants]
        one_by_one = {variant: list(catalogue.runs_of(name, variants=[variant])) for variant in asked}
        for variant, found in one_by_one.items():
            assert {run.variant or "unchanged" for run in found} <= {variant}
        every = [run.path for run in catalogue.runs_of(name)]
        assert sorted(run.path for found in one_by_one.values() for run in found) == sorted(every)


@pytest.mark.parametrize(
    "arguments, named",
    [
        (("nothing",), "experiment must be one of"),
        (("cifar10-cnn", "huge"), "profile must be one of"),
        (("cifar10-cnn", "smoke", (0,), ["sgd"]), "methods must be among"),
        (("cifar10-cnn", "smoke", (0,), None, ["half"]), "splits must be among"),
        (("tau", "smoke", (0,), None, None, ["tau9"]), "variants must be among unchanged, tau"),
    ],
)
def test_refuses_unknown_names(arguments, named):
    with pytest.raises(ValueError, match=named):
        list(catalogue.runs_of(*arguments))


def test_unknown_split(digits):
    with pytest.raises(ValueError, match="split must be homogeneous"):
        settings.partition_of("halves-2", digits.train_labels.numpy(), 5, 0)
    with pytest.raises(ValueError, match="split imbalanced-0.9-2: kappa"):
        settings.partition_of("imbalanced-0.9-2", digits.train_labels.numpy(), 5, 0)
