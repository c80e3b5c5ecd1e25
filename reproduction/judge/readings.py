"""Which reading of the gossip algorithm fits what the paper prints: CYCle's gossip beside the complete graph.

A pair is one seed of one reading: CYCle's gossip and Gossip-SGD on the complete graph, of the same participants, tested
after or before the mixing.
"""

from functools import cache

import numpy as np
import pandas as pd

from reproduction import paper
from reproduction.judge.claim import in_words
from reproduction.judge.compare import spread_text
from reproduction.judge.trials import POINTS, Trial, runs

PIPELINE = ("local_steps", "local_epochs", "lr_decay", "mix_buffers", "participation")  # common to both methods
CIFAR_TABLES = ("noofparticipantsv3-part1", "appendix-n20-results")  # N = 5, 10 and 20; two are printed in part2
COMPLETE, DYNAMIC = ("DSGD", "Gossip-SGD"), ("CYCle[Gossip]", "CYCle")  # in these tables
MEASURED = ["MCG", "CGS", "Pearson", "p", "smallest", "losers", "spread"]
Pair = tuple[Trial, Trial]  # CYCle, the complete graph


@cache
def limits() -> dict:
    return printed(paper.tables())


def printed(values: pd.DataFrame) -> dict:
    """What the printed tables allow: how far MCG may differ, the least correlation, gains by (data set, split, N)."""
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


def pairs_of(found: list[Trial]) -> list[Pair]:
    """Each trial of CYCle's gossip that has a partner on the complete graph, with it."""

    def shared(trial):
        return trial.setting, *(trial.record["options"][name] for name in PIPELINE)

    gossip = [trial for trial in found if trial.run.method == "gossip"]
    complete = {shared(trial): trial for trial in gossip if trial.record["options"]["topology"] == "complete"}
    cycles = [trial for trial in found if trial.run.method == "cycle-gossip"]
    return [(trial, complete[shared(trial)]) for trial in cycles if shared(trial) in complete]


def frame_of(found: list[Trial]) -> pd.DataFrame:
    """One row for each pair and point: the measures of both, CYCle's messages against those of the complete graph.

    Beside them what is printed: of the same data, split and N (else NaN), and the limits of all.
    """
    both, allowed, frames = pairs_of(found), limits(), []
    for point in POINTS if both else ():
        one, other = (runs([trial.at(point) for trial in side]) for side in zip(*both, strict=True))
        frame = one[["N", "split", "seed", "beta", "noise", "alone"]].assign(case=one["place"], tested=point)
        frame["reading"] = [reading_of(trial.record) for trial in one["trial"]]
        frame["messages"] = one["sent"] / other["sent"]
        places = zip(one["data"].map(paper.DATASET_NAMES), one["split"], one["N"], strict=True)
        frame["complete MCG in print"] = [allowed["MCG"].get(place, np.nan) for place in places]
        frame = frame.assign(**{f"{name} in print": allowed[name] for name in ("MCG apart", "MCG given up", "Pearson")})
        sides = one[MEASURED].add_prefix("CYCle "), other[MEASURED].add_prefix("complete ")
        frames.append(frame.join(sides))
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True) if both else pd.DataFrame()


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Of `frame_of`, mean and, from two seeds on, sample deviation for each split, reading and point; p by seed."""
    rows = []
    for key, group in frame.groupby(["N", "split", "reading", "tested"], sort=False) if len(frame) else ():
        row = dict(zip(("N", "split", "reading", "tested"), key, strict=True)) | {"seeds": len(group)}
        for name in ("complete", "CYCle"):
            row |= {f"{name} {key}": spread_text(group[f"{name} {key}"], 1) for key in ("MCG", "CGS")}
            row[f"{name} Pearson (p)"] = spread_text(group[f"{name} Pearson"], 2)
            if np.isfinite(group[f"{name} p"]).all():
                row[f"{name} Pearson (p)"] += f" ({', '.join(f'{p:.2f}' for p in group[f'{name} p'])})"
            row[f"{name} losers"] = f"{group[f'{name} losers'].mean():.1f}"
        rows.append(row | {"messages": f"{100 * group['messages'].mean():.0f} %"})
    return pd.DataFrame(rows)


def effects(frame: pd.DataFrame) -> pd.DataFrame:
    """How far one choice alone moves the measures: mean differences on the same splits and seeds.

    Each reading tested before against itself tested after; and, tested after mixing, against the one as printed (of
    the slim ResNet, with its buffers mixed).
    """
    if frame.empty:
        return frame
    moved = ["complete MCG", "complete CGS", "CYCle MCG", "CYCle CGS", "CYCle Pearson"]
    groups = frame.set_index(["split", "N", "seed", "beta"]).groupby(["reading", "tested"], sort=False)[moved]
    found, rows = dict(list(groups)), []
    for (reading, point), group in found.items():
        base = "slim ResNet" if reading.startswith("slim ResNet") else "as printed"
        origin, of = (base, "reading") if point == "after" else (reading, "point of testing")
        other = found.get((origin, "after"), group[:0])
        change = (group - other).reindex(group.index.intersection(other.index))
        if (reading, point) != (base, "after") and len(change):
            row = {"change": reading if point == "after" else f"{reading}: tested before", "of": of}
            rows.append(row | {"cases": len(change)} | change.mean(skipna=False).to_dict())
    return pd.DataFrame(rows).sort_values("of", kind="stable", ignore_index=True) if rows else pd.DataFrame()


def by_reading(found: list[Trial], claims, by=("reading", "tested")) -> pd.DataFrame:
    """One row for each group of pairs, by default a reading and point over all splits and seeds: yes, no or how many.

    `by` names what pairs of a group share: reading, tested, N, split.
    """
    rows, frame = [], frame_of(found)
    for key, group in frame.groupby(list(by), sort=False) if len(frame) else ():
        told = {claim.name: in_words(claim.answers(claim.rows(group))) for claim in claims}
        rows.append(dict(zip(by, key, strict=True)) | {"cases": len(group)} | told)
    return pd.DataFrame(rows)


def conclude(judged: pd.DataFrame, traits) -> pd.DataFrame:
    """Reading, point and conclusion: consistent (every trait in every case), possible (each in some), contradicted."""
    rows = []
    for row in judged.to_dict("records"):
        told = {trait.name: row[trait.name] for trait in traits if row[trait.name]}
        against = [name for name, answer in told.items() if answer == "no"]
        hold = list(told.values()).count("yes")
        conclusion = "contradicted" if against else "consistent" if hold == len(told) else "possible"
        row = {"reading": row["reading"], "tested": row["tested"], "hold": f"{hold} of {len(told)}"}
        rows.append(row | {"conclusion": conclusion, "against": ", ".join(against)})
    return pd.DataFrame(rows)
