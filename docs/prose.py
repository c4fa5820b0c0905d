"""Formulas within the sentences of the pages: ``x_i'w`` of the source is xᵢᵀw on the site."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

from marginopt.models.statement import typeset

__all__ = ["setup"]

#: Pages that are written by hand.
_WRITTEN = ("explanation/", "how-to/", "tutorials/", "reference/conventions", "index", "benchmarks", "book")
#: Text in these is left as it is.
_CLOSED = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)
#: A block without a language is a formula if it has one of these signs.
_FORMULA = re.compile(r"[Σ≤≥½]")


def _set(app: Any, doctree: nodes.document) -> None:
    """Set the formulas of a page's sentences and of its indented blocks."""
    if not app.env.docname.startswith(_WRITTEN):
        return
    for text in list(doctree.findall(nodes.Text)):
        if not any(isinstance(node, _CLOSED) for node in _ancestors(text)):
            plain = text.astext().replace("’", "'")  # primes have become quotation marks
            text.parent.replace(text, nodes.Text(typeset(plain).replace("'", "’")))
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") in (None, "none", "default", "text") and _FORMULA.search(block.astext()):
            block.rawsource = typeset(block.astext())
            block.children = [nodes.Text(block.rawsource)]


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
