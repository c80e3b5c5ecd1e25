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
    for n, party in enumerate(map(str, state.everyone)):
        loss = row["losses"][n][0]
        if not np.isfinite(loss) or loss > EXPLODED * guessing:
            said = f"its own loss is {loss:.1f}, that of guessing {guessing:.1f}"
        elif alone and row["accuracy"][n] < alone[n] / 2:
            said = f"its accuracy fell from {alone[n]:.0f} % alone to {row['accuracy'][n]:.0f} %"
        else:
            continue
        row["collapsed"].append(party)
        if party not in told:
            taught = any(one["losses"][n][1] for one in history)
            first = "try a tenth of lambda_0, or" if taught else "scale the inputs, or take"
            advice = f"{first} a smaller lr (see `cycle.run`)"
            said = f"round {row['round']}: {party} collapses: {said}; {advice}"
            warnings.warn(said, Collapse, stacklevel=3)
