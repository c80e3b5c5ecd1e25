"""Where collaboration makes a party collapse: said once, by name, with what to do."""

import warnings

import numpy as np

from cycle.state import State

EXPLODED = 2.0  # an own loss this many times that of guessing means that training has collapsed


class Collapse(UserWarning):
    """Collaboration harms a party more than it can help."""


def warn(state: State, history: list[dict]) -> None:
    """By name, once: an own loss that explodes, an accuracy below half of what it was alone."""
    guessing, row = float(np.log(max(2, state.classes))), history[-1]
    told, row["collapsed"] = {name for one in history[:-1] for name in one["collapsed"]}, []
    alone = next((one["accuracy"] for one in reversed(history) if one["round"] < 0), None)
    for position, party in enumerate(state.participants):
        loss, said = row["losses"][position][0], None
        if not np.isfinite(loss) or loss > EXPLODED * guessing:
            said = f"its own loss is {loss:.1f}, that of guessing {guessing:.1f}"
        elif (
            row["round"] >= 0
            and alone
            and row["accuracy"]
            and row["accuracy"][position] < alone[position] / 2
        ):
            now = row["accuracy"][position]
            said = f"its accuracy fell from {alone[position]:.0f} % alone to {now:.0f} %"
        if said:
            row["collapsed"].append(str(party))
        if said and str(party) not in told:
            advice = "try a tenth of lambda_0, or a smaller lr (see `cycle.run`)"
            warnings.warn(
                f"round {row['round']}: {party} collapses: {said}; {advice}", Collapse, stacklevel=3
            )
