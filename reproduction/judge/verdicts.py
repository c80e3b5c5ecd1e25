"""Verdicts on the paper's sentences, computed from the records: nothing is typed."""

from pathlib import Path

import pandas as pd

from reproduction.judge.evidence import trials
from reproduction.judge.sentences import SENTENCES
from reproduction.records import RESULTS
from reproduction.settings import RECORDED

VERDICTS = ["reproduced", "partly", "not reproduced", "undecided", "not run"]
STAND_IN = "laptop, synthetic stand-in"
AGAIN = ", in another setting"


def weigh(cases: list, share: float) -> str:
    """reproduced, partly, not reproduced; undecided where no case can be decided, not run where there is none."""
    decided = [held for _, held in cases if held is not None]
    if not decided:
        return "undecided" if cases else "not run"
    holds = sum(decided) / len(decided)
    return "reproduced" if holds >= share else "partly" if holds > 0 else "not reproduced"


def verdicts(results: Path = RESULTS, chapter: str | None = None) -> pd.DataFrame:
    """One row for each sentence and profile: cases that decide, in favour, others, verdict, cases against by name."""
    rows, read = [], {}
    for sentence in SENTENCES:
        for profile in RECORDED if chapter in (None, sentence.chapter) else ():
            key = (sentence.experiments, profile)
            if key not in read:
                read[key] = trials(sentence.experiments, profile, results)
            cases = sentence.check(read[key])
            decided = [(name, held) for name, held in cases if held is not None]
            against = [name for name, held in decided if not held]
            rows.append(
                {
                    "chapter": sentence.chapter,
                    "line": f"L{sentence.line}",
                    "the paper": sentence.quote,
                    "checked": sentence.checked,
                    "how": sentence.how,
                    "profile": profile,
                    "cases": len(decided),
                    "in favour": len(decided) - len(against),
                    "undecided": len(cases) - len(decided),
                    "verdict": weigh(cases, sentence.share),
                    "against": "; ".join(against) if len(against) < len(decided) else "all" * bool(decided),
                }
            )
    return pd.DataFrame(rows)


def board(results: Path = RESULTS, chapter: str | None = None) -> pd.DataFrame:
    """The same, one row for each sentence and one column for each profile: the verdict and in how many cases."""
    rows = {}
    for row in verdicts(results, chapter).to_dict("records"):
        key = row["line"], row["the paper"], row["checked"]
        counted = f": {row['in favour']} of {row['cases']}" if row["cases"] else ""
        counted += f" ({row['undecided']} undecided)" if row["cases"] and row["undecided"] else ""
        rows.setdefault(key, dict(zip(("line", "the paper", "checked"), key, strict=True)))
        rows[key][row["profile"]] = row["verdict"] + counted
    return pd.DataFrame(rows.values())


def against(chapter: str, results: Path = RESULTS, most: int = 6) -> pd.DataFrame:
    """The cases against the sentences of a chapter; of many the first few and how many more there are."""
    frame = verdicts(results, chapter).query("against != ''")

    def shortened(names):
        names = names.split("; ")
        more = [f"and {len(names) - most} more"] if len(names) > most + 1 else []
        return "; ".join(names[: most if more else None] + more)

    frame = frame.assign(against=frame["against"].map(shortened))
    return frame[["line", "checked", "profile", "against"]]


def counts(results: Path = RESULTS) -> pd.DataFrame:
    """How many sentences have which verdict, by profile, and how many of these rest on a single case.

    What was judged once more in another setting, or on a drawn stand-in for medical images, has rows of its own.
    """
    frame = verdicts(results)
    drawn = (frame["chapter"] == "fed-isic") & (frame["profile"] == "laptop")
    frame["profile"] = frame["profile"].mask(drawn, STAND_IN)
    frame["profile"] = frame["profile"].mask(frame["how"] != "", frame["profile"] + AGAIN)
    rows = [*RECORDED, *(profile + AGAIN for profile in RECORDED), STAND_IN]
    table = pd.crosstab(frame["profile"], frame["verdict"]).reindex(index=rows, columns=VERDICTS, fill_value=0)
    single = frame[frame["cases"] == 1].groupby("profile").size().reindex(rows, fill_value=0)
    return table.assign(**{"on one case": single}).rename_axis(columns=None).reset_index()
