"""One trace schema for every solver: what happened, when, at which objective and bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ...display import Display, Displayed, Tabular
from ...models.arrays import FloatArray

__all__ = ["Trace", "TraceRow"]

#: Relative gap below zero that is none.
_LEVEL = 1e-9
#: Rows at either end that a notebook shows.
_SHOWN = 5


@dataclass(frozen=True)
class TraceRow:
    """One line of a trace.

    Parameters
    ----------
    iteration : int
        Iterations (or nodes of a tree search) done.
    seconds : float
        Since the start of the solve.
    objective : float
        Of the current (incumbent) point, minimised; NaN where there is none.
    bound : float
        Lower bound; NaN where there is none, as before an interior point's points are feasible.
    active : int
        Size of the active set (support vectors, open nodes); -1 where it has no meaning.
    columns : int
        Kernel columns computed so far; -1 where it has no meaning.
    step : str
        Kind of the last step: toward, away, drop, pair, newton, branch, ...
    """

    iteration: int
    seconds: float
    objective: float
    bound: float = float("nan")
    active: int = -1
    columns: int = -1
    step: str = ""

    @property
    def gap(self) -> float:
        """Relative gap, (objective - bound)/max(|objective|, |bound|); NaN without a bound."""
        return relative_gap(self.objective, self.bound)


@dataclass(frozen=True)
class Trace(Displayed, Tabular):
    """The rows of one solve, in order."""

    rows: tuple[TraceRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> TraceRow:
        return self.rows[index]

    def column(self, name: str) -> FloatArray:
        """One numeric field (or ``"gap"``) of every row."""
        allowed = [f.name for f in fields(TraceRow) if f.name != "step"] + ["gap"]
        if name not in allowed:
            raise KeyError(f"a trace has the columns {', '.join(allowed)}, not {name!r}")
        return np.array([getattr(row, name) for row in self.rows], dtype=np.float64)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each row, the gap with it."""
        return [{**asdict(row), "gap": row.gap} for row in self.rows]

    def display(self) -> Display:
        """Return the notebook view: the first and the last rows."""
        head = ("iteration", "seconds", "objective", "bound", "gap", "active", "step")
        few = self.rows if len(self.rows) <= 2 * _SHOWN else (*self.rows[:_SHOWN], None, *self.rows[-_SHOWN:])
        return Display(
            f"trace of {len(self.rows)} rows",
            head=head,
            rows=tuple(("...",) if r is None else tuple(_words(getattr(r, name)) for name in head) for r in few),
            words=("step",),
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "Trace(empty)"
        last = self.rows[-1]
        return (
            f"Trace({len(self.rows)} rows; last: iteration {last.iteration}, objective {last.objective:.8g}, gap {last.gap:.2g})"
        )


def _words(value: Any) -> str:
    """Nothing for what there is not: NaN, or -1 of a count."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value == -1 else str(value)


def relative_gap(primal: float, bound: float) -> float:
    """(primal - bound)/max(|primal|, |bound|): 0 where both are 0, NaN where either is missing.

    A bound that is above by no more than 1e-9 of that is level with the point, which is feasible to such a tolerance.
    """
    if not (np.isfinite(primal) and np.isfinite(bound)):
        return float("inf") if np.isfinite(primal) and bound == -np.inf else float("nan")
    scale = max(abs(primal), abs(bound))
    gap = 0.0 if scale == 0.0 else (primal - bound) / scale
    return 0.0 if -_LEVEL <= gap < 0.0 else gap
