"""What a round costs as participants come: seconds, bytes and memory against N, and the cost model fitted to them.

`python -m reproduction.bench.scale` records results/bench/scale.json, from which the chapter on growth draws.
"""

import gc
import itertools

import numpy as np
import torch
from scipy.optimize import nnls
from sklearn.metrics import r2_score

from cycle.options import Options
from cycle.party import Party
from cycle.play import rounds
from cycle.sharing import BYTES_PER_NUMBER
from reproduction import models, records
from reproduction.bench.recording import clock, steps, write
from reproduction.data import datasets

SIZES = (2, 4, 8, 16, 32, 64)
SAMPLES, CLASSES, WIDTH = 20, 10, 256  # digits of each participant; hidden units of its network
PARAMETERS = 64 * WIDTH + WIDTH + WIDTH * CLASSES + CLASSES
BUDGET = 0.6  # seconds of rounds of one kind and size; at least three rounds
NEVER = 10**6  # a period that calibrates in round 0 only
KINDS = {  # of rounds: method, and options that make every round after the first one of that kind
    "standalone": ("standalone", {}),
    "vpdl": ("vpdl", {}),
    "cycle": ("cycle", {"period": NEVER}),
    "cycle calibrating": ("cycle", {"period": 1}),
    "complete": ("gossip", {}),
    "ring": ("gossip", {"topology": "ring"}),
    "cycle-gossip": ("cycle-gossip", {"period": NEVER}),
    "cycle-gossip calibrating": ("cycle-gossip", {"period": 1}),
}
PRESENT, POPULATIONS = 20, (100, 300, 1000)  # partial participation, measured for gossip
PARTIAL = {"complete, 20 present": "complete", "cycle-gossip, 20 present": "cycle-gossip"}
RECORD = records.RESULTS / "bench" / "scale.json"
STATE = ("standalone", "vpdl", "complete")  # kinds whose memory is measured; it does not depend on the masks


def measure(sizes=SIZES, populations=POPULATIONS) -> dict[str, float]:
    """`seconds|kind|N`, `messages|kind|N` and `bytes|kind|N` of one round, `memory|kind|N` in bytes.

    Everybody is present at `sizes`, 20 at `populations`. Of several rounds the fastest is taken, in processor time:
    what else runs on the machine should not count.
    """
    gc.collect()
    gc.freeze()  # what is here already holds none of the tensors to be counted, and need not be searched each time
    asked = [(kind, n) for n, kind in itertools.product(sizes, KINDS)]
    found = {}
    for label, n in steps([*asked, *((label, n) for n in populations for label in PARTIAL)], "kinds and sizes"):
        some = {"participation": PRESENT / n} if label in PARTIAL else {}
        measured = _round(PARTIAL.get(label, label), n, **some)
        found |= {f"{name}|{label}|{n}": value for name, value in measured.items()}
    gc.unfreeze()
    return found


def _round(kind: str, n: int, **more) -> dict[str, float]:
    method, changes = KINDS[kind]
    options = Options(local_epochs=0, rounds=NEVER, batch_size=SAMPLES, lr=0.01, lr_every=NEVER, **changes, **more)
    empty = tensor_bytes() if kind in STATE else 0
    made = rounds(_parties(n), method, options)
    next(made)
    found = []
    while len(found) < 3 or sum(seconds for seconds, *_ in found) < BUDGET:
        began = clock()
        done = next(made)
        seconds = clock() - began
        sent = [size for index, _, _, size in done.ledger.entries if index == done.index]
        found.append((seconds, len(sent), sum(sent)))
    measured = dict(zip(("seconds", "messages", "bytes"), min(found), strict=True))
    if kind in STATE:
        measured["memory"] = tensor_bytes() - empty
    return measured


def _parties(n: int) -> list[Party]:
    digits = datasets.load("digits")
    rows = np.arange(n * SAMPLES) % len(digits.train_labels)  # in a large population some hold the same digits
    parts = ((digits.train_images[part], digits.train_labels[part]) for part in rows.reshape(n, SAMPLES))
    networks, pixels = (models.build("mlp", digits.in_shape, CLASSES, WIDTH) for _ in range(n)), datasets.Pixels(digits)
    return [Party(model, part, prepare=pixels) for model, part in zip(networks, parts, strict=True)]


def tensor_bytes() -> int:
    """Bytes of all tensors that the garbage collector knows, gradients included, each storage once."""
    gc.collect()
    storages = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.Tensor):
            for tensor in (thing, thing.grad if thing.is_leaf else None):
                if tensor is not None:
                    storage = tensor.untyped_storage()
                    storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def series(measured: dict, name: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The sizes and the values of one measurement, e.g. (seconds, vpdl)."""
    pairs = [(int(key.split("|")[2]), value) for key, value in measured.items() if key.startswith(f"{name}|{kind}|")]
    sizes, values = zip(*sorted(pairs), strict=True)
    return np.array(sizes), np.array(values, dtype=float)


def fit(measured: dict, kind: str) -> dict[str, float]:
    """seconds = participant N + message M for M messages in a round; least squares on relative errors, none negative.

    `r2` is the part of the variance that this explains, `worst` the largest relative error.
    """
    sizes, seconds = series(measured, "seconds", kind)
    _, messages = series(measured, "messages", kind)
    design = np.stack([sizes, messages], axis=1)
    (participant, message), _ = nnls(design / seconds[:, None], np.ones(len(sizes)))
    modelled = design @ (participant, message)
    worst = float(np.abs(modelled / seconds - 1).max())
    return {"participant": participant, "message": message, "r2": r2_score(seconds, modelled), "worst": worst}


def bookkeeping(measured: dict) -> float:
    """Seconds for each participant of the population, present or not, by least squares; a line fits up to 1,000."""
    return float(np.polyfit(*series(measured, "seconds", "complete, 20 present"), 1)[0])


def message_bytes(kind: str) -> int:
    """Bytes of one message: answers are logits for each of the receiver's samples, gossip sends all parameters."""
    return BYTES_PER_NUMBER * (PARAMETERS if KINDS[kind][0] in ("gossip", "cycle-gossip") else SAMPLES * CLASSES)


def state_bytes(kind: str) -> int:
    """What a participant should take: its models (one copy more where it collaborates), gradient, momentum, data."""
    models = 1 if kind == "standalone" else 2
    return BYTES_PER_NUMBER * PARAMETERS * (models + 2) + SAMPLES * (64 + 8)


def memory_slope(measured: dict, kind: str) -> tuple[float, float]:
    """Bytes a participant, by least squares over N, and r2."""
    sizes, memory = series(measured, "memory", kind)
    line = np.polyfit(sizes, memory, 1)
    return float(line[0]), r2_score(memory, np.polyval(line, sizes))


if __name__ == "__main__":
    write(RECORD, "python -m reproduction.bench.scale", measure)
