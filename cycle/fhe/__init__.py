"""Private distillation under CKKS: answers are computed on encrypted samples, read by their owner.

Read in this order: params, residues, polynet (what is computed), wire and message (what travels),
owner, keys and evaluator (who computes), channel (how a run uses them).
"""

import importlib.util

if importlib.util.find_spec("tenseal") is None:
    told = "encryption needs tenseal: pip install 'cycle-book[fhe]' (in a clone: '.[fhe]')"
    raise ModuleNotFoundError(told, name="tenseal")

from cycle.fhe.channel import EncryptedChannel
from cycle.fhe.errors import FHEError
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

__all__ = ["EncryptedChannel", "Evaluator", "FHEError", "KeyOwner", "Params", "PolyNet"]
