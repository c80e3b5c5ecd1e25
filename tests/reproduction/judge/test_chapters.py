"""Verdicts come from records: alter one record and one verdict flips; nothing is typed."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction import catalogue
from reproduction.judge import chapters, evidence, noise, trials
from reproduction.judge.claim import CLAIMS, Claim, judge, verdict
from reproduction.records import RESULTS
from reproduction.settings import RECORDED

SPLIT = "imbalanced-0.6-1"
ROOT = Path(__file__).resolve().parents[3]
ALL = [claim for claims in chapters.CLAIMS.values() for claim in claims]
SOME = 1e-9  # a share that one case in favour reaches


def flipped(before, after):
    changed = before["verdict"] != after["verdict"]
    return list(zip(before["checked"][changed], before["verdict"][changed], after["verdict"][changed], strict=True))


def test_one_altered_record_flips_one_verdict(recorded, tmp_path):
    """In a copy of all that is recorded, one participant that refuses does better or worse than it did."""
    ignored = shutil.ignore_patterns(".checkpoints", "silent*", "*+silent*")
    shutil.copytree(RESULTS, tmp_path, ignore=ignored, dirs_exist_ok=True)
    recorded("refusal", [1, 1, 1, 1, 1], seed=7)
    recorded("refusal", [-1, 1, 1, 1, 1], variant="silent-p1", seed=7)
    before = chapters.verdicts(results=tmp_path)
    what = "who never answers (which we score 0) ends below what it has when it answers, beyond the noise"
    for gain, word in ((3, "not reproduced"), (1 - noise.limit("laptop", tmp_path) / 2, "undecided")):
        recorded("refusal", [gain, 1, 1, 1, 1], variant="silent-p1", seed=7)
        after = chapters.verdicts(results=tmp_path)
        assert flipped(before, after) == [(what, "reproduced", word)]


def test_without_records_nothing_was_run(tmp_path):
    frame = chapters.verdicts(results=tmp_path)
    assert set(frame["verdict"]) == {"not run"} and not frame["cases"].any()
    assert len(frame) == len(ALL) * len(RECORDED)


@pytest.mark.parametrize(
    "held, share, word",
    [([], 1, "not run"), ([1, 1], 1, "reproduced"), ([1, 0], 1, "partly"), ([0, 0], 1, "not reproduced"),
     ([1, 1, 0], 0.5, "reproduced"), ([1, 0, 0], 0.5, "partly"), ([None], 1, "undecided"),
     ([1, None], 1, "reproduced"), ([0, None], 1, "not reproduced"), ([1] + 500 * [0], SOME, "reproduced"),
     ([0, 0], SOME, "not reproduced"), ([1, None, None], 1, "undecided"), ([0, None, None], 1, "undecided"),
     ([1, 0, None, None, None], 1, "partly"), ([1, None, None], SOME, "reproduced"),
     ([1, 1, None, None, None], 0.4, "reproduced"), ([1, 1, None, None, None], 0.5, "undecided")],
)  # fmt: skip
def test_judging(held, share, word):
    cases = [("case", value) for value in held]
    assert verdict(cases, Claim(1, "", "", pd.DataFrame, share=share)) == word
    printed = {"reproduced": "holds", "partly": "stretched", "not reproduced": "stretched"}
    assert verdict(cases, Claim(1, "", "", pd.DataFrame, share=share, otherwise="stretched")) == printed.get(word, word)


def test_every_claim_names_existing_experiments_and_a_chapter():
    for chapter, claims in chapters.CLAIMS.items():
        assert (ROOT / "book" / f"{chapter}.md").exists(), chapter
        for claim in claims:
            assert claim.experiments and set(claim.experiments) <= set(catalogue.EXPERIMENTS), claim.quote
            assert claim.check([]) == [], f"{claim.quote}: without evidence there is no case"


def test_no_two_claims_ask_the_same():
    asked = [(claim.line, claim.quote, claim.checked) for claim in ALL]
    assert len(set(asked)) == len(asked)


def cases(results, what):
    claim = next(claim for claim in ALL if claim.checked == what)
    return claim.check(trials.trials(claim.experiments, "laptop", results))


def test_comparisons_are_within_one_setting(recorded, tmp_path):
    """CYCle beats VPDL on its own split and seed; the other split has VPDL only and makes no case."""
    recorded("cifar10-cnn", [2, 2, 2, 2, 2])
    recorded("cifar10-cnn", [1, 2, 3, 2, 1], method="vpdl")
    recorded("cifar10-cnn", [9, 9, 9, 9, 9], method="vpdl", split="homogeneous")
    recorded("cifar10-cnn", [9, 9, 9, 9, 9], method="vpdl", seed=1)
    assert [held for _, held in cases(tmp_path, "larger MCG than VPDL")] == [True]
    assert [held for _, held in cases(tmp_path, "smaller CGS than VPDL")] == [True]


def test_comparisons_are_within_one_data_set(recorded, tmp_path):
    """CYCle beats VPDL on both, and VPDL on CIFAR-100 beats CYCle on CIFAR-10, which is no case."""
    for name, ours, theirs in (("participants", 1, 2), ("participants-cifar100", 5, 6)):
        recorded(name, np.linspace(2, 2 + ours, 5), split="homogeneous")
        recorded(name, np.linspace(2, 2 + theirs, 5), method="vpdl", split="homogeneous")
    found = cases(tmp_path, "N = 5, 10: smaller CGS")
    assert [held for _, held in found] == [True, True] and len({name for name, _ in found}) == 2


def test_the_average_over_splits_uses_what_both_methods_have(recorded, tmp_path):
    """CYCle is ahead by 2 in one split and behind by 1, with two seeds, in another: on average ahead.

    A split without CYCle does not count, a second seed does not count twice, another network is another mean.
    """
    for name, split, seed, ours, theirs in (
        ("cifar10-cnn", SPLIT, 0, 3, 1),
        ("cifar10-cnn", "homogeneous", 0, 1, 2.5),
        ("cifar10-cnn", "homogeneous", 1, 1, 2.5),
        ("cifar10-resnet", SPLIT, 0, 1, 45),
    ):
        recorded(name, [ours] * 5, split=split, seed=seed)
        recorded(name, [theirs] * 5, method="fedavg", split=split, seed=seed)
    recorded("cifar10-cnn", [45] * 5, method="fedavg", split="imbalanced-0.8-1")
    found = trials.trials(("cifar10-cnn", "cifar10-resnet"), "laptop", tmp_path)

    def ahead(splits):
        return evidence.averages(found, splits)[["case", "MCG"]].to_numpy().tolist()

    assert ahead(2) == [["cnn against fedavg, mean over 2 splits", pytest.approx((2 - 1.5) / 2)]]
    assert ahead(3) == [["against fedavg, fewer than 3 splits", pytest.approx(np.nan, nan_ok=True)]]
    sentence = cases(tmp_path, "larger mean MCG than each other method")
    assert sentence == [("against fedavg, fewer than 10 splits", None)]


def test_what_may_occasionally_happen_must_happen_once(recorded, tmp_path):
    what = "larger MCG and larger CGS than CYCle, in one case at least"
    recorded("cifar10-cnn", [2] * 5)
    recorded("cifar10-cnn", [1] * 5, method="cgsv")
    assert [held for _, held in cases(tmp_path, what)] == [False]
    recorded("cifar10-cnn", [1, 2, 3, 4, 5], method="cgsv")
    assert [held for _, held in cases(tmp_path, what)] == [True]


def test_more_gain_at_the_cost_of_fairness(recorded, tmp_path):
    """Only those who gain more than CYCle make a case: CFFL with more spread, CGSV with none; RFFL gains less."""
    recorded("cifar10-cnn", [1, 2, 3, 2, 2])
    for method, gains in (("cffl", [0, 9, 9, 9, 9]), ("cgsv", [5] * 5), ("rffl", [1, 0, 1, 0, 1])):
        recorded("cifar10-cnn", gains, method=method)
    found = cases(tmp_path, "where the MCG is larger than CYCle's, the CGS is too; often: half of the cases")
    told = {name.rsplit(", ", 1)[1].split()[0]: held for name, held in found}
    assert told == {"cffl": True, "cgsv": False}


def test_homogeneous_participants_are_scored_alike_or_not(recorded, tmp_path):
    """Columns of the mean score: all one half is alike, one of 0.2 is not."""
    what = "homogeneous: lowest and highest score, mean over all calibrations, are similar"
    matrix = np.full((5, 5), 0.5)
    for low, held in ((0.5, True), (0.2, False)):
        matrix[:, 4] = low
        ladder = [{"round": 5 * t, "matrix": matrix.tolist()} for t in (0, 1)]
        recorded("cifar10-cnn", [1] * 5, split="homogeneous", reputation=ladder)
        assert [answer for _, answer in cases(tmp_path, what)] == [held]


@pytest.mark.parametrize(
    "last, held", [([0.4, 0.4, 0.4, 0.4], True), ([0.2, 0.3, 0.2, 0.2], False), ([0.02, 0.0, 0.02, 0.0], None)]
)
def test_equal_data_must_be_scored_more_equally_not_just_lower(recorded, tmp_path, last, held):
    """P2 to P5 begin at 0.5, 0.7, 0.5, 0.5; recorded are reputations, half former and half fresh score."""
    first, fresh = np.tile([0.9, 0.5, 0.7, 0.5, 0.5], (5, 1)), np.tile([0.9, *last], (5, 1))
    ladder = [{"round": 0, "matrix": first.tolist()}, {"round": 5, "matrix": ((first + fresh) / 2).tolist()}]
    recorded("cifar10-cnn", [1] * 5, split="imbalanced-0.8-1", reputation=ladder)
    (what,) = {sentence.checked for sentence in ALL if "lie closer together" in sentence.checked}
    assert [answer for _, answer in cases(tmp_path, what)] == [held]


def test_gossip_cases_are_told_apart_by_their_names():
    frame = chapters.verdicts("gossip")
    names = [name for names in frame["against"] for name in (names.split("; ") if names not in ("", "all") else ())]
    assert names and all("N=" in name and "seed" in name for name in names)
    for names in frame["against"]:
        assert len(set(names.split("; "))) == len(names.split("; "))


def test_free_riders_are_judged_by_who_flips(recorded, tmp_path):
    """P5 flips and is scored 0.4, then 0; P4, who is honest, 0.3, then 0.5 as all others. Reputations are means."""
    first, fresh = np.tile([0.5, 0.5, 0.5, 0.3, 0.4], (5, 1)), np.tile([0.5, 0.5, 0.5, 0.5, 0], (5, 1))
    scores = [{"round": 0, "matrix": first.tolist()}, {"round": 5, "matrix": ((first + fresh) / 2).tolist()}]
    clean = [{"round": 0, "matrix": np.full((5, 5), 0.5).tolist()}]
    recorded("free-riders", [2] * 5, split="homogeneous", reputation=clean)
    for rate, alone in (
        (0.2, -2),
        (1.0, -30),
    ):  # alone P5 is so much worse on its own labels
        gains, variant = [1, 1, 1, 1, -20 * rate], f"flip{rate}x1"
        recorded("free-riders", gains, variant=variant, split="homogeneous", reputation=scores)
        gains = [0, 0, 0, 0, alone]
        recorded("free-riders", gains, "standalone", variant, "homogeneous", reputation=[])
    frame = chapters.verdicts("when-somebody-lies", tmp_path).query("profile == 'laptop'").set_index("checked")
    counted = frame["in favour"].astype(str) + "/" + frame["cases"].astype(str)
    assert counted["every honest score of a flipper ends below 0.05"] == "2/2"
    assert counted["a flipper's mean score of the honest does not end at zero (below 0.05)"] == "1/1"
    assert counted["at rate 1.0 it ends below 0.05"] == "0/1"
    assert counted["the honest gain less on average than with clean labels"] == "2/2"
    least = "every flipper gains less than every honest participant; gains are against training alone on clean labels"
    assert counted[least] == "2/2"
    assert counted["the same, gains against training alone on the labels at hand"] == "1/2"  # -2 at 0.2, +10 at 1.0
    assert counted["the same at the last calibration"] == "2/2"
    assert counted["at the first calibration the honest score each flipper below every one of themselves"] == "0/2"
    assert counted["at the first calibration they score a flipper below what it has with clean labels"] == "2/2"
    falls = "the flippers' score, mean over all calibrations, falls from each rate to the next"
    assert counted[falls] == "1/2"  # 0 to 0.2, not on to 1.0


def test_those_with_augmented_images_are_judged_among_themselves(recorded, tmp_path):
    """CYCle is ahead of VPDL where images are augmented and behind where not; a plain run is no case for the first."""
    stays, falls = np.full((5, 5), 0.5), np.full((5, 5), 0.5)
    falls[:, 0] = 0.45  # its score, 0.4, is a fifth less than at the first calibration
    for variant, last, ours in (("", falls, 1), ("augmented", stays, 3)):
        scores = [{"round": 0, "matrix": stays.tolist()}, {"round": 5, "matrix": last.tolist()}]
        recorded("augmentation", [ours] * 5, variant=variant, reputation=scores)
        recorded("augmentation", [2] * 5, "vpdl", variant)
    clean, flip = "augmented", "augmented-flip1.0x1"
    recorded("free-riders-augmented", [2] * 5, variant=clean, split="homogeneous", reputation=scores)
    scores[0]["matrix"] = np.eye(5)[::-1].tolist()  # only P1, of the honest, thinks anything of P5, and P2 of P4 ...
    recorded("free-riders-augmented", [2] * 5, variant=flip, split="homogeneous", reputation=scores)
    stay = "(0.6, 1): P1's mean score is similar at the first and the last calibration"
    down = "at the first calibration they score a flipper below what it has with clean labels"
    for what, held in (("larger MCG than VPDL", [False, True]), (stay, [False, True])):
        for name, expected in zip((what, f"with augmented images: {what}"), held, strict=True):
            assert [answer for _, answer in cases(tmp_path, name)] == [expected], name
    # one of the four honest thinks something of the flipper, with clean labels all do, by a half
    assert [answer for _, answer in cases(tmp_path, f"with augmented images: {down}")] == [True]
    assert cases(tmp_path, down) == []


def test_the_grid_of_thresholds(recorded, tmp_path):
    """MCG rises with tau_max by construction and does not depend on tau_opt."""
    for variant in catalogue.EXPERIMENTS["tau"].variants:
        top = float(variant.split("-")[1]) if variant else 0.75
        recorded("tau", [10 * top, 10 * top + 1, 1, 1, 1], variant=variant, split="homogeneous")
    frame = chapters.verdicts("sensitivity", tmp_path).query("profile == 'laptop' and cases > 0")
    first = frame[frame["the paper"].str.contains("tau")].set_index("the paper")["verdict"]
    assert first.iloc[0] == "reproduced" and first.iloc[1] == "not reproduced"


def test_the_weight_of_an_answer_is_score_times_chance(recorded, tmp_path):
    """Two participants, seven rounds: scores 0.8 and 0.6, then 0.5 and 0.1; forced in rounds 0 and 5."""
    scores = [{"round": 0, "matrix": [[0, 0.8], [0.6, 0]]}, {"round": 5, "matrix": [[0, 0.5], [0.1, 0]]}]
    recorded("participants", [1, 1], split="homogeneous", reputation=scores, rounds=7)
    (trial,) = trials.trials(("participants",), "laptop", tmp_path)
    by_hand = (0.7 + 4 * 0.8 * 0.6 + 0.3 + 1 * 0.5 * 0.1) / 7
    assert trial.weight == pytest.approx(by_hand)


def test_where_nothing_can_be_said_the_case_is_undecided():
    frame = pd.DataFrame({"case": ["a", "b", "c"], "value": [1.0, -1.0, np.nan]})
    asked = Claim(1, "", "", pd.DataFrame, holds="value > 0", undecided="value.isna()")
    assert asked.check(frame) == [("a", True), ("b", False), ("c", None)]
    assert judge([asked], frame)[["cases", "undecided", "against"]].to_numpy().tolist() == [[2, 1, "b"]]


def test_what_is_alike_holds_whatever_lies_beyond_the_noise():
    frame = pd.DataFrame({"case": ["a", "b", "c", "d"], "one": [1.0, 3, 2, 0], "other": [1.1, 1, 1, 2], "noise": 1.5})
    asked = Claim(1, "", "", pd.DataFrame, holds="@similar(one, other)", beyond=("one - other",), within="noise")
    assert [held for _, held in asked.check(frame)] == [True, True, None, False]


def test_a_claim_names_columns_that_its_table_has():
    """A misspelled column is an error, not a sentence that nobody asks."""
    asked = Claim(1, "", "", pd.DataFrame, holds="valeu > 0")
    with pytest.raises(Exception, match="valeu"):
        asked.check(pd.DataFrame({"case": ["a"], "value": [1.0]}))


def test_every_file_of_claims_is_read():
    read = {
        claim
        for claims in (*chapters.CLAIMS.values(), chapters.TRAITS, chapters.ELSEWHERE, chapters.PRINTED)
        for claim in claims
    }
    written = sum(path.read_text().count("[[claim]]") for path in CLAIMS.glob("*.toml"))
    main = (CLAIMS / "main.toml").read_text().count("[[claim]]")  # once for each of three settings
    assert len(read) == written + 2 * main


def test_every_claim_is_counted_once_and_what_was_judged_otherwise_apart():
    judged = chapters.counts().set_index("profile").drop(columns="on one case").sum(axis=1)
    drawn = len(chapters.CLAIMS["fed-isic"])
    again = sum(claim.how != "" for claim in ALL)
    assert judged[chapters.STAND_IN] == drawn > 0
    assert judged["laptop" + chapters.AGAIN] == judged["paper" + chapters.AGAIN] == again > 0
    assert judged["laptop"] + drawn + again == judged["paper"] + again == len(ALL)


def test_of_many_cases_against_the_first_few_are_named(recorded, tmp_path):
    """CYCle has a loser in every split but one, twice: nine names, of which six are shown."""
    for split in catalogue.FIVE_SPLITS:
        for seed in (0, 1):
            gains = [1, 1, 1, 1, 1 if (split, seed) == ("homogeneous", 0) else -1]
            recorded("cifar10-cnn", gains, split=split, seed=seed)
    asked = "checked == 'the smallest gain is above 0' and profile == 'laptop'"
    whole, shown = (
        frame.query(asked) for frame in (chapters.verdicts("cifar", tmp_path), chapters.against("cifar", tmp_path))
    )
    names = whole["against"].item().split("; ")
    assert len(names) == 9 and shown["against"].item().split("; ") == [*names[:6], "and 3 more"]


def test_sentences_leave_out_what_they_do_not_speak_of(recorded, tmp_path):
    """L479 is about five and ten participants, L426 about splits in which somebody contributes most."""
    for method, gains in (("cycle", [1, 1]), ("vpdl", [0, 2])):
        recorded("participants", gains, method, split="homogeneous")
    assert cases(tmp_path, "N = 5, 10: smaller CGS") == cases(tmp_path, "N = 5, 10: the smallest gain is above 0") == []
    for split in ("homogeneous", "imbalanced-0.6-1"):
        recorded("cifar10-cnn", [-1, 1, 1, 1, 1], "cffl", split=split)
    (what,) = {sentence.checked for sentence in ALL if "whoever is best alone loses" in sentence.checked}
    assert [held for _, held in cases(tmp_path, what)] == [True]
