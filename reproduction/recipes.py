"""A table that fills before your eyes: run, show, save, and go on after a disconnect."""

from pathlib import Path

from IPython.display import HTML, clear_output, display

from reproduction import execute
from reproduction.catalogue import runs_of
from reproduction.draw import tables
from reproduction.records import RESULTS


def fill(name: str, profile: str = "paper", seeds=(0,), results=RESULTS, **chosen):
    """Run what is missing of an experiment and show its table after every run; the table comes back.

    `results` is a directory that outlives the session (on Colab a mounted Drive): finished runs are there as records
    and are not run again, an interrupted one goes on from the last round that was saved. `chosen` are the methods,
    splits, variants and device as of the command line.
    """
    results, device = Path(results), chosen.pop("device", None)
    needed = list(runs_of(name, profile, seeds, **chosen))
    table = tables.summary(name, profile, results)
    for done, run in enumerate(needed):
        show(table, done, len(needed))
        execute.execute(run, name, results, device)
        table = tables.summary(name, profile, results)
    show(table, len(needed), len(needed))
    return table


def show(table, done: int, needed: int) -> None:
    """The table in the place of the one before it, so that the cell does not grow."""
    clear_output(wait=True)
    display(HTML(f"<p>{done} of {needed} runs recorded</p>{table.to_html(index=False)}"))
