"""Private distillation under CKKS: answers are computed on encrypted samples and read by their owner only."""

from cycle.fhe.channel import EncryptedChannel
from cycle.fhe.errors import FHEError
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.meter import TrafficMeter
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

__all__ = ["EncryptedChannel", "Evaluator", "FHEError", "KeyOwner", "Params", "PolyNet", "TrafficMeter"]
