"""The command line: list, run, table, data, bench."""

import argparse
import ctypes
import importlib
import json
import os
import sys

import pandas as pd
import torch

from cycle import ranks
from reproduction import catalogue, records, settings
from reproduction.data import datasets
from reproduction.draw import tables

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)
MOST_THREADS = 1024
BENCHMARKS = ("round", "scale", "theory", "fhe")


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


def _device(text: str) -> torch.device:
    try:
        if torch.device(text).type not in ("cpu", "cuda"):  # seeds and resuming are written for these
            raise ValueError("wants cpu or cuda")
        torch.ones(1, device=text).item()
    except Exception as error:  # each kind of device has its own way to say that it is not there
        raise argparse.ArgumentTypeError(f"{text!r} is not a device of this machine ({error})") from error
    return torch.device(text)


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks: it gives them back at once, and each training step faults them in again."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(M_MMAP_THRESHOLD, 2**30)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def list_experiments(arguments) -> None:
    print(tables.coverage().to_string(index=False))
    print("\nMethods, splits and variants of each, for --methods, --splits and --variants:")
    for name, experiment in catalogue.EXPERIMENTS.items():
        variants = ",".join(variant or settings.UNCHANGED for variant in experiment.variants)
        print(f"  {name:24} {','.join(experiment.methods)}  {','.join(experiment.splits)}  {variants}")
    hours = catalogue.PAPER_HOURS_PER_RUN
    print(
        f"\nAt the paper's own {hours} hours a run on one A100, one seed of profile `paper` takes (estimated, not run):"
    )
    for name in catalogue.EXPERIMENTS:
        print(f"  {name:22} {hours * len(list(catalogue.runs_of(name, 'paper'))):4.0f} h")
    print("\nProfiles:")
    for name, profile in settings.PROFILES.items():
        print(f"  {name:7} {profile.about}")


def run(arguments) -> None:
    keep_freed_memory()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    chosen = arguments.methods, arguments.splits, arguments.variants
    selected = catalogue.runs_of(arguments.name, arguments.profile, arguments.seed, *chosen)
    if arguments.privacy:
        selected = {
            run.path: run for run in (settings.with_privacy(run, arguments.privacy) for run in selected)
        }.values()
    selected = list(selected)
    if not selected:
        raise ValueError(f"methods, splits and variants leave no run of {arguments.name} (see `list`)")
    device = ranks.join()
    for selected_run in selected:
        records.execute(selected_run, arguments.name, device=arguments.device or device)
    if ranks.leave():
        table(arguments)


def table(arguments) -> None:
    frame = tables.summary(arguments.name, arguments.profile)
    if not frame.empty:
        print(frame.to_string(index=False))
        print("CGS in the paper's printed convention (1/N). ± is the sample deviation over seeds.")
    print(tables.provenance_line(arguments.name, arguments.profile))


def data(arguments) -> None:
    loaded = datasets.load(arguments.name, "cpu")
    print(f"{loaded.name}: {len(loaded.train_labels)} training and {len(loaded.test_labels)} test images, verified")
    print(f"SHA-256 of pixels and labels: {loaded.hash}")


def bench(arguments) -> None:
    measured = importlib.import_module(f"reproduction.bench.{arguments.name}").measure()
    if arguments.json:
        print(json.dumps(measured))
    else:
        print(pd.Series(measured).to_string())


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(
        prog="python -m cycle", description="Run, resume and read the experiments of the CYCle book."
    )
    verbs = main.add_subparsers(required=True, metavar="VERB")
    verb = verbs.add_parser("list", help="what exists and what has been run")
    verb.set_defaults(do=list_experiments)

    def experiment_verb(name, do, description):
        verb = verbs.add_parser(name, help=description, description=description)
        verb.add_argument("name", metavar="NAME", choices=catalogue.EXPERIMENTS, help="an experiment (see `list`)")
        verb.add_argument("--profile", default="smoke", choices=settings.PROFILES, help="the scale (default smoke)")
        verb.set_defaults(do=do)
        return verb

    verb = experiment_verb("run", run, "run what is not recorded yet, resume what was interrupted, print the table")
    verb.add_argument("--seed", type=_seeds, default="0", help="one seed or several with commas (default 0)")
    verb.add_argument("--device", type=_device, help="cpu, cuda, cuda:1, ... (default: CUDA where there is one)")
    verb.add_argument("--methods", type=_names, help="only these, with commas, e.g. standalone,cycle")
    verb.add_argument("--splits", type=_names, help="only these, with commas, e.g. homogeneous,imbalanced-0.6-1")
    verb.add_argument("--variants", type=_names, help="only these, with commas, e.g. unchanged,per-peer (see `list`)")
    verb.add_argument(
        "--privacy", choices=("plain", "fhe"), help="how answers travel (default: as the experiment says)"
    )
    verb.add_argument("--threads", type=_threads, help="CPU threads (one thread each for runs side by side)")
    experiment_verb("table", table, "ours beside the paper's, from what is recorded")
    verb = verbs.add_parser("data", help="fetch a data set and verify it")
    verb.add_argument("name", metavar="NAME", choices=datasets.DATASETS, help=", ".join(datasets.DATASETS))
    verb.set_defaults(do=data)
    verb = verbs.add_parser("bench", help="measure speed, as ratios within one run, and what more participants cost")
    verb.add_argument("name", metavar="NAME", choices=BENCHMARKS, help=", ".join(BENCHMARKS))
    verb.add_argument("--json", action="store_true", help="one JSON object of plain numbers")
    verb.set_defaults(do=bench)
    return main


def main() -> None:
    arguments = parser().parse_args()
    try:
        arguments.do(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read along (head, less) has seen enough
        os._exit(0)
    except (ValueError, OSError, FloatingPointError) as error:
        ranks.abandon()
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; the same command resumes where it stopped")


if __name__ == "__main__":
    main()
