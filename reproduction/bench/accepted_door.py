"""What the front door accepts: the options, and parties that are run for one round."""

import numpy as np
from torch import nn

import cycle
from reproduction.bench.arguments import call, choice, either, flag, scalar, whole

COUNT, POSITIVE, NOT_NEGATIVE = whole(0), scalar(most=np.inf, above=0, below=np.inf), scalar(0, np.inf, below=np.inf)
OPTIONS = {
    **dict.fromkeys(("local_epochs", "warmup", "local_steps"), COUNT),
    **dict.fromkeys(("batch_size", "lr_every", "period", "score_samples", "epochs_per_round"), whole(1)),
    **dict.fromkeys(("lr", "lr_decay", "temperature", "own_temperature"), POSITIVE),
    **dict.fromkeys(("clip_norm", "bound"), either(None, POSITIVE)),
    **dict.fromkeys(("weight_decay", "lambda_0", "beta"), NOT_NEGATIVE),
    **dict.fromkeys(("momentum", "alpha"), scalar(0, below=1)),
    **dict.fromkeys(("common_start", "augment", "self_loops", "mix_buffers"), flag),
    "rounds": COUNT,
    "participation": scalar(most=1, above=0),
    "tau_opt": scalar(-np.inf, above=-np.inf, below=0.75),
    "tau_max": scalar(most=np.inf, above=0.25, below=np.inf),
    "decay_from": choice("start", "rounds"),
    "normalisation": choice("mean", "per_peer"),
    "privacy": choice("plain", "fhe"),
    "link_rule": choice("weight", "relative"),
    "alignment": choice("gradients", "updates"),
}


def door(model, data, optimizer, prepare, loss, name, parties=None, **arguments):
    """One round of two parties, of which one is made of these arguments."""
    one = cycle.Party(model, data, optimizer=optimizer, prepare=prepare, loss=loss, name=name)
    return cycle.run([one, cycle.Party(nn.Linear(2, 2), DATA)] if parties is None else parties, **arguments).shares


DATA = np.ones((4, 2), np.float32), [0, 1, 0, 1]
RIGHT = cycle.Options()
PERHAPS = None, lambda x: None  # some of what comes may be data, or a model's name
NETWORK = nn.Linear(2, 2)
CALLS = [
    call(cycle.Options, **{name: (getattr(RIGHT, name), allowed) for name, allowed in OPTIONS.items()}),
    call(
        door,
        model=(NETWORK, lambda x: isinstance(x, nn.Module)),
        data=(DATA, lambda x: None),
        test=PERHAPS,
        optimizer=(None, either(None, lambda x: False)),
        prepare=(None, either(None, lambda x: False)),
        loss=(None, either(None, lambda x: False)),
        name=(None, either(None, lambda x: isinstance(x, str))),
        parties=(None, either(None, lambda x: False)),
        method=("vpdl", choice("cycle", "vpdl")),
        options=(cycle.Options(local_epochs=0, rounds=1), either(None, lambda x: isinstance(x, cycle.Options))),
        seed=(0, whole(0)),
        device=("cpu", choice("cpu", "auto")),
        callback=(None, lambda x: x is None or callable(x)),
        progress=(False, flag),
    ),
]
