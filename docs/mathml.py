"""Mathematics as MathML, which browsers draw by themselves: no script, no network, readable in print and to screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["mathml", "setup"]

_ALIGNED = re.compile(r"\\begin\{(aligned|align\*?|split)\}(.*)\\end\{\1\}", flags=re.DOTALL)
#: What the converter does not read, and what says the same.
_WORDS = ((r"\\\\\[[^\]]*\]", r"\\\\"), (r"(\\[bB]igg?[lr]?\s*)?\\\|", r"\\Vert "))


def mathml(latex: str, display: str) -> str:
    """One formula; rows of an alignment as rows of a table, of which the converter knows nothing.

    Raises
    ------
    ValueError
        A command that the converter leaves as it is.
    """
    for written, read in _WORDS:
        latex = re.sub(written, read, latex)
    found = _ALIGNED.fullmatch(latex.strip())
    if found is None:
        body = _cell(latex.strip())
    else:
        rows = [_columns(row) for row in _split(found[2], r"\\")]
        body = f"<mtable displaystyle='true'>{''.join(rows)}</mtable>"
    left = re.search(r"\\[a-zA-Z|]+|merror", body)
    if left is not None:
        raise ValueError(f"{left[0]} is not read in {latex!r}")
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="{display}">{body}</math>'


def _columns(row: str) -> str:
    """One row: its columns end and begin at the same line by turns."""
    cells = _split(row, "&")
    sides = ("right", "left")
    made = (f"<mtd style='text-align: {sides[k % 2]}; padding: .25em 0'>{_cell(c.strip())}</mtd>" for k, c in enumerate(cells))
    return f"<mtr>{''.join(made)}</mtr>"


def _cell(latex: str) -> str:
    return re.sub(r"^<math[^>]*>|</math>$", "", convert(latex or "{}", display="block"))


def _split(text: str, mark: str) -> list[str]:
    """Parts between marks outside of braces and environments."""
    parts, depth, begin = [], 0, 0
    for at, step in _steps(text, mark):
        depth += step
        if step == 0 and depth == 0:
            parts.append(text[begin:at])
            begin = at + len(mark)
    return [*parts, text[begin:]]


def _steps(text: str, mark: str) -> Iterator[tuple[int, int]]:
    """Where something opens (1), closes (-1), or the mark stands (0)."""
    pattern = rf"(?P<open>\\begin\b|(?<!\\)\{{)|(?P<close>\\end\b|(?<!\\)\}})|(?P<mark>{re.escape(mark)})"
    for found in re.finditer(pattern, text):
        yield found.start(), {"open": 1, "close": -1, "mark": 0}[found.lastgroup or "mark"]


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math" tabindex="0">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """A renderer named ``mathml``."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True}
