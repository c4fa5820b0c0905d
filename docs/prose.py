"""Formulas within the sentences of the pages: ``x_i'w`` of the source is xᵢᵀw on the site."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

from marginopt.models.statement import typeset

__all__ = ["set_scripts", "setup"]

#: Pages that are written by hand.
_WRITTEN = ("explanation/", "how-to/", "tutorials/", "reference/conventions", "index", "benchmarks", "book")
#: Text in these is left as it is.
_CLOSED = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)
#: A block without a language is a formula if it has one of these signs.
_FORMULA = re.compile(r"[Σ≤≥½]")
#: Subscripts and superscripts that have no letter of their own: μ_e, ‖w‖_1, L_{i, x}, λ^k, 2^-15.
_SCRIPT = re.compile(
    r"(?<=[^\W\d_]|[‖Σ])_(?:\{([^{}]+)\}|([A-Za-z0-9Α-ω]{1,5}(?![\w])|[+-](?=\s)))"
    r"|(?<=\w)\^(?:\{([^{}]+)\}|(-?[A-Za-z0-9]{1,5})(?![A-Za-z0-9_]))"
)


def _set(app: Any, doctree: nodes.document) -> None:
    """Set the formulas of a page's sentences and of its indented blocks."""
    if not app.env.docname.startswith(_WRITTEN):
        return
    for text in list(doctree.findall(nodes.Text)):
        if not any(isinstance(node, _CLOSED) for node in _ancestors(text)):
            plain = text.astext().replace("’", "'")  # primes have become quotation marks
            text.parent.replace(text, set_scripts(typeset(plain).replace("'", "’")))
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") in (None, "none", "default", "text") and _FORMULA.search(block.astext()):
            formula = typeset(block.astext())
            block.rawsource, block.children = "", []  # no highlighting
            block.extend(set_scripts(formula))


def set_scripts(text: str) -> list[nodes.Node]:
    """Return text as nodes, subscripts and superscripts set below and above the line."""
    parts: list[nodes.Node] = []
    end = 0
    for match in _SCRIPT.finditer(text):
        below, above = match[1] or match[2], match[3] or match[4]
        parts += [nodes.Text(text[end : match.start()])]
        script = nodes.subscript() if below else nodes.superscript()
        script.extend(set_scripts((below or above).replace("-", "−")))
        parts += [script]
        end = match.end()
    return [*parts, nodes.Text(text[end:])]


def _ancestors(node: nodes.Node) -> list[nodes.Node]:
    ancestors = []
    while node.parent is not None:
        node = node.parent
        ancestors.append(node)
    return ancestors


def setup(app: Any) -> dict[str, Any]:
    """Connect the hook."""
    app.connect("doctree-read", _set)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
