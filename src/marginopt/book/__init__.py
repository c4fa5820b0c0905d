"""The open book of margins, a library of benchmark instances with their best known solutions and proved bounds.

An `Entry` is a model on a data set with its best known point and lower bound. `verify_entry` checks an entry, `submit_result`
makes a better one from a stored result, and `book_page` returns the book's web page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from importlib import resources

from ..errors import count_text
from .data import describe_data
from .entries import Entry, load_entries
from .solving import remake_entry, run_entry, submit_result
from .verification import MODELS, EntryVerdict, get_model_rules, verify_entry

__all__ = [
    "Entry",
    "EntryVerdict",
    "book_page",
    "load_entries",
    "proof_page_path",
    "remake_entry",
    "run_entry",
    "submit_result",
    "verify_entry",
]

#: Heads of the page's table.
_COLUMNS = ("instance", "model", "data", "parameter", "value", "bound", "gap", "status", "evidence", "solver", "seconds", "date")


def book_page(entries: Sequence[Entry]) -> str:
    """Return the book's web page in Markdown, with the table of the entries in HTML."""
    models, statuses = Counter(e.model for e in entries), Counter(e.status for e in entries)
    counts = ", ".join(f"{count} {model}" for model, count in sorted(models.items()))
    counts_by_status = f"{statuses['closed']} are closed (a gap of 1e-6), {statuses['open']} are open"
    parts = {
        "counts": f"**{count_text(len(entries), 'entry', 'entries')}**: {counts}. {counts_by_status}.",
        "models": "\n".join(f"| {name} | `{model.statement.replace('||', '‖')}` |" for name, model in MODELS.items()),
        "heads": "".join(f'<th><button type="button">{name}</button></th>' for name in _COLUMNS),
        "rows": "\n".join(map(_row, entries)),
    }
    text = resources.files(__package__).joinpath("template.md").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{ {name} }}}}", part)
    return text


def proof_page_path(entry: Entry) -> str:
    """Return the path of the page of the documentation that verifies an entry's log in a browser; empty if there is none.

    Small random instances of the 0-1 loss have one: their logs have some kilobytes, and are computed quickly.
    """
    n = entry.data.get("n")
    small = entry.model == "zero-one" and entry.data.get("seed") == 0 and isinstance(n, int) and n <= 40
    return f"proofs/{entry.name.split('/')[1]}.html" if small and entry.data["kind"] != "half-space" else ""


def _row(entry: Entry) -> str:
    price = float(Fraction(entry.parameters[get_model_rules(entry.model, entry.parameters).main_parameter]))
    cells: list[tuple[str, float | None]] = [
        (entry.name, None), (entry.model, None), (describe_data(entry.data), None), (f"{price:.4g}", price),
        (f"{entry.value:.10g}", entry.value), (f"{entry.bound:.10g}", entry.bound), (f"{max(entry.gap, 0.0):.1e}", entry.gap),
        (entry.status, None), (f"{entry.evidence} {entry.log[:8]}".strip(), None), (entry.solver, None),
        (f"{entry.seconds:.3g}", entry.seconds), (entry.date, None),
    ]  # fmt: skip
    shown = "".join(
        f"<td>{escape(text)}</td>" if key is None else f'<td data-key="{key:.17g}">{escape(text)}</td>' for text, key in cells
    )
    if page := proof_page_path(entry):
        shown = shown.replace(f"log {entry.log[:8]}", f'log {entry.log[:8]}, <a href="{page}">prove it here</a>')
    return f'<tr data-status="{entry.status}" data-gap="{max(entry.gap, 0.0):.17g}">{shown}</tr>'
