"""The page of the book: a table of all entries that sorts and filters, written from the entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib import resources

from .data import describe_data
from .entries import Entry
from .exact import MODELS

__all__ = ["book_page"]

_COLUMNS = ("instance", "model", "data", "λ", "value", "bound", "gap", "status", "evidence", "solver", "seconds", "date")


def book_page(entries: Sequence[Entry]) -> str:
    """Return the page in Markdown, with the table in HTML."""
    models, statuses = Counter(e.model for e in entries), Counter(e.status for e in entries)
    counts = ", ".join(f"{count} {model}" for model, count in sorted(models.items()))
    parts = {
        "counts": f"**{len(entries)} entries**: {counts}. {statuses['proved']} are proved to 1e-6, {statuses['open']} are open.",
        "models": "\n".join(f"| {model} | `{line.replace('||', '‖')}` |" for model, (_, line) in MODELS.items()),
        "heads": "".join(f'<th><button type="button">{name}</button></th>' for name in _COLUMNS),
        "rows": "\n".join(map(_row, entries)),
    }
    text = resources.files(__package__).joinpath("template.md").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{ {name} }}}}", part)
    return text


def _row(e: Entry) -> str:
    cells: list[tuple[str, float | None]] = [
        (e.name, None), (e.model, None), (describe_data(e.data), None), (f"{e.parameters['lam']:g}", e.parameters["lam"]),
        (f"{e.value:.10g}", e.value), (f"{e.bound:.10g}", e.bound), (f"{max(e.gap, 0.0):.1e}", e.gap), (e.status, None),
        (f"{e.evidence} {e.log[:8]}".strip(), None), (e.solver, None), (f"{e.seconds:.3g}", e.seconds), (e.date, None),
    ]  # fmt: skip
    shown = "".join(
        f"<td>{escape(text)}</td>" if key is None else f'<td data-key="{key:.17g}">{escape(text)}</td>' for text, key in cells
    )
    return f'<tr data-status="{e.status}" data-gap="{max(e.gap, 0.0):.17g}">{shown}</tr>'
