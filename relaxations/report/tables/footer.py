"""The foot of a report: versions, machine, options and seeds, as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..table import GapReport

__all__ = ["foot_lines"]


def foot_lines(report: GapReport) -> list[str]:
    """One line for each entry of the stored ``meta``, and one for the definitions."""
    lines = [f"{name.replace('_', ' ')}: {_words(value)}" for name, value in report.meta.items()]
    lines.append(
        "gap = (ζ - bound)/ζ (Conic §2), ζ the optimum of min ||w||² + λ Σ 1{y_i x_i'w < 1}; "
        "objectives are recomputed in float64 from the data; a bound is proved only from a dual point made exactly feasible"
    )
    return lines


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(_words(v) for v in value)  # names hold commas
    return f"{value:g}" if isinstance(value, float) else str(value)
