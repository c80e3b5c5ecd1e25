"""What each benchmark's numbers mean, and whether they meet their aims: aims.toml, read and told."""

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Aim:
    """A meaning in words; `most` or `least` where a number has an aim."""

    meaning: str
    most: float | None = None
    least: float | None = None

    @property
    def text(self) -> str:
        if self.most is not None:
            return f"at most {self.most:,g}"
        return "" if self.least is None else f"at least {self.least:,g}"

    def verdict(self, value: float) -> str:
        if not self.text:
            return ""
        met = value <= self.most if self.most is not None else value >= self.least
        return "met" if met else "MISSED"


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
