"""What a record holds: types, ranges and what must agree, checked whenever one is read."""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ABSENT = None  # a field that may be missing, in a record older than it; where it stands, it may not be null


class Part(BaseModel):
    """Any part of a record: no text for a number, and fields that are not named here are let through."""

    model_config = ConfigDict(strict=True, extra="allow")


class Tested(Part):
    round: int
    accuracy: list[Percent]
    points: dict[str, list[Percent]] = {}


class Losses(Part):
    round: int
    losses: list[list[Number | None]]  # None: not finite, where somebody lies


class Scored(Part):
    round: int
    matrix: list[list[Share]]


class Counted(Part):
    round: int
    matrix: list[list[Share | None]]  # None: no answer


class Messages(Part):
    sent: Count
    possible: Count


class Origin(Part):
    commit: str
    command: str
    hardware: str
    date: str
    earlier: list["Origin"] = []


class Record(Part):
    accuracy: Annotated[list[Percent], Field(min_length=2)]
    standalone: list[Percent] | None
    options: dict[str, Any]  # compared with those of the run, one by one, by whoever reads it for a run
    experiment: str
    profile: str
    dataset: str
    model: str
    width: int | None = ABSENT
    method: str
    variant: str
    split: str
    n: Annotated[int, Field(ge=2)]
    seed: Count
    rounds: Annotated[int, Field(ge=1)]
    epochs: Annotated[int, Field(ge=1)]
    images: Annotated[int, Field(ge=1)]
    sizes: list[Annotated[int, Field(ge=1)]]
    messages: Messages
    bytes: Count = ABSENT
    shares: list[list[Count]] = ABSENT  # one row more where there is a server
    reputation: list[Scored]
    counted: list[Counted] = ABSENT  # where a rule says how far answers count: [receiver, sender], at calibrations
    curve: list[Tested]
    losses: list[Losses] = ABSENT
    seconds: Annotated[Number, Field(ge=0)]
    data_hash: str = ABSENT
    provenance: Origin = ABSENT

    @model_validator(mode="after")
    def one_value_a_participant(self):
        n = self.n
        rows = {"accuracy": self.accuracy, "standalone": self.standalone, "sizes": self.sizes}
        for point in self.curve:
            rows |= {f"curve of round {point.round}": point.accuracy}
            rows |= {f"curve of round {point.round}, {name}": values for name, values in point.points.items()}
        rows |= {f"losses of round {point.round}": point.losses for point in self.losses or ()}
        for what, points in (("reputation", self.reputation), ("counted", self.counted or ())):
            for point in points:
                name = f"{what} of round {point.round}"
                rows |= {name: point.matrix} | {f"{name}, row {k}": row for k, row in enumerate(point.matrix)}
        for name, values in rows.items():
            if values is not None and len(values) != n:
                raise ValueError(f"{name} has {len(values)} values for {n} participants")
        return self

    @model_validator(mode="after")
    def the_curve_ends_with_the_accuracy(self):
        rounds = [point.round for point in self.curve]
        if rounds != sorted(set(rounds)):
            raise ValueError(f"curve must go from round to round, got {rounds}")
        if rounds and self.curve[-1].accuracy != self.accuracy:
            raise ValueError(f"accuracy is {self.accuracy}, the curve ends with {self.curve[-1].accuracy}")
        return self

    @model_validator(mode="after")
    def what_was_sent_adds_up(self):
        if self.shares is not None:
            size, sent = len(self.shares), sum(map(sum, self.shares))
            if size - self.n not in (0, 1) or any(len(row) != size for row in self.shares):
                raise ValueError("shares must be a square of all participants, and of the server if there is one")
            if self.messages.sent != sent:
                raise ValueError(f"messages says that {self.messages.sent} were sent, shares add up to {sent}")
        if self.messages.sent > self.messages.possible:
            raise ValueError(f"messages says {self.messages.sent} were sent of {self.messages.possible}")
        return self


def load(path: Path) -> dict:
    """The record in a file, as it stands there; one that is damaged is named, with the field."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        Record.model_validate(record)
    except ValidationError as error:
        first, *more = error.errors()
        place = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        what += f", got {first['input']!r:.40}" if place and first["type"] != "missing" else ""
        rest = f"; and {len(more)} more" if more else ""
        raise ValueError(f"{path} is damaged ({place or 'record'}: {what}{rest}): restore or remove it") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}): restore or remove it") from None
    return record
