"""Everything that private distillation refuses, one class for each kind of refusal."""


class FHEError(ValueError):
    """The parent of all refusals below."""


class MessageError(FHEError):
    """A message that must not be believed."""


class EmptyMessage(MessageError):
    """There is nothing in it."""


class TruncatedMessage(MessageError):
    """Its end is missing."""


class TamperedMessage(MessageError):
    """Its bytes are not what the sender authenticated."""


class ReplayedMessage(MessageError):
    """It, or a later one, was accepted before."""


class WrongParameters(MessageError):
    """It was made under other encryption parameters."""


class WrongKey(MessageError):
    """It was made for another key."""


class WrongParty(MessageError):
    """It is from somebody else, or for somebody else."""


class WrongRound(MessageError):
    """It belongs to another round."""


class WrongContent(MessageError):
    """It is of another kind or shape than was asked for, or does not decode to it."""


class InputRefused(FHEError):
    """Values to encrypt that are not finite, out of range or of the wrong shape."""


class UnsupportedLayer(FHEError):
    """A torch layer that is neither affine nor a square."""


class DepthExceeded(FHEError):
    """More multiplications in a row than the modulus chain has primes for."""


class RangeExceeded(FHEError):
    """A network whose values could wrap around the modulus."""


class SecretKeyRefused(FHEError):
    """Somebody tried to copy or pickle the owner of a secret key."""


class DecryptionFailed(FHEError):
    """What came out cannot be an answer: the signature of a wrong key or of overflow."""
