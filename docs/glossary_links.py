"""Links from the first use of a word on a page to its entry in the glossary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes

__all__ = ["setup", "terms"]

#: Shorter words are too common, or letters.
_SHORTEST = 5
#: Parts of the site whose pages are tables, code or lists of names.
_LEFT_OUT = ("reference/names", "gallery/", "lab-notes/", "papers/", "search", "genindex")
#: Text in these is left as it is.
_CLOSED = (nodes.reference, nodes.literal, nodes.title, nodes.math, nodes.raw, nodes.term, nodes.thead)


def terms(text: str) -> dict[str, str]:
    """Return the anchor of each word of the glossary's page; an entry may name several words."""
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
    words = terms(Path(app.env.doc2path(glossary)).read_text(encoding="utf-8"))
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
        if isinstance(node, _CLOSED):
            return False
        inside = inside or isinstance(node, nodes.paragraph)
        node = node.parent
    return inside


def setup(app: Any) -> dict[str, Any]:
    """Connect the hooks."""
    app.connect("doctree-read", _anchors)
    app.connect("doctree-resolved", _links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
