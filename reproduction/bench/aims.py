"""What each benchmark's numbers mean, and whether they meet their aims: aims.toml, read and told."""

import fnmatch
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Aim:
    """A meaning in words; `most` or `least` where a number has an aim."""

    meaning: str
    most: float = math.inf
    least: float = -math.inf

    @property
    def text(self) -> str:
        if self.most < math.inf:
            return f"at most {self.most:,g}"
        return f"at least {self.least:,g}" if self.least > -math.inf else ""

    def verdict(self, value: float) -> str:
        met = "met" if self.least <= value <= self.most else "MISSED"
        return met if self.text else ""


BENCHMARKS = tomllib.loads(Path(__file__).with_name("aims.toml").read_text(encoding="utf-8"))
AIMS = {name: {number: Aim(**aim) for number, aim in told["numbers"].items()} for name, told in BENCHMARKS.items()}


def aim(benchmark: str, number: str) -> Aim:
    """What a number of a benchmark means."""
    for pattern, found in AIMS[benchmark].items():
        if fnmatch.fnmatchcase(number, pattern):
            return found
    raise ValueError(f"number must be one that reproduction/bench/aims.toml explains, got {number!r}: add a line there")


def explained(benchmark: str, measured: dict[str, float]) -> str:
    """Each number with its aim, whether that is met, and what the number says."""
    width = max(map(len, measured))
    rows = []
    for number, value in measured.items():
        of = aim(benchmark, number)
        shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        rows.append(f"{number:{width}}  {shown:>12}  {of.text:17} {of.verdict(value):6}  {of.meaning}")
    return "\n".join(row.rstrip() for row in rows)
