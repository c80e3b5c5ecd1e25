"""The table of methods: a new one is a generator (state, options, rules) -> rounds, and a name."""

from collections.abc import Callable
from dataclasses import dataclass

from cycle import gossip_sgd, private, server
from cycle.checks import check


@dataclass(frozen=True)
class Method:
    """A generator, and how it begins."""

    generator: Callable  # (state, options, rules) -> iterator of Round
    local_start: bool = False  # begins with `local_epochs` alone, as standalone does, bit for bit
    common_start: bool = False  # all participants begin from the same weights
    answers: bool = False  # exchanges answers: can be encrypted, and takes the rules for them
    models: bool = False  # exchanges models, and takes the rule `combine`


METHODS = {
    "standalone": Method(private.standalone, local_start=True),
    "vpdl": Method(private.vpdl, local_start=True, answers=True),
    "cycle": Method(private.cycle, local_start=True, answers=True),
    "fedavg": Method(server.fedavg, common_start=True, models=True),
    "gossip": Method(gossip_sgd.gossip, common_start=True, models=True),
    "cycle-gossip": Method(gossip_sgd.cycle_gossip, common_start=True, models=True),
}


def method(name: str, **how) -> Callable:
    """Register a generator under a name: @cycle.method("mine", local_start=True)."""

    def register(generator: Callable) -> Callable:
        METHODS[name] = generator.method = Method(generator, **how)
        return generator

    return register


def method_of(asked: str | Callable) -> Method:
    """By name, or by a generator: as it was registered, else one that takes all rules."""
    if callable(asked):
        return getattr(asked, "method", Method(asked, answers=True, models=True))
    known = isinstance(asked, str) and asked in METHODS
    check(known, "method", f"be one of {', '.join(METHODS)}, or a generator", asked)
    return METHODS[asked]
