"""The API page from docstrings that are plain text: what looks like markup in them is not meant as such."""

import ast
import inspect
import re
import sys
from functools import cache

import sphinx.pycode.parser

# Our comments beside fields and constants are ordinary ones (#), Sphinx takes those marked for it only (#:).
sphinx.pycode.parser.comment_re = re.compile(r"^\s*#:?\s*(?!fmt:|noqa)(.*)\r?\n?$")
MARKUP = re.compile(r"`([^`]+)`|[\\*|_]")


@cache
def constants(module: str) -> list[str]:
    """The names that a module assigns itself: a constant does not say where it was imported from."""
    assigned = []
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        assigned += [target.id for target in targets if isinstance(target, ast.Name)]
    return assigned


def skip_imported(app, what, name, obj, skip, options):
    """Functions and classes know their module, and Sphinx skips imported ones by itself; constants do not."""
    module = app.env.temp_data.get("autodoc:module")
    return True if what == "module" and not callable(obj) and name not in constants(module) else None


def as_plain_text(app, what, name, obj, options, lines):
    """`code` stays code, everything else is escaped; dataclasses without a docstring have their signature as one."""
    if what == "module" and (public := [constant for constant in constants(name) if not constant.startswith("_")]):
        lines += [f"Constants: {', '.join(f'`{constant}`' for constant in public)}.", ""]
    if lines and lines[0].startswith(f"{name.rsplit('.', 1)[-1]}("):
        lines.clear()
    example = False  # from >>> to the next empty line, shown as it is
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[number] = MARKUP.sub(lambda found: f"``{found[1]}``" if found[1] else f"\\{found[0]}", line)


def setup(app):
    app.connect("autodoc-skip-member", skip_imported)
    app.connect("autodoc-process-docstring", as_plain_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
