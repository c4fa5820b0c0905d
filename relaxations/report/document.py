"""A report as a document: head, findings, tables and pictures, made once for all formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from ...drawing import Picture
from .data import ReportData
from .findings import Finding, findings
from .pictures.gallery import gallery
from .tables.column import Table
from .tables.listing import report_tables
from .tables.matrix import Matrix

__all__ = ["Document", "ReportScope"]

TITLE = "Relaxation gaps"
_DEFINITIONS = (
    "gap = (ζ - bound)/|ζ| (Cepeda, Gómez and Han, §2), ζ the optimum: for instances that of min ||w||² + λ Σ 1{y_i x_i'w < 1}; "
    "objectives are recomputed in float64 from the data; a bound is proved only from a dual point made exactly feasible"
)


class ReportScope(Enum):
    """The problems of a report's rows."""

    ZERO_ONE = "instances, of the 0-1 problem"
    STATED = "models as they are stated"
    BOTH = "both"


@dataclass(frozen=True, eq=False)
class Document:
    """The document that every format writes.

    Parameters
    ----------
    data : ReportData
    """

    data: ReportData

    @property
    def asked(self) -> ReportScope:
        """Of what problems the optima are."""
        stated = {cell.lam is None for cell in self.data.instances} or {False}
        return ReportScope.BOTH if len(stated) == 2 else ReportScope.STATED if stated.pop() else ReportScope.ZERO_ONE

    @property
    def title(self) -> str:
        """Of what the gaps are: of the 0-1 loss unless every row is a model as it was stated."""
        return TITLE if self.asked is ReportScope.STATED else f"{TITLE} of the 0-1 loss"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in sentences."""
        return findings(self.data)

    @cached_property
    def matrix(self) -> Matrix:
        """Instances × relaxations, the exact solvers beside it."""
        return Matrix.of(self.data)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables in their order."""
        return report_tables(self.data)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures in their order."""
        return gallery(self.data)

    @property
    def head(self) -> tuple[tuple[str, str], ...]:
        """The making of the report: label and words; last the definitions."""
        lines = [("checksum of the results", f"SHA-256 {self.data.checksum}")]
        lines += [(name.replace("_", " "), _words(value) or "none") for name, value in self.data.meta.items()]
        return (*lines, ("definitions", _DEFINITIONS))


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(_words(v) for v in value)  # names hold commas
    return f"{value:g}" if isinstance(value, float) else str(value)
