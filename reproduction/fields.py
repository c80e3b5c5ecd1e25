"""What a record holds: types, ranges and what must agree, checked whenever one is read."""

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
T = TypeVar("T")


def _one_each(values: list, info: ValidationInfo) -> list:
    """One value a participant: their number, `n` of the same record, is the context of validation."""
    if isinstance(info.context, int) and len(values) != info.context:
        raise ValueError(f"has {len(values)} values for {info.context} participants")
    return values


Each = Annotated[list[T], AfterValidator(_one_each)]
ABSENT = None  # a field that may be missing, in a record older than it; where it stands, it may not be null


class Part(pydantic.BaseModel):
    """Any part of a record: no text for a number, and fields that are not named here are let through."""

    model_config = ConfigDict(strict=True, extra="allow")


def part(**kinds) -> type[Part]:
    """A part of which these fields are asked."""
    return pydantic.create_model("Part", __base__=Part, **kinds)


Tested = part(round=int, accuracy=Each[Percent], points=(dict[str, Each[Percent]], {}))
Losses = part(round=int, losses=Each[list[Number | None]])  # None: not finite, where somebody lies
Scored = part(round=int, matrix=Each[Each[Share]])
Counted = part(round=int, matrix=Each[Each[Share | None]])  # None: no answer
Messages = part(sent=Count, possible=Count)
ORIGIN = {"commit": str, "command": str, "hardware": str, "date": str}
Origin = part(**ORIGIN, earlier=(list[part(**ORIGIN)], []))


class Record(Part):
    accuracy: Each[Percent]
    standalone: Each[Percent] | None
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
    sizes: Each[Annotated[int, Field(ge=1)]]
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

    @pydantic.model_validator(mode="after")
    def agrees(self):
        """A curve that ends with the accuracy, messages that add up."""
        rounds = [point.round for point in self.curve]
        if rounds != sorted(set(rounds)):
            raise ValueError(f"curve must go from round to round, got {rounds}")
        if rounds and self.curve[-1].accuracy != self.accuracy:
            raise ValueError(f"accuracy is {self.accuracy}, the curve ends with {self.curve[-1].accuracy}")
        sent, possible = self.messages.sent, self.messages.possible
        if self.shares is not None:
            size, added = len(self.shares), sum(map(sum, self.shares))
            if size - self.n not in (0, 1) or any(len(row) != size for row in self.shares):
                raise ValueError("shares must be a square of all participants, and of the server if there is one")
            if sent != added:
                raise ValueError(f"messages says that {sent} were sent, shares add up to {added}")
        if sent > possible:
            raise ValueError(f"messages says {sent} were sent of {possible}")
        return self


def load(path: Path) -> dict:
    """The record in a file, as it stands there; one that is damaged is named, with the field."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        Record.model_validate(record, context=record.get("n") if isinstance(record, dict) else None)
    except pydantic.ValidationError as error:
        first, *more = error.errors()
        place = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        what += f", got {first['input']!r:.40}" if place and first["type"] != "missing" else ""
        rest = f"; and {len(more)} more" if more else ""
        raise ValueError(f"{path} is damaged ({place or 'record'}: {what}{rest}): restore or remove it") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}): restore or remove it") from None
    return record
