"""A sentence of the paper, what it asks of a table of evidence, and the one way in which cases become a verdict."""

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from reproduction.judge.noise import beyond
from reproduction.judge.trials import similar

Case = tuple[str, bool | None]  # a name, and whether it holds; None: it was run, and nothing can be said
CLAIMS = Path(__file__).parent / "claims"


@dataclass(frozen=True)
class Claim:
    """Of the paper (in brackets: what a table shows without saying so), asked of each row of a table.

    The evidence is what was recorded of these experiments; a claim that names none is held to the printed values.
    `where`, `holds`, `beyond`, `within` and `undecided` are expressions in the columns of the table, as pandas reads
    them. A row holds if `holds` does, or if all of `beyond` are positive by more than the noise, `within`.
    """

    line: int  # of the paper's source
    quote: str
    means: str  # what is asked of a case, in our words
    table: Callable[..., pd.DataFrame]  # of the evidence; its column `case` names the rows
    where: str = ""  # these rows only
    holds: str = ""
    beyond: tuple[str, ...] = ()
    within: str = "noise / N ** 0.5"  # of a mean over participants, and to first order of their spread
    undecided: str = ""
    experiments: tuple[str, ...] = ()
    share: float = 1.0  # of the cases that the sentence itself claims: "most" is a half, "occasionally" any
    how: str = ""  # if judged once more, on runs trained in a way that the paper does not print or not name: in which
    otherwise: str = ""  # of the printed values, if they are against: contradicted, not shown, stretched
    name: str = ""  # where it heads a column

    @property
    def checked(self) -> str:
        return f"{self.how}: {self.means}" if self.how else self.means

    def check(self, evidence) -> list[Case]:
        return self.cases(self.table(evidence)) if len(evidence) else []

    def cases(self, frame: pd.DataFrame) -> list[Case]:
        """The name of each case, and whether it holds."""
        frame = self.rows(frame)
        return list(zip(frame["case"], self.answers(frame), strict=True)) if len(frame) else []

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.query(self.where, engine="python") if self.where and len(frame) else frame

    def answers(self, frame: pd.DataFrame) -> list[bool | None]:
        """Of each row, True, False or None."""
        if frame.empty:
            return []
        asked = partial(frame.eval, engine="python", local_dict={"similar": similar})
        if self.undecided:
            out = asked(self.undecided)
            answers = iter(replace(self, undecided="").answers(frame[~out]))
            return [None if undecided else next(answers) for undecided in out]
        found = [False] * len(frame)
        if self.beyond:
            ahead = zip(*map(asked, self.beyond), strict=True)
            found = [
                all_of(beyond(one, noise) for one in row) for row, noise in zip(ahead, asked(self.within), strict=True)
            ]
        if self.holds:
            found = [bool(held) or other for held, other in zip(asked(self.holds), found, strict=True)]
        return found


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """All are True; or none is False, but one says nothing: None."""
    answers = list(answers)
    return False if False in answers else None if None in answers else True


def read(name: str, *modules, variant: str = "", **fields) -> tuple[Claim, ...]:
    """The claims of a file; their tables are functions of these modules, VARIANT stands for this one.

    `fields` are those that all of them have, if they do not say otherwise.
    """
    text = (CLAIMS / f"{name}.toml").read_text(encoding="utf-8").replace("VARIANT", variant)
    tables = {name: table for module in modules for name, table in vars(module).items()}
    claims = []
    for entry in tomllib.loads(text)["claim"]:
        entry = {key: tuple(value) if isinstance(value, list) else value for key, value in (fields | entry).items()}
        if entry["table"] not in tables:
            raise ValueError(f"table must be a function of judge/evidence.py and its like, {name}: {entry['table']!r}")
        claims.append(Claim(**entry | {"table": tables[entry["table"]]}))
    return tuple(claims)


def verdict(cases: list[Case], claim: Claim) -> str:
    """reproduced, partly or not reproduced (of printed values: holds or not), by the cases that can be decided.

    undecided where fewer than half of the cases can be, unless what can be is enough; not run where there are none.
    """
    decided = [held for _, held in cases if held is not None]
    if not cases:
        return "not run"
    most = decided and 2 * len(decided) >= len(cases)
    if decided and sum(decided) / len(decided if most else cases) >= claim.share:
        return "holds" if claim.otherwise else "reproduced"
    if most or 0 < sum(decided) < len(decided):
        return claim.otherwise or ("partly" if any(decided) else "not reproduced")
    return "undecided"


def judge(claims, evidence) -> pd.DataFrame:
    """One row for each claim; `evidence` is what all are held to, or finds it, by their experiments."""
    rows, tables = [], {}
    for claim in claims:
        key = claim.table, claim.experiments
        if key not in tables:
            found = evidence(claim.experiments) if callable(evidence) else evidence
            tables[key] = claim.table(found) if len(found) else pd.DataFrame()
        cases = claim.cases(tables[key])
        decided = [held for _, held in cases if held is not None]
        rows.append(
            {
                "line": f"L{claim.line}",
                "the paper": claim.quote,
                "checked": claim.checked,
                "how": claim.how,
                "cases": len(decided),
                "in favour": sum(decided),
                "undecided": len(cases) - len(decided),
                "verdict": verdict(cases, claim),
                "against": "; ".join(name for name, held in cases if held is False),
            }
        )
    return pd.DataFrame(rows)


def in_words(answers: Iterable[bool | None]) -> str:
    """yes or no where all cases agree, else how many say yes; nothing where none can be decided."""
    decided = [held for held in answers if held is not None]
    yes = sum(decided)
    return {0: "no", len(decided): "yes"}.get(yes, f"{yes} of {len(decided)}") if decided else ""


def counted(claims, groups: dict) -> pd.DataFrame:
    """One row for each claim and one column for each group of evidence: in words, or undecided, or not run."""
    table = pd.DataFrame({"line": [f"L{claim.line}" for claim in claims], "claim": [c.quote for c in claims]})
    for name, evidence in groups.items():
        found = [claim.check(evidence) for claim in claims]
        table[name] = [in_words(held for _, held in cases) or ("undecided" if cases else "not run") for cases in found]
    return table
