"""From parties to rounds: the front door's generator."""

from collections.abc import Callable, Iterator

import torch

from cycle.checks import check_whole, short
from cycle.methods import Method, method_of
from cycle.options import Options
from cycle.party import Party
from cycle.rules import Rules
from cycle.state import Round, State, start


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

        for done in cycle.rounds(parties, "cycle", options):
            print(done.index, done.reputation)
    """
    chosen = rules_for(method, options, rules)
    options = Options.recommended() if options is None else options
    state = begin(parties, method, options, seed, device)
    return play(state, method, options, chosen)


def begin(parties, method, options: Options, seed: int = 0, device="auto") -> State:
    """Everybody checked and in place."""
    check_parties(parties)
    if not isinstance(options, Options):
        raise ValueError(f"options must be cycle.Options(...), got {type(options).__name__}")
    check_whole(seed, "seed", 0)
    common_start = method_of(method).common_start
    return start(list(parties), options, seed, device_of(device), common_start)


def check_parties(parties) -> None:
    if not isinstance(parties, list | tuple):
        raise ValueError(f"parties must be a list of cycle.Party, got {type(parties).__name__}")
    wrong = [type(party).__name__ for party in parties if not isinstance(party, Party)]
    if wrong:
        raise ValueError(f"parties must be a list of cycle.Party, got {wrong[0]}")
    if len({id(party.model) for party in parties}) < len(parties):
        raise ValueError("parties must each have a model of its own: copy.deepcopy(model)")


def play(
    state: State, method: str | Callable, options: Options, rules: Rules | None = None
) -> Iterator[Round]:
    """The rounds of a method from a state."""
    chosen: Method = method_of(method)
    if options.privacy != "plain" and not chosen.answers:
        raise ValueError(
            f"privacy must be plain for {method}, which sends in clear, got {options.privacy!r}"
        )
    done = chosen.generator(state, options, rules or Rules())
    if not isinstance(done, Iterator):
        raise ValueError(f"method must be a generator, {short(method)} gives {type(done).__name__}")
    return done


def device_of(asked: str | torch.device) -> torch.device:
    """`auto` is CUDA where there is one."""
    if isinstance(asked, str) and asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(asked)
        torch.empty(1, device=device)
    except Exception as error:  # each kind of device has its own way to say that it is not there
        got = f"{short(asked)} ({short(str(error))})"
        raise ValueError(f"device must be 'auto' or one of this machine, got {got}") from None
    return device


def rules_for(method, options: Options | None, given: dict[str, Callable]) -> Rules:
    """Those given; for the others the paper's or, as with options, the recommended for None."""
    unknown = set(given) - set(Rules.__dataclass_fields__)
    if unknown:
        known = ", ".join(Rules.__dataclass_fields__)
        raise ValueError(f"rules must be among {known}, got {', '.join(sorted(unknown))}")
    chosen = method_of(method)
    for name in given:
        if not (chosen.models if name == "combine" else chosen.answers):
            what = "models" if name == "combine" else "answers"
            raise ValueError(f"{name} must not be given for {method}, which exchanges no {what}")
    return Rules.recommended(**given) if options is None else Rules(**given)
