"""The API reference: a page for each module of `cycle`, written when the build begins; `modules` lists them."""

import ast
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "book" / "appendix" / "api"
PAGE = """# `{module}`

## {purpose}

```{{eval-rst}}
.. automodule:: {module}
   :members:
   :undoc-members:
   :member-order: bysource
```
"""


def modules(package: str) -> dict[str, str]:
    """Every module of it that can be imported, with the first line of its docstring."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if parts[-1] != "__main__" and (text := ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))):
            found[name] = text.splitlines()[0].rstrip(".:")
    return found


def write() -> None:
    """A page for each module of `cycle`; none for one that is gone. What would not change stays as it is."""
    PAGES.mkdir(exist_ok=True)
    pages = {f"{name}.md": PAGE.format(module=name, purpose=purpose) for name, purpose in modules("cycle").items()}
    for path in PAGES.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = PAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class Modules(SphinxDirective):
    """A table of the modules of one package: name, purpose."""

    required_arguments = 1

    def run(self):
        package = self.arguments[0]
        lines = ["| module | what it holds |", "|---|---|"]
        for name, purpose in modules(package).items():
            shown = f"[`{name}`](/book/appendix/api/{name}.md)" if package == "cycle" else f"`{name}`"
            lines.append(f"| {shown} | {purpose.replace('|', chr(92) + '|')} |")
        container = nodes.container()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, container)
        return [container]


def setup(app):
    write()  # before the table of contents is read
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
