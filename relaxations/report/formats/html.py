"""Gap reports as one self-contained HTML page: tables that sort, pictures inside, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ..pictures.bars import data_uri
from ..table import GapReport
from ..tables.footer import foot_lines
from ..tables.means import Table, report_tables
from ..tables.relaxations import COLUMNS, SUMMARY, Column, best_rows, shown, sort_key

__all__ = ["render_html", "tables_html"]

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --warn: #b00; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 100rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; max-width: 22rem; }
th { background: var(--soft); position: sticky; top: 0; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " \\25B2"; } th[aria-sort=descending] button::after { content: " \\25BC"; }
img { max-width: 100%; height: auto; background: white; } dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
.warning { border-left: 4px solid var(--warn); padding: .2rem .8rem; background: var(--soft); }
"""

_SCRIPT = """
document.querySelectorAll("table.sortable").forEach(table => {
  table.querySelectorAll("th").forEach((head, k) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
    const key = row => { const v = row.cells[k].dataset.key; return head.classList.contains("number") ? Number(v) : v; };
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    [...body.rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (up ? 1 : -1)).forEach(r => body.append(r));
  }));
});
"""


def render_html(report: GapReport) -> str:
    """The page."""
    tables = "".join(_section(table, report) for table in report_tables(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Relaxation gaps of the 0-1 loss</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        "<h1>Relaxation gaps of the 0-1 loss</h1>\n"
        "<p>How far lower bounds of min ||w||² + λ Σ 1{y<sub>i</sub> x<sub>i</sub>'w &lt; 1} are from the optimum ζ. "
        "Click a column's head to sort; hover it for its meaning.</p>\n"
        f"{_contradictions(report)}{_pictures(report, '')}{tables}<h2>Losses</h2>\n{_pictures(report, 'losses')}"
        f"<h2>What the columns say</h2>\n{_explanations(report)}"
        f"<h2>How this was made</h2>\n<ul>{''.join(f'<li>{escape(line)}</li>' for line in foot_lines(report))}</ul>\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _section(table: Table, report: GapReport) -> str:
    """A table with its heading and its pictures."""
    note = f"<p>{escape(table.note)}</p>\n" if table.note else ""
    body = _table(table.columns, table.rows, table.name)
    return f"<h2>{escape(table.title)}</h2>\n{note}{body}{_pictures(report, table.name)}"


def _pictures(report: GapReport, table: str) -> str:
    return "".join(_picture(p.svg, p.title, p.caption) for p in report.pictures if p.table == table)


def tables_html(report: GapReport) -> str:
    """The tables of instances and relaxations alone."""
    return (
        f"<h2>Instances</h2>\n{_table(SUMMARY, best_rows(report), 'instances')}"
        f"<h2>Relaxations</h2>\n{_table(COLUMNS, report.rows, 'relaxations')}"
    )


def _contradictions(report: GapReport) -> str:
    if not report.contradictions:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in report.contradictions)
    return f'<div class="warning"><strong>Claims that contradict each other</strong><ul>{items}</ul></div>\n'


def _picture(svg: str, alt: str, caption: str) -> str:
    return f'<figure><img alt="{escape(alt)}" src="{data_uri(svg)}"><figcaption>{escape(caption)}</figcaption></figure>\n'


def _table(columns: Sequence[Column], rows: Iterable[Any], name: str) -> str:
    head = "".join(
        f'<th scope="col"{_number(c)} title="{escape(c.explanation)}"><button type="button">{escape(c.title)}</button></th>'
        for c in columns
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td{_number(c)} data-key="{escape(_key(sort_key(c, row)))}">{escape(shown(c, row))}</td>' for c in columns)
        + "</tr>\n"
        for row in rows
    )
    table = f'<table class="sortable" id="{name}"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'
    return f'<div class="scroll">{table}</div>\n'


def _number(column: Column) -> str:
    return ' class="number"' if column.numeric else ""


def _key(value: float | str) -> str:
    return "Infinity" if value == float("inf") else str(value)


def _explanations(report: GapReport) -> str:
    return "".join(
        f"<h3>{escape(table.title)}</h3><dl>"
        + "".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.explanation)}</dd>" for c in table.columns)
        + "</dl>\n"
        for table in report_tables(report)
    )
