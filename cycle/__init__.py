"""CYCle: choosing collaborators wisely. Several parties train together without sharing data.

    import cycle
    parties = [cycle.Party(model, (inputs, labels)) for model, inputs, labels in mine]
    result = cycle.run(parties, test=(test_inputs, test_labels))
    result.report()                     # against the same parties alone

Reading order: metrics, reputation, sharing, distillation, partition, gossip, theory, defence
(rules: pure functions); options, samples, heard, party, state, rules (what a method works with);
private, gossip_sgd, server (the methods, one generator each), methods (their table); answers,
ranks, watch, fhe (how messages travel); store, files (on disk); play, collapse, front (the door).
Everything is imported when it is first named.
"""

import importlib
import pkgutil

__version__ = "0.2.0"

_DOOR = {"Party": "party", "Options": "options", "Rules": "rules", "Round": "state"}
_DOOR |= {"run": "front", "load": "front", "Result": "front", "Collapse": "collapse"}
_DOOR |= {"rounds": "play", "method": "methods"}


def __getattr__(name: str):
    if name in _DOOR:
        return getattr(importlib.import_module(f"cycle.{_DOOR[name]}"), name)
    if name in __dir__():
        return importlib.import_module(f"cycle.{name}")
    raise AttributeError(f"module 'cycle' has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted({*_DOOR, *(name for name in modules if not name.startswith("_"))})
