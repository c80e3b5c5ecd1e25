"""Sentences with numbers: filled when the book is built, checked against what they were filled from."""

import math
import string

from IPython.display import Markdown

MINUS = "−"


class _Filled(string.Formatter):
    """Fills {name:.1f} from what was computed; refuses what is undefined, misspelt or left over."""

    def get_field(self, field, args, kwargs):
        value, first = super().get_field(field, args, kwargs)
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"{field} must be a number to stand in a sentence, got {value}")
        return value, first

    def format_field(self, value, spec):
        text = super().format_field(value, spec)
        return text if isinstance(value, str) else text.replace("-", MINUS).replace("%", "\u00a0%")

    def check_unused_args(self, used, args, kwargs):
        if left := sorted(set(kwargs) - {str(name).split(".")[0] for name in used}):
            raise ValueError(f"values must all stand in the text, got {', '.join(left)} besides")


def filled(text: str, **values) -> str:
    """The text with its {name:.1f} filled; a brace of mathematics is doubled."""
    return _Filled().vformat(" ".join(text.split(" ")).strip(), (), values)


def say(text: str, **values) -> Markdown:
    """A paragraph (or several) whose numbers come from `values`: say("{losers} of {runs} lose.", losers=3, runs=5)."""
    return Markdown(filled(text, **values))


def answer(text: str, **values) -> Markdown:
    """**The answer** of a chapter, in three sentences with numbers; stands before its first figure."""
    return Markdown(f'<div class="cycle-answer">\n\n**The answer.** {filled(text, **values)}\n\n</div>')


def check(sentence: str, holds) -> None:
    """Beside a sentence that asserts an order or a sign: stops the book where the records contradict it."""
    if not bool(holds):
        raise AssertionError(f"the records contradict: {sentence}")
