"""Everything that private distillation refuses, one class for each kind of refusal."""

from contextlib import contextmanager


class FHEError(ValueError):
    """The parent of all refusals below."""


class MessageError(FHEError):
    """A message that must not be believed."""


class TruncatedMessage(MessageError):
    """Its end is missing."""


class TamperedMessage(MessageError):
    """Its bytes are not what the sender authenticated."""


class ReplayedMessage(MessageError):
    """It, or a later one, was accepted before."""


class WrongEnvelope(MessageError):
    """It is from or for somebody else, of another round, kind or shape, under another key."""


class WrongContent(MessageError):
    """Its payload is not of the form that was agreed on."""


class KeysRefused(MessageError):
    """Public keys that hide nothing, or that a process of its own could not compute with."""


class InputRefused(FHEError):
    """Samples or a network that encryption cannot carry: their form, size or range."""


class DecryptionFailed(FHEError):
    """What came out cannot be an answer: the signature of a wrong key or of overflow."""


class AnswerRefused(FHEError):
    """An answer that its receiver has to do without; `sender` is whose message was at fault."""

    def __init__(self, sender: int, reason: Exception):
        super().__init__(f"from participant {sender}: {reason}")
        self.sender = sender


@contextmanager
def seal_refusals(kind: type[FHEError], doing: str):
    """What SEAL raises becomes a refusal of this kind that says what was being done."""
    try:
        yield
    except FHEError:
        raise
    except (RuntimeError, ValueError, IndexError, OverflowError, MemoryError) as error:
        raise kind(f"SEAL cannot {doing}: {error}") from None
