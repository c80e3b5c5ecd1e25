"""Source of the module as a chapter shows it: the rule, without the lines that only refuse bad input."""

import ast
import inspect
import textwrap

from IPython.display import Markdown


def rule(*functions) -> Markdown:
    """The code of these functions themselves, never a copy; says so where validation is left out."""
    shown, cut = zip(*[_without_validation(textwrap.dedent(inspect.getsource(one))) for one in functions], strict=True)
    text = "\n\n".join(shown)
    if any(cut):
        text += "\n# what checks the arguments is left out here"
    return Markdown(f"```python\n{text}\n```")


def _without_validation(source: str) -> tuple[str, bool]:
    """The source without statements that can only raise, and whether there were any."""
    lines = source.rstrip().splitlines()
    cut = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and _only_refuses(node):
            cut |= set(range(node.lineno, node.end_lineno + 1))
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in cut), bool(cut)


def _only_refuses(node: ast.stmt) -> bool:
    """Calls whose name begins with check; `if` and `for` around nothing but these and `raise`."""
    if isinstance(node, ast.If | ast.For):
        return all(isinstance(inner, ast.Raise) or _only_refuses(inner) for inner in node.body) and not node.orelse
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        return name.lstrip("_").startswith("check")
    return False
