"""Which reading of the gossip algorithm fits what the paper prints, and which of its claims hold under each.

A case is one seed of one reading: Gossip-SGD on the complete graph and CYCle's gossip on the same participants, tested
after or before the mixing. A trait looks at one case; a verdict counts the cases.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction import paper

POINTS = ("after", "before")
SETTING = ("profile", "dataset", "model", "width", "n", "split", "seed")
PIPELINE = ("local_steps", "local_epochs", "lr_decay", "mix_buffers", "participation")  # common to both methods
CIFAR_TABLES = ("noofparticipantsv3-part1", "appendix-n20-results")  # N = 5, 10 and 20; two are printed in part2
COMPLETE, DYNAMIC = ("DSGD", "Gossip-SGD"), ("CYCle[Gossip]", "CYCle")  # in these tables
TWOFOLD = 2  # gains "of the same size": neither is more than this many times the other
UNIFORM = 0.1  # accuracies are "uniform": their spread is at most this fraction of the spread alone


@dataclass(frozen=True)
class Trait:
    """One printed fact or sentence; `holds` gets a case and what is printed; None where it says nothing."""

    name: str
    line: int  # of the paper
    quote: str
    holds: Callable[[dict, dict], bool | None]
    means: str = ""  # of a sentence: what is asked of a case


def printed(values: pd.DataFrame | None = None) -> dict:
    """What the printed tables allow: how far MCG may differ, the least correlation, gains by (data set, split, N)."""
    values = paper.tables() if values is None else values
    frame = values[values["table"].isin(CIFAR_TABLES) & values["method"].isin(COMPLETE + DYNAMIC)]
    wide = frame.pivot_table(
        index=["dataset", "split", "N", "method"], columns="participant_or_metric", values="value", sort=False
    ).reset_index()
    key = ["dataset", "split", "N"]
    complete, cycle = (wide[wide["method"].isin(names)].set_index(key) for names in (COMPLETE, DYNAMIC))
    return {
        "MCG apart": float((cycle["MCG"] / complete["MCG"] - 1).abs().max()),
        "MCG given up": float((complete["MCG"] - cycle["MCG"]).max()),
        "Pearson": float(cycle["rho"].min()),
        "MCG": complete["MCG"].to_dict(),
        "implied spreads": {
            place: tuple(implied_spreads(complete["CGS"][place], cycle["CGS"][place], rho) / complete["CGS"][place])
            for place, rho in cycle["rho"].dropna().items()
        },
    }


def implied_spreads(complete_cgs: float, cgs: float, rho: float) -> np.ndarray:
    """The spreads of A that CGS and Pearson (B, A) leave where everybody ends alike on the complete graph, ascending.

    There CGS is the spread b of B, and CGS^2 = a^2 + b^2 - 2 rho a b for CYCle: its positive roots a, if it has any.
    """
    roots = np.roots([1, -2 * rho * complete_cgs, complete_cgs**2 - cgs**2])
    return np.sort(roots.real[np.isreal(roots) & (roots.real > 0)])


def measured(record: dict, point: str) -> dict:
    """The measures of one run as tested at a point; CGS with 1/N, as printed."""
    accuracy = record["curve"][-1].get("points", {}).get(point, record["accuracy"])
    report = metrics.fairness_report(record["standalone"], accuracy, ddof=0)
    return {
        "MCG": report.mcg,
        "CGS": report.cgs,
        "Pearson": report.correlation,
        "p": report.correlation_p,
        "losers": report.losers,
        "min gain": report.min_gain,
        "spread": float(np.std(accuracy)),
        "accuracy": accuracy,
    }


def reading_of(record: dict) -> str:
    """In which respects a run differs from Algorithm 3 as printed, one mixing an epoch, buffers mixed."""
    options = record["options"]
    parts = {
        "slim ResNet": record["width"] is not None,
        "warm-up": options["local_epochs"] > 0,
        "constant rate": options["lr_decay"] == 1,
        "mixing every minibatch": options["local_steps"] == 1,
        f"mixing every {options['local_steps']} minibatches": options["local_steps"] > 1,
        "relative links": options["link_rule"] == "relative",
        "updates aligned": options["alignment"] == "updates",
        "self-loops": options.get("self_loops", False),  # older records do not know them
        "buffers local": not options["mix_buffers"],
    }
    return ", ".join(name for name, applies in parts.items() if applies) or "as printed"


def cases(records: list[dict]) -> list[dict]:
    """One case for each cycle-gossip record with a standalone and a partner on the complete graph, at both points."""
    gossiping = [record for record in records if record["method"] in ("gossip", "cycle-gossip")]
    known = [record for record in gossiping if record["standalone"] is not None]
    complete = {
        _partner(record): record
        for record in known
        if record["method"] == "gossip" and record["options"]["topology"] == "complete"
    }
    found = []
    for record in known:
        other = complete.get(_partner(record))
        if record["method"] != "cycle-gossip" or other is None:
            continue
        for point in POINTS:
            case = {key: record[key] for key in ("dataset", "split", "n", "seed")}
            case |= {"reading": reading_of(record), "tested": point, "beta": record["options"]["beta"]}
            case |= {"complete": measured(other, point), "cycle": measured(record, point)}
            case |= {"alone": float(np.std(record["standalone"]))}
            found.append(case | {"messages": record["messages"]["sent"] / other["messages"]["sent"]})
    return found


def course(records: list[dict]) -> pd.DataFrame:
    """Mean accuracy and Pearson (B, A) at every tested round of every gossip record, after and before its mixing."""
    rows = []
    for record in records:
        if record["method"] not in ("gossip", "cycle-gossip") or record["standalone"] is None:
            continue
        for entry in record["curve"]:
            for point, accuracy in entry.get("points", {}).items():
                row = {key: record[key] for key in ("method", "split", "n", "seed")}
                row |= {"reading": reading_of(record), "round": entry["round"], "tested": point}
                correlation = metrics.pearson(record["standalone"], accuracy)[0]
                rows.append(row | {"accuracy": float(np.mean(accuracy)), "Pearson": correlation})
    return pd.DataFrame(rows)


def _partner(record):
    return *(record[key] for key in SETTING), *(record["options"][key] for key in PIPELINE)


def _skewed(case):
    """The paper prints correlations for skewed splits only; among equals they are noise, of two pairs +1 or -1."""
    return case["split"] != "homogeneous" and case["n"] > 2


def _of_more_than_two(holds: Callable) -> Callable:
    """L479 and L480 are about 5 and 10; with one neighbour the softmax is 1, so two say nothing about CYCle."""
    return lambda case, facts: holds(case, facts) if case["n"] > 2 else None


def _defined(case, facts):
    return bool(np.isfinite(case["complete"]["Pearson"])) if _skewed(case) else None


def _negative(case, facts):
    return bool(case["complete"]["Pearson"] < 0) if _skewed(case) and _defined(case, facts) else None


def _strong(case, facts):
    return bool(case["cycle"]["Pearson"] >= facts["Pearson"]) if _skewed(case) else None


def _alike(case, facts):
    return bool(abs(case["cycle"]["MCG"] / case["complete"]["MCG"] - 1) <= facts["MCG apart"])


def _narrower(case, facts):
    return bool(case["cycle"]["CGS"] <= case["complete"]["CGS"])


def _as_large(case, facts):
    place = paper.DATASET_NAMES.get(case["dataset"]), case["split"], case["n"]
    if place not in facts["MCG"]:
        return None
    ratio = case["complete"]["MCG"] / facts["MCG"][place]
    return bool(1 / TWOFOLD <= ratio <= TWOFOLD)


def _kept(case, facts):
    return bool(case["cycle"]["MCG"] >= case["complete"]["MCG"] - facts["MCG given up"])


def _everybody_gains(case, facts):
    return bool(case["cycle"]["min gain"] > 0)


def _uniform(case, facts):
    return bool(case["complete"]["spread"] <= UNIFORM * case["alone"]) if _skewed(case) else None


def _clearly_narrower(case, facts):
    cycle, complete = case["cycle"]["CGS"], case["complete"]["CGS"]
    return bool(cycle < complete and not metrics.similar(cycle, complete))


TRAITS = (  # of the printed tables
    Trait("corr. defined", 1429, "the complete graph has a correlation", _defined),
    Trait("corr. negative", 1429, "it is below zero (-0.46, -0.73, on Fed-ISIC2019 -0.26)", _negative),
    Trait("CYCle corr. high", 1430, "CYCle's correlation is no lower than the lowest in print", _strong),
    Trait("MCG alike", 464, "the two MCG are no further apart than in print on CIFAR for N = 5, 10 and 20",
          _of_more_than_two(_alike)),
    Trait("CGS not above", 465, "CYCle's CGS is nowhere above the complete graph's", _narrower),
    Trait("MCG of that size", 464, f"the complete graph's MCG, within a factor of {TWOFOLD}", _as_large),
)  # fmt: skip
CLAIMS = (  # sentences
    Trait("every gain positive", 479, "we consistently achieve a positive collaboration gain for all",
          _of_more_than_two(_everybody_gains), "N = 5, 10: nobody ends below its accuracy alone"),
    Trait("CGS reduced", 480, "CYCle significantly reduces CGS", _of_more_than_two(_clearly_narrower),
          f"N = 5, 10: CGS more than {metrics.SIMILAR:.0%} below the complete graph's"),
    Trait("MCG kept", 480, "without compromising MCG", _of_more_than_two(_kept),
          "N = 5, 10: MCG no further below the complete graph's than the printed ones at most are"),
    Trait("uniform", 1183, "all participants converge to a uniform final performance [complete graph]", _uniform),
    Trait("corr. negative", 1422, "Gossip-SGD shows a negative correlation", _negative),
    Trait("CYCle corr. high", 1422, "the strong positive correlation [...] under CYCle", _strong),
)  # fmt: skip


def verdict(found: list[dict], check: Trait, facts: dict) -> str:
    """`yes` or `no` where all cases agree, else how many say yes; nothing where the check does not apply."""
    answers = [answer for case in found if (answer := check.holds(case, facts)) is not None]
    if not answers:
        return ""
    return {0: "no", len(answers): "yes"}.get(sum(answers), f"{sum(answers)} of {len(answers)}")


def judge(found: list[dict], checks=TRAITS, by=("reading", "tested")) -> pd.DataFrame:
    """One row for each group of cases, by default a reading and point over all its splits and seeds: the verdicts."""
    facts, rows = printed(), []
    for names, group in grouped(found, *by).items():
        row = dict(zip(by, names, strict=True)) | {"cases": len(group)}
        rows.append(row | {check.name: verdict(group, check, facts) for check in checks})
    return pd.DataFrame(rows)


def conclude(judged: pd.DataFrame) -> pd.DataFrame:
    """Reading, point and conclusion: consistent (every trait in every case), possible (each in some), contradicted."""
    rows = []
    for row in judged.to_dict("records"):
        answers = {check.name: row[check.name] for check in TRAITS if row[check.name]}
        against = [name for name, answer in answers.items() if answer == "no"]
        agreed = all(answer == "yes" for answer in answers.values())
        conclusion = "contradicted" if against else "consistent" if agreed else "possible"
        hold = sum(answer == "yes" for answer in answers.values())
        rows.append(
            {
                "reading": row["reading"],
                "tested": row["tested"],
                "hold": f"{hold} of {len(answers)}",
                "conclusion": conclusion,
                "against": ", ".join(against),
            }
        )
    return pd.DataFrame(rows)


def numbers(found: list[dict]) -> pd.DataFrame:
    """Mean and, from two seeds on, sample deviation over the seeds for each split, reading and point; p by seed."""
    rows = []
    for (n, split, reading, point), group in grouped(found, "n", "split", "reading", "tested").items():
        row = {"N": n, "split": split, "reading": reading, "tested": point, "seeds": len(group)}
        for who, name in (("complete", "complete"), ("cycle", "CYCle")):
            values = {key: [case[who][key] for case in group] for key in ("MCG", "CGS", "Pearson", "p", "losers")}
            row |= {f"{name} {key}": metrics.spread_text(values[key], 1) for key in ("MCG", "CGS")}
            row[f"{name} Pearson (p)"] = metrics.spread_text(values["Pearson"], 2)
            if np.isfinite(values["p"]).all():
                row[f"{name} Pearson (p)"] += f" ({', '.join(f'{p:.2f}' for p in values['p'])})"
            row[f"{name} losers"] = f"{np.mean(values['losers']):.1f}"
        rows.append(row | {"messages": f"{100 * np.mean([case['messages'] for case in group]):.0f} %"})
    return pd.DataFrame(rows)


def effects(found: list[dict]) -> pd.DataFrame:
    """How far one choice alone moves the measures: mean differences on the same splits and seeds.

    Each reading, tested after mixing, against the one as printed (of the slim ResNet, with its buffers mixed); and
    each reading tested before against itself tested after.
    """
    by_key = {tuple(case[key] for key in ("split", "n", "seed", "reading", "tested")): case for case in found}
    rows = []
    for (reading, point), group in grouped(found, "reading", "tested").items():
        base = "slim ResNet" if reading.startswith("slim ResNet") else "as printed"
        origin, what = (base, reading) if point == "after" else (reading, f"{reading}: tested before")
        if (reading, point) == (base, "after"):
            continue
        moved = []
        for case in group:
            other = by_key.get((case["split"], case["n"], case["seed"], origin, "after"))
            if other is not None:
                moved.append([_values(case)[key] - value for key, value in _values(other).items()])
        if moved:
            row = {"change": what, "of": "reading" if point == "after" else "point of testing", "cases": len(moved)}
            rows.append(row | dict(zip(_values(group[0]), np.mean(moved, axis=0), strict=True)))
    return pd.DataFrame(rows).sort_values("of", kind="stable", ignore_index=True) if rows else pd.DataFrame()


def _values(case):
    return {
        f"{name} {measure}": case[who][measure]
        for who, name in (("complete", "complete"), ("cycle", "CYCle"))
        for measure in ("MCG", "CGS")
    } | {"CYCle Pearson": case["cycle"]["Pearson"]}


def grouped(found: list[dict], *keys: str) -> dict[tuple, list[dict]]:
    """Cases that have these values in common."""
    groups = {}
    for case in found:
        groups.setdefault(tuple(case[key] for key in keys), []).append(case)
    return groups
