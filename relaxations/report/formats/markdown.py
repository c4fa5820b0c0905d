"""Gap reports as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..table import GapReport
from ..tables.footer import foot_lines
from ..tables.means import report_tables
from ..tables.relaxations import Column, shown

__all__ = ["render_markdown"]


def render_markdown(report: GapReport, pictures: str | None = None) -> str:
    """Tables, explanations and foot; links to the pictures in the folder ``pictures`` where one is given."""
    parts = ["# Relaxation gaps of the 0-1 loss", ""]
    if report.contradictions:
        parts += ["## Contradictions", "", *(f"- **{_escaped(line)}**" for line in report.contradictions), ""]
    tables = report_tables(report)
    parts += _pictures(report, "", pictures)
    for table in tables:
        note = [table.note, ""] if table.note else []
        parts += [f"## {table.title}", "", *note, *_table(table.columns, table.rows), ""]
        parts += _pictures(report, table.name, pictures)
    parts += _pictures(report, "losses", pictures)
    parts += ["## What the columns say", ""]
    for table in tables:
        parts += [f"*{table.title}*", "", *(f"- **{c.title}**: {c.explanation}" for c in table.columns), ""]
    parts += ["## How this was made", "", *(f"- {_escaped(line)}" for line in foot_lines(report)), ""]
    return "\n".join(parts)


def _pictures(report: GapReport, table: str, folder: str | None) -> list[str]:
    if folder is None:
        return []
    shown_here = [p for p in report.pictures if p.table == table]
    return [line for p in shown_here for line in (f"![{p.title}]({folder}/{p.name}.svg)", "", p.caption, "")]


def _table(columns: Sequence[Column], rows: Iterable[Any]) -> list[str]:
    lines = ["| " + " | ".join(c.title for c in columns) + " |"]
    lines.append("|" + "|".join(" ---: " if c.numeric else " --- " for c in columns) + "|")
    lines += ["| " + " | ".join(_escaped(shown(c, row)) for c in columns) + " |" for row in rows]
    return lines


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
