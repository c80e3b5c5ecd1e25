"""The command line: list, run, table, data, bench, clean. What a verb needs is imported when it is asked for."""

import argparse
import ctypes
import difflib
import importlib
import json
import os
import sys
from pathlib import Path

from reproduction.bench import aims

MOST_THREADS = 1024
EXTRAS = {"tenseal": "fhe"} | dict.fromkeys(
    ("torchvision", "pandas", "sklearn", "matplotlib", "PIL", "yaml", "IPython", "ipywidgets"), "reproduction"
)  # what is imported: the extra of pyproject.toml that installs it


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError(f"wants one name or several with commas, got {text!r}")
    return names


def _seeds(text: str) -> list[int]:
    names = [name.strip() for name in text.split(",")]
    if not all(name.isdecimal() for name in names):
        raise argparse.ArgumentTypeError(f"wants 0, 1, 2, ..., one or several with commas, got {text!r}")
    return [int(name) for name in names]


def _threads(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_THREADS:
        raise argparse.ArgumentTypeError(f"wants 1, 2, 3, ..., {MOST_THREADS}, got {text!r}")
    return int(text)


def _device(text: str):
    import torch

    try:
        if torch.device(text).type not in ("cpu", "cuda"):  # seeds and resuming are written for these
            raise ValueError("wants cpu or cuda")
        torch.ones(1, device=text).item()
    except Exception as error:  # each kind of device has its own way to say that it is not there
        raise argparse.ArgumentTypeError(f"{text!r} is not a device of this machine ({error})") from error
    return torch.device(text)


def _experiment(name: str) -> str:
    """The name, if it is one; else what is spelled like it."""
    from reproduction.catalogue import EXPERIMENTS

    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=3)
        raise ValueError(
            f"NAME must be an experiment, got {name!r}: "
            + (f"did you mean {' or '.join(near)}?" if near else "`list` names them")
        )
    return name


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks: it gives them back at once, and each training step faults them in again."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    trim_threshold, mmap_threshold = -1, -3  # of mallopt(3)
    if mallopt:
        mallopt(mmap_threshold, 2**30)
        mallopt(trim_threshold, 2**31 - 1)


def list_experiments(arguments) -> None:
    from reproduction import overview
    from reproduction.provenance import results_folder

    if arguments.name:
        print(overview.one(_experiment(arguments.name), results_folder()))
    else:
        print(overview.everything(results_folder()))


def run(arguments) -> None:
    import torch

    from cycle import watch
    from reproduction import catalogue, execute, overview, settings

    keep_freed_memory()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    chosen = arguments.methods, arguments.splits, arguments.variants
    name, profile = _experiment(arguments.name), arguments.profile
    selected = list(catalogue.runs_of(name, profile, arguments.seed, *chosen))
    if arguments.privacy:
        changed = [settings.with_privacy(run, arguments.privacy) for run in selected]
        other = [run.method for run in changed if run.options.privacy != arguments.privacy]
        if clear := sorted(set(other) - {"standalone"}):  # which sends nothing
            raise ValueError(f"--privacy must be plain for {', '.join(clear)}: leave them out with --methods")
        selected = list({run.path: run for run in changed}.values())
    if not selected:
        raise ValueError(f"methods, splits and variants leave no run of {name} (see `list {name}`)")
    device = watch.join()
    if os.environ.get("RANK", "0") == "0":
        print(f"{name}, profile {profile}: {overview.stand_in(name, profile)}", file=sys.stderr, flush=True)
    device, keep, count = arguments.device or device, arguments.keep_models, len(selected)
    done = [
        execute.execute(one, name, device=device, place=(number, count), keep=keep)
        for number, one in enumerate(selected, 1)
    ]
    if watch.leave():
        from reproduction import outcome

        print(outcome.of_runs(name, profile, selected, done))


def table(arguments) -> None:
    from reproduction import outcome

    print(outcome.of_experiment(_experiment(arguments.name), arguments.profile))


