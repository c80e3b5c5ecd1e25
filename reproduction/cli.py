"""The command line: list, run, table, data, bench, clean. What a verb needs is imported when it is asked for."""

import argparse
import ctypes
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from reproduction.bench import aims

EXTRAS = {"tenseal": "fhe"} | dict.fromkeys(
    ("torchvision", "pandas", "sklearn", "matplotlib", "PIL", "yaml", "IPython", "ipywidgets", "jinja2"), "reproduction"
)  # what is imported: the extra of pyproject.toml that installs it


def list_experiments(arguments) -> None:
    """What exists and what has been run; with a NAME, all about one experiment."""
    from reproduction import overview
    from reproduction.provenance import results_folder

    name, results = arguments.name, results_folder()
    print(overview.one(name, results) if name else overview.everything(results))


def run(arguments) -> None:
    """Run what is not recorded yet, resume what was interrupted, print the table of what was asked for."""
    import torch

    from cycle import watch
    from reproduction import catalogue, execute, overview

    keep_freed_memory()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    name, profile = arguments.name, arguments.profile
    chosen = arguments.methods, arguments.splits, arguments.variants
    runs = list(catalogue.runs_of(name, profile, arguments.seed, *chosen))
    if arguments.privacy:
        runs = catalogue.with_privacy(runs, arguments.privacy)
    if not runs:
        raise ValueError(f"methods, splits and variants leave no run of {name} (see `list {name}`)")
    device = watch.join()
    if os.environ.get("RANK", "0") == "0":
        print(overview.heading(name, profile), file=sys.stderr, flush=True)
    how = {"device": arguments.device or device, "keep": arguments.keep_models}
    records = [execute.execute(one, name, place=(k, len(runs)), **how) for k, one in enumerate(runs, 1)]
    if watch.leave():
        print(overview.of_runs(name, profile, runs, records))


def table(arguments) -> None:
    """Ours beside the paper's, from what is recorded."""
    from reproduction import overview

    print(overview.of_experiment(arguments.name, arguments.profile))


def data(arguments) -> None:
    """Fetch a data set and verify it."""
    from reproduction.data import datasets

    loaded = datasets.load(arguments.name, "cpu")
    print(f"{loaded.name}: {len(loaded.train_labels)} training and {len(loaded.test_labels)} test images, verified")
    print(f"SHA-256 of pixels and labels: {loaded.hash}")


def bench(arguments) -> None:
    """Measure speed, as ratios within one run, and what more participants cost."""
    import torch

    torch.set_num_threads(1)  # as it is recorded
    minutes = aims.BENCHMARKS[arguments.name]["minutes"]
    print(f"measuring; about {minutes:g} minutes ...", file=sys.stderr, flush=True)
    measured = importlib.import_module(f"reproduction.bench.{arguments.name}").measure()
    print(json.dumps(measured) if arguments.json else aims.explained(arguments.name, measured))


