"""The table of methods: a new one is one generator and one line here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cycle import gossip_training, training
from cycle.options import Options
from cycle.participants import Task
from reproduction import baselines


@dataclass(frozen=True)
class Method:
    """A generator (task, options, state) -> rounds, and how it begins."""

    generator: Callable[[Task, Options, training.State], Iterator[training.Round]]
    local_start: bool = False  # begins with `local_epochs` epochs alone, which it shares with standalone bit for bit
    common_start: bool = False  # all participants begin from the same weights
    private: bool = False  # answers can be computed under encryption
    refusal: bool = False  # knows participants who refuse to answer
    ranks: bool = False  # knows that others may live on another rank


METHODS = {
    "standalone": Method(training.standalone, local_start=True, ranks=True),
    "echo": Method(training.echo, local_start=True, ranks=True),
    "blank": Method(training.blank, local_start=True, ranks=True),
    "vpdl": Method(training.vpdl, local_start=True, private=True, ranks=True),
    "cycle": Method(training.cycle, local_start=True, private=True, refusal=True, ranks=True),
    "fedavg": Method(baselines.fedavg, common_start=True, ranks=True),
    "cffl": Method(baselines.cffl, common_start=True, ranks=True),
    "rffl": Method(baselines.rffl, common_start=True, ranks=True),
    "cgsv": Method(baselines.cgsv, common_start=True, ranks=True),
    "gossip": Method(gossip_training.gossip, common_start=True, ranks=True),
    "cycle-gossip": Method(gossip_training.cycle_gossip, common_start=True, ranks=True),
}


def play(
    name: str, task: Task, options: Options, state: training.State | None = None, rules: training.Rules | None = None
) -> Iterator[training.Round]:
    """The rounds of a method by its name, from the start or from a state."""
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    if options.privacy != "plain" and not METHODS[name].private:
        raise ValueError(f"privacy must be plain for {name}, whose messages travel in clear, got {options.privacy!r}")
    refusing = {*options.silent, *options.forced_only}
    if refusing and not METHODS[name].refusal:
        raise ValueError(f"silent and forced_only must be empty for {name}, got {sorted(refusing)}")
    if refusing and max(refusing) >= task.n:
        raise ValueError(f"silent and forced_only must be below n = {task.n}, got {sorted(refusing)}")
    state = state or training.start(task, options, METHODS[name].common_start)
    if state.ranks.size > 1 and not METHODS[name].ranks:
        raise ValueError(f"method must be one that knows ranks to run on several of them, got {name!r}")
    if rules is None:
        return METHODS[name].generator(task, options, state)
    if not METHODS[name].private:
        raise ValueError(f"rules must be None for {name}, which knows no answers")
    if rules.says and state.ranks.size > 1:
        raise ValueError("says must be empty with several ranks: liars are simulated in one process")
    return METHODS[name].generator(task, options, state, rules)
