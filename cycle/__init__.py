"""Choosing Your Collaborators Wisely: a thin, runnable implementation of the CYCle protocol.

`import cycle` is enough: cycle.reputation, cycle.metrics, ... are imported when they are first named.
"""

import importlib
import pkgutil

__version__ = "0.1.0"


def __getattr__(name: str):
    if name in __dir__():
        return importlib.import_module(f"cycle.{name}")
    raise AttributeError(f"module 'cycle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