def clean(arguments) -> None:
    """List what interrupted runs left behind, and remove it when you say so."""
    from cycle import files
    from reproduction import leftovers
    from reproduction.data.fetch import data_directory
    from reproduction.provenance import results_folder

    found = leftovers.find([results_folder(), data_directory()])
    print(leftovers.report(found), flush=True)
    paths = leftovers.removable(found)
    if not paths:
        return
    what = f"{len(paths)} files, {leftovers.megabytes(paths)}"
    if arguments.yes or (sys.stdin.isatty() and input(f"remove {what}? [y/N] ").strip().lower() in ("y", "yes")):
        files.remove(paths)
        print(f"removed {what}")
    else:
        print("nothing was removed; `clean --yes` removes it")


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks: it gives them back at once, and each training step faults them in again."""
    trim_threshold, mmap_threshold = -1, -3  # of mallopt(3)
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(mmap_threshold, 2**30)
        ctypes.CDLL(None).mallopt(trim_threshold, 2**31 - 1)


def _written(pattern: str, wants: str, read: Callable) -> Callable:
    """A reader of an argument that must be written so."""

    def reader(text: str):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"wants {wants}, got {text!r}")
        return read(text)

    return reader


_names = _written(r".*[^,\s].*", "one name or several with commas", re.compile(r"[^,\s]+").findall)
_seeds = _written(r"\d+(,\d+)*", "0, 1, 2, ..., one or several with commas", lambda text: [*map(int, text.split(","))])
_threads = _written(r"[1-9]\d{0,2}", "1, 2, 3, ..., 999", int)


def _device(text: str):
    import torch

    try:
        if torch.device(text).type not in ("cpu", "cuda"):  # seeds and resuming are written for these
            raise ValueError("wants cpu or cuda")
        torch.ones(1, device=text).item()
    except Exception as error:  # each kind of device has its own way to say that it is not there
        raise argparse.ArgumentTypeError(f"{text!r} is not a device of this machine ({error})") from error
    return torch.device(text)


OPTIONS = {
    "--profile": {"default": "smoke", "help": "smoke (the default: digits stand in), laptop or paper (see `list`)"},
    "--seed": {"type": _seeds, "default": "0", "help": "one seed or several with commas (default 0)"},
    "--device": {"type": _device, "help": "cpu, cuda, cuda:1, ... (default: CUDA where there is one)"},
    "--methods": {"type": _names, "help": "only these, with commas, e.g. standalone,cycle"},
    "--splits": {"type": _names, "help": "only these, with commas, e.g. homogeneous,imbalanced-0.6-1"},
    "--variants": {"type": _names, "help": "only these, with commas, e.g. unchanged,per-peer (see `list NAME`)"},
    "--privacy": {"choices": ("plain", "fhe"), "help": "how answers travel (default: as the experiment says)"},
    "--threads": {"type": _threads, "help": "CPU threads (one thread each for runs side by side)"},
    "--keep-models": {"action": "store_true", "help": "keep the trained models beside the record"},
    "--json": {"action": "store_true", "help": "one JSON object of plain numbers"},
    "--yes": {"action": "store_true", "help": "remove it without asking"},
}


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str):
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    prog = "cycle" if Path(sys.argv[0]).name == "cycle" else "python -m cycle"
    main = Parser(prog=prog, description="Run, resume and read the experiments of the CYCle book.")
    verbs = main.add_subparsers(required=True, metavar="VERB")

    def add(name: str, do: Callable, options: str = "", **about_name) -> None:
        verb = verbs.add_parser(name, help=do.__doc__, description=do.__doc__)
        verb.set_defaults(do=do)
        if about_name:
            verb.add_argument("name", metavar="NAME", **about_name)
        for option in options.split():
            verb.add_argument(option, **OPTIONS[option])

    of_a_run = "--profile --seed --device --methods --splits --variants --privacy --threads --keep-models"
    add("list", list_experiments, nargs="?", help="an experiment")
    add("run", run, of_a_run, help="an experiment (see `list`)")
    add("table", table, "--profile", help="an experiment (see `list`)")
    add("data", data, help="digits, cifar10, cifar100, fedisic, fedisic-synthetic")
    add("bench", bench, "--json", choices=aims.BENCHMARKS, help=", ".join(aims.BENCHMARKS))
    add("clean", clean, "--yes")
    return main


def main() -> None:
    arguments = parser().parse_args()
    try:
        arguments.do(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read along (head, less) has seen enough
        os._exit(0)
    except (ValueError, OSError, FloatingPointError) as error:
        if watch := sys.modules.get("cycle.watch"):
            watch.abandon()  # tells the other ranks, if there are any
        sys.exit(f"error: {error}")
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        sys.exit(f"error: this needs {error.name}: pip install 'cycle-book[{extra}]' (in a clone: '.[{extra}]')")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; the same command resumes where it stopped")


if __name__ == "__main__":
    main()
