"""Gap reports as Markdown. Names are untrusted: no text of the data becomes mark-up, HTML, a link or mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....drawing import Picture
from ..columns import Column, shown
from ..document import Document
from .format import Format

__all__ = ["FORMAT", "escaped", "render_markdown"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "://": ":&#47;&#47;", "www.": "www&#46;"}
_MARKED = r"\`*_{}[]#!|~$^"


def render_markdown(document: Document, pictures: str | None = None) -> str:
    """Findings, tables, explanations and head; links to the pictures in the folder ``pictures`` where one is given."""
    data = document.data
    parts = [f"# {document.title}", ""]
    if data.contradictions:
        parts += ["## Contradictions", "", *(f"- **{escaped(line)}**" for line in data.contradictions), ""]
    parts += ["## Findings", "", *(f"- {escaped(finding.text)}" for finding in document.findings), ""]
    for table in document.tables:
        note = [table.note, ""] if table.note else []
        parts += [f"## {table.title}", "", *note, *_table(table.columns, table.rows), ""]
    if pictures is not None:
        parts += ["## Pictures", "", *(line for p in document.pictures for line in _picture(p, pictures))]
    parts += ["## What the columns say", ""]
    for table in document.tables:
        parts += [f"*{table.title}*", "", *(f"- **{c.title}**: {escaped(c.explanation)}" for c in table.columns), ""]
    parts += ["## How this was made", "", *(f"- {escaped(label)}: {escaped(words)}" for label, words in document.head), ""]
    return "\n".join(parts)


def _picture(picture: Picture, folder: str) -> list[str]:
    return [f"![{picture.title}]({_folder(folder)}/{picture.name}.svg)", "", escaped(picture.caption), ""]


def _folder(name: str) -> str:
    """A folder's name as the target of a link."""
    from urllib.parse import quote

    return quote(name)


def _table(columns: Sequence[Column], rows: Iterable[Any]) -> list[str]:
    lines = ["| " + " | ".join(c.title for c in columns) + " |"]
    lines.append("|" + "|".join(" ---: " if c.numeric else " --- " for c in columns) + "|")
    lines += ["| " + " | ".join(_cell(c, row) for c in columns) + " |" for row in rows]
    return lines


def _cell(column: Column, row: Any) -> str:
    return shown(column, row) if column.numeric else escaped(shown(column, row))  # numbers hold no mark-up


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    words = "".join(c if c.isprintable() else " " for c in text)
    words = "".join(f"\\{c}" if c in _MARKED else c for c in words)
    for raw, entity in _ENTITIES.items():
        words = words.replace(raw, entity)
    return words


def _files(document: Document, stem: str) -> dict[str, str]:
    folder = f"{stem}-pictures"
    return {f"{stem}.md": render_markdown(document, folder), **{f"{folder}/{p.name}.svg": p.svg for p in document.pictures}}


FORMAT = Format(".md", "Markdown with its pictures beside it", _files, rank=20)
