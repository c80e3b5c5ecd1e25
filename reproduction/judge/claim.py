"""A sentence of the paper, the check that decides whether it holds, and the one way in which cases become a verdict."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

Case = tuple[str, bool | None]  # a name, and whether it holds; None: it was run, and nothing can be said
Check = Callable[..., list[Case]]
SOME = 1e-9  # a share that one case in favour reaches


@dataclass(frozen=True)
class Claim:
    """Of the paper (in brackets: what a table shows without saying so); a check turns evidence into cases.

    The evidence is what was recorded of these experiments; a claim that names none is held to the printed values.
    """

    line: int  # of the paper's source
    quote: str
    means: str  # what is asked of a case, in our words
    check: Check
    experiments: tuple[str, ...] = ()
    share: float = 1.0  # of the cases that the sentence itself claims: "most" is a half, "occasionally" any
    how: str = ""  # if judged once more, on runs trained in a way that the paper does not print or not name: in which
    otherwise: str = ""  # of the printed values, if they are against: contradicted, not shown, stretched
    name: str = ""  # where it heads a column

    @property
    def checked(self) -> str:
        return f"{self.how}: {self.means}" if self.how else self.means


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
    """One row for each claim; `evidence` is given to each check, or is a function of the claim that finds it."""
    rows = []
    for claim in claims:
        cases = claim.check(evidence(claim) if callable(evidence) else evidence)
        decided = [(name, held) for name, held in cases if held is not None]
        against = [name for name, held in decided if not held]
        rows.append(
            {
                "line": f"L{claim.line}",
                "the paper": claim.quote,
                "checked": claim.checked,
                "how": claim.how,
                "cases": len(decided),
                "in favour": len(decided) - len(against),
                "undecided": len(cases) - len(decided),
                "verdict": verdict(cases, claim),
                "against": "; ".join(against),
            }
        )
    return pd.DataFrame(rows)


def counted(claims, groups: dict) -> pd.DataFrame:
    """One row for each claim and one column for each group of evidence: yes, no, or in how many cases."""
    table = pd.DataFrame({"line": [f"L{claim.line}" for claim in claims], "claim": [c.quote for c in claims]})
    for name, evidence in groups.items():
        frame = judge(claims, evidence)
        pairs = zip(frame["in favour"], frame["cases"], frame["undecided"], strict=True)
        table[name] = [
            in_words(favour, cases) or ("undecided" if other else "not run") for favour, cases, other in pairs
        ]
    return table


def in_words(favour: int, cases: int) -> str:
    """yes or no where all cases agree, else how many say yes; nothing where there are none."""
    return "" if not cases else {0: "no", cases: "yes"}.get(favour, f"{favour} of {cases}")
