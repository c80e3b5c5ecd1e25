"""From parties to rounds: everybody checked and in place, then a method's generator."""

from collections.abc import Callable, Iterator

import torch

from cycle.checks import check, check_choice, check_kind, check_whole, short
from cycle.methods import method_of
from cycle.options import Options
from cycle.party import Party
from cycle.ranks import Ranks
from cycle.rules import Rules
from cycle.sharing import Ledger
from cycle.state import Round, State
from cycle.weights import assign, mixed_tensors


def rounds(
    parties: list[Party],
    method: str | Callable = "cycle",
    options: Options | None = None,
    *,
    seed: int = 0,
    device: str | torch.device = "auto",
    **rules: Callable,
) -> Iterator[Round]:
    """The rounds of a method, one at a time: look inside, stop, plug in a logger.

    `rules` are the functions of `Rules` by name (score, weigh, share, count, combine), the others
    the paper's or, without `options`, the recommended. Parties are trained in place, their data
    never changed.
    """
    options, chosen = chosen_for(method, options, rules)
    state = begin(parties, method, options, seed, device)
    return play(state, method, options, chosen)


def begin(parties, method, options: Options, seed: int = 0, device="auto") -> State:
    """Everybody checked and in place, nothing learned."""
    check_parties(parties)
    check_kind(options, "options", Options, "cycle.Options(...)")
    check_whole(seed, "seed", 0)
    same, device, ranks = method_of(method).common_start, device_of(device), Ranks.of(len(parties))
    for n, party in enumerate(parties):
        party.index, party.seed = n, seed
    here = [parties[n].join(options, device) for n in ranks.here]
    if same or options.common_start:
        same_weights(parties[0], here)
    return State(list(parties), seed, ranks, Ledger(len(parties)), classes_of(here), device)


def play(
    state: State, method: str | Callable, options: Options, rules: Rules | None = None
) -> Iterator[Round]:
    """The rounds of a method from a state."""
    chosen = method_of(method)
    plain = options.privacy == "plain" or chosen.answers
    check(plain, "privacy", f"be plain for {method}, which sends in clear", options.privacy)
    done = chosen.generator(state, options, rules or Rules())
    check_kind(done, "method", Iterator, f"a generator ({short(method)} is none)")
    return done


def chosen_for(method, options: Options | None, given: dict[str, Callable]) -> tuple:
    """Options, and rules where none is given: the paper's, or the recommended without options."""
    for name in given:
        check_choice(name, "rules", Rules.__dataclass_fields__)
        what = "models" if name == "combine" else "answers"
        if not getattr(method_of(method), what):
            raise ValueError(f"{name} must not be given for {method}, which exchanges no {what}")
    if options is None:
        return Options.recommended(), Rules.recommended(**given)
    return options, Rules(**given)


def check_parties(parties) -> None:
    """Two or more, each with a model of its own."""
    check_kind(parties, "parties", list | tuple, "a list of cycle.Party")
    for party in parties:
        check_kind(party, "parties", Party, "a list of cycle.Party")
    check(len(parties) > 1, "parties", "be two or more", len(parties))
    if len({id(party.model) for party in parties}) < len(parties):
        raise ValueError("parties must each have a model of its own: copy.deepcopy(model)")


def device_of(asked: str | torch.device) -> torch.device:
    """`auto` is CUDA where there is one."""
    if isinstance(asked, str) and asked == "auto":
        asked = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(1, device=torch.device(asked)).device
    except Exception as error:  # each kind of device has its own way to say that it is not there
        got = f"{short(asked)} ({short(str(error))})"
        raise ValueError(f"device must be 'auto' or one of this machine, got {got}") from None


def same_weights(first: Party, parties: list[Party]) -> None:
    """All with the first one's weights, where there is one architecture."""
    weights = [tensor.detach().clone() for tensor in mixed_tensors(first.model)]
    for party in parties:
        tensors = mixed_tensors(party.model)
        if [t.shape for t in tensors] != [t.shape for t in weights]:
            raise ValueError(
                f"parties: {party} has another architecture than {first}; a method that averages "
                "models needs one architecture (vpdl and cycle do not: they exchange answers)"
            )
        assign(tensors, weights)


@torch.no_grad()
def classes_of(parties: list[Party]) -> int:
    """How many classes everybody tells apart: the width of the logits, the same for all."""
    widths = {}
    for party in parties:
        asked = "prepare(inputs, augment)"
        try:
            inputs = party.prepare(party.inputs[:1].clone(), False)
            asked = "the model"
            logits = party.model.eval()(inputs)
        except Exception as error:
            what = f"{asked} of {party} cannot take its own inputs ({error})"
            if party.inputs.dtype == torch.uint8:
                what += "; bytes are scaled as images: use int64 for token ids"
            raise ValueError(f"parties: {what}") from error
        shape, most = tuple(logits.shape), int(party.labels.max())
        fits = len(shape) == 2 and shape[1] > 1
        must = "give [sample, class], one output a class"
        check(fits, f"parties: model of {party}", must, shape)
        check(most < shape[1], f"parties: labels of {party}", f"be below {shape[1]} classes", most)
        loss = party.loss(logits, party.labels[:1])
        one = torch.is_tensor(loss) and loss.dim() == 0
        check(one, f"loss of {party}", "give one number in a tensor", loss)
        widths[f"P{party.index + 1}"] = shape[1]
    check(len(set(widths.values())) == 1, "parties", "all tell the same classes apart", widths)
    return shape[1]