def data(arguments) -> None:
    from reproduction.data import datasets

    loaded = datasets.load(arguments.name, "cpu")
    print(f"{loaded.name}: {len(loaded.train_labels)} training and {len(loaded.test_labels)} test images, verified")
    print(f"SHA-256 of pixels and labels: {loaded.hash}")


def bench(arguments) -> None:
    import torch

    torch.set_num_threads(1)  # as it is recorded
    print(f"measuring; about {aims.BENCHMARKS[arguments.name]['minutes']:g} minutes ...", file=sys.stderr, flush=True)
    measured = importlib.import_module(f"reproduction.bench.{arguments.name}").measure()
    print(json.dumps(measured) if arguments.json else aims.explained(arguments.name, measured))


def clean(arguments) -> None:
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


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str):
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    prog = "cycle" if Path(sys.argv[0]).name == "cycle" else "python -m cycle"
    main = Parser(prog=prog, description="Run, resume and read the experiments of the CYCle book.")
    verbs = main.add_subparsers(required=True, metavar="VERB")

    def add(name, do, description):
        verb = verbs.add_parser(name, help=description, description=description)
        verb.set_defaults(do=do)
        return verb

    def add_for_experiment(name, do, description):
        verb = add(name, do, description)
        verb.add_argument("name", metavar="NAME", help="an experiment (see `list`)")
        verb.add_argument(
            "--profile", default="smoke", help="smoke (the default: digits stand in), laptop or paper (see `list`)"
        )
        return verb

    verb = add("list", list_experiments, "what exists and what has been run; with a NAME, all about one experiment")
    verb.add_argument("name", metavar="NAME", nargs="?", help="an experiment")
    about = "run what is not recorded yet, resume what was interrupted, print the table of what was asked for"
    verb = add_for_experiment("run", run, about)
    verb.add_argument("--seed", type=_seeds, default="0", help="one seed or several with commas (default 0)")
    verb.add_argument("--device", type=_device, help="cpu, cuda, cuda:1, ... (default: CUDA where there is one)")
    verb.add_argument("--methods", type=_names, help="only these, with commas, e.g. standalone,cycle")
    verb.add_argument("--splits", type=_names, help="only these, with commas, e.g. homogeneous,imbalanced-0.6-1")
    verb.add_argument("--variants", type=_names, help="only these, with commas, e.g. unchanged,per-peer (see `list`)")
    verb.add_argument(
        "--privacy", choices=("plain", "fhe"), help="how answers travel (default: as the experiment says)"
    )
    verb.add_argument("--threads", type=_threads, help="CPU threads (one thread each for runs side by side)")
    verb.add_argument("--keep-models", action="store_true", help="keep the trained models beside the record")
    add_for_experiment("table", table, "ours beside the paper's, from what is recorded")
    verb = add("data", data, "fetch a data set and verify it")
    verb.add_argument("name", metavar="NAME", help="digits, cifar10, cifar100, fedisic, fedisic-synthetic")
    verb = add("bench", bench, "measure speed, as ratios within one run, and what more participants cost")
    verb.add_argument("name", metavar="NAME", choices=aims.BENCHMARKS, help=", ".join(aims.BENCHMARKS))
    verb.add_argument("--json", action="store_true", help="one JSON object of plain numbers")
    verb = add("clean", clean, "list what interrupted runs left behind, and remove it when you say so")
    verb.add_argument("--yes", action="store_true", help="remove it without asking")
    return main


def main() -> None:
    arguments = parser().parse_args()
    try:
        arguments.do(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read along (head, less) has seen enough
        os._exit(0)
    except (ValueError, OSError, FloatingPointError) as error:
        _abandon_ranks()
        sys.exit(f"error: {error}")
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        sys.exit(f"error: this needs {error.name}: pip install 'cycle-book[{extra}]' (in a clone: '.[{extra}]')")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; the same command resumes where it stopped")


def _abandon_ranks() -> None:
    """Tell the other ranks, if there are any."""
    watch = sys.modules.get("cycle.watch")
    if watch:
        watch.abandon()


if __name__ == "__main__":
    main()
