"""The Sphinx extension for sentences: ``x_i'w`` is set as xᵢᵀw, and the first use of a word links to the glossary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes

from marginopt.models.statement import typeset

__all__ = ["glossary_anchors", "set_scripts", "setup"]

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
#: Shorter words are too common, or letters.
_SHORTEST = 5
#: Parts of the site whose pages are tables, code or lists of names.
_LEFT_OUT = ("reference/names", "gallery/", "lab-notes/", "papers/", "search", "genindex")
#: Text in these is left as it is.
_LINKLESS = (nodes.reference, nodes.literal, nodes.title, nodes.math, nodes.raw, nodes.term, nodes.thead)


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


def _is_name(before: str, below: str | None) -> bool:
    """Return whether words are joined by an underscore, as in ``age_band`` (but for min and max)."""
    word = re.search(r"[^\W\d_]*$", before)
    return below is not None and len(below) > 1 and word is not None and len(word[0]) > 1 and word[0] not in ("min", "max")


def set_scripts(text: str) -> list[nodes.Node]:
    """Return text as document nodes, with subscripts and superscripts as such."""
    parts: list[nodes.Node] = []
    end = 0
    for match in _SCRIPT.finditer(text):
        if _is_name(text[: match.start()], match[2]):
            continue
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


def glossary_anchors(text: str) -> dict[str, str]:
    """Return the anchor of each word in the text of the glossary's page; an entry may name several words."""
    entries = re.findall(r"^(\S[^\n]*)\n: ", text, flags=re.MULTILINE)
    return {word.strip(): _anchor(entry) for entry in entries for word in entry.split(",")}


def _anchor(entry: str) -> str:
    return "term-" + re.sub(r"[^\w]+", "-", entry.lower()).strip("-")


def _anchors(app: Any, doctree: nodes.document) -> None:
    """Give each entry of the glossary its anchor."""
    if app.env.docname.rpartition("/")[2] == "glossary":
        for term in doctree.findall(nodes.term):
            term["ids"].append(_anchor(term.astext()))


def _links(app: Any, doctree: nodes.document, docname: str) -> None:
    """Link the first use of each word in the paragraphs and lists of a page."""
    glossary = next((name for name in sorted(app.env.found_docs) if name.rpartition("/")[2] == "glossary"), None)
    if glossary is None or docname == glossary or docname.startswith(_LEFT_OUT):
        return
    words = glossary_anchors(Path(app.env.doc2path(glossary)).read_text(encoding="utf-8"))
    words = {word: anchor for word, anchor in words.items() if len(word) >= _SHORTEST}
    place = app.builder.get_relative_uri(docname, glossary)
    for text in list(doctree.findall(nodes.Text)):
        if not words or not _open(text):
            continue
        match = re.search(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})s?(?![\w-])", text)
        if match is None:
            continue
        link = nodes.reference("", match[0], internal=True, refuri=f"{place}#{words[match[1]]}", classes=["glossary"])
        before, after = text[: match.start()], text[match.end() :]
        text.parent.replace(text, [nodes.Text(part) if isinstance(part, str) else part for part in (before, link, after) if part])
        anchor = words[match[1]]
        words = {word: other for word, other in words.items() if other != anchor}


def _open(text: nodes.Text) -> bool:
    node, inside = text.parent, False
    while node is not None:
        if isinstance(node, _LINKLESS):
            return False
        inside = inside or isinstance(node, nodes.paragraph)
        node = node.parent
    return inside


def setup(app: Any) -> dict[str, Any]:
    """Connect the hooks."""
    app.connect("doctree-read", _anchors)
    app.connect("doctree-resolved", _links)
    app.connect("doctree-read", _set)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
