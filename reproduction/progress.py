"""What is seen of a run that is going on: one line that names it, and a bar that fits 80 columns."""

import sys

from tqdm.auto import tqdm

from reproduction.settings import Run

WIDTH = 80
NAMED = 5  # participants whose accuracies fit into the bar; of more, the mean and the range are shown
SECONDS = 1.0, 60.0  # between two drawings: on a terminal, into a file


def heading(run: Run, number: int, count: int) -> str:
    return (
        f"run {number} of {count}: {run.label} on {run.dataset}, {run.split}, "
        f"{run.n} participants, seed {run.seed}, {run.options.epochs} epochs"
    )


def accuracies(values: list[float]) -> str:
    if len(values) <= NAMED:
        return " ".join(f"{value:.1f}" for value in values)
    return f"mean {sum(values) / len(values):.1f}, {min(values):.1f} to {max(values):.1f}"


def bar(run: Run, epoch: int = 0, number: int = 1, count: int = 1, hidden: bool = False) -> tqdm:
    """A bar over the epochs of a run, from the one it has reached; `set_postfix_str(accuracies(...))` fills its end."""
    if not hidden:
        tqdm.write(heading(run, number, count), file=sys.stderr)
    place = f"run {number} of {count}, {run.dataset}"
    return tqdm(
        total=run.options.epochs,
        initial=epoch,
        disable=hidden,
        ncols=WIDTH,
        mininterval=SECONDS[not sys.stderr.isatty()],
        bar_format=place + " {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{remaining}]{postfix}",
    )
