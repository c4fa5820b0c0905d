"""A solution path: the results of one model at several values of a parameter, which print, tabulate and are saved as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..display import Display, Displayed, Tabular
from ..models.arrays import FloatArray
from ..models.changes.change import FixedVariables
from ..models.model import Model
from ..models.program.form import StandardForm
from .certification.result import Result
from .certification.result_file import load_results, save_results
from .records.answer import UpdateKind

__all__ = ["FIXED", "SolutionPath", "stated_at", "was_updated"]

#: The parameter that fixes variables.
FIXED = "fixed"


@dataclass(frozen=True, eq=False)
class SolutionPath(Displayed, Tabular):
    """The results along a path; printable as a table.

    Parameters
    ----------
    parameter : str
    values : tuple
        Of the parameter, in the order of solving.
    results : tuple of Result
        ``update`` of each says what its solver did: built, updated in place, or rebuilt and why.
    seconds : float
        Everything: stating the models, updating, solving, certificates.
    """

    parameter: str
    values: tuple[Any, ...]
    results: tuple[Result, ...]
    seconds: float

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @overload
    def __getitem__(self, k: int) -> Result: ...

    @overload
    def __getitem__(self, k: slice) -> tuple[Result, ...]: ...

    def __getitem__(self, k: int | slice) -> Result | tuple[Result, ...]:
        return self.results[k]

    @property
    def objectives(self) -> FloatArray:
        """The recomputed objectives."""
        return np.array([r.objective for r in self.results])

    @property
    def updated(self) -> int:
        """The number of solves that updated the one before in place."""
        return sum(was_updated(r) for r in self.results)

    @property
    def _title(self) -> str:
        first = self.results[0]
        return f"{first.model} by {first.solver}, {len(self)} values of {self.parameter}, {self.updated} of them by update"

    def __str__(self) -> str:
        lines = [self._title, f"  {self.parameter:>12}  {'objective':>16}  {'gap':>8}  status      update"]
        for value, r in zip(self.values, self.results, strict=True):
            gap = f"{r.gap:.1e}" if np.isfinite(r.gap) else "none"
            lines.append(f"  {value!s:>12.12}  {r.objective:>16.10g}  {gap:>8}  {r.status!s:<10}  {r.update or ''}")
        return "\n".join(lines)

    __repr__ = __str__

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each value."""
        return [
            {
                self.parameter: value,
                "status": str(r.status),
                "objective": r.objective,
                "bound": r.bound,
                "kind": r.bound_kind,
                "gap": r.gap,
                "build s": r.build_seconds,
                "solve s": r.solve_seconds,
                "update": str(r.update or ""),
            }
            for value, r in zip(self.values, self.results, strict=True)
        ]

    def display(self) -> Display:
        """Return the notebook view."""
        head = (self.parameter, "objective", "bound", "kind", "gap", "status", "update")
        rows = tuple(
            (
                f"{value}", f"{r.objective:.10g}", "" if r.bound is None else f"{r.bound:.10g}", r.bound_kind,
                f"{r.gap:.1e}" if np.isfinite(r.gap) else "", str(r.status), str(r.update or ""),
            )
            for value, r in zip(self.values, self.results, strict=True)
        )  # fmt: skip
        return Display(self._title, head=head, rows=rows, words=("kind", "status", "update"))

    def save(self, path: str | Path) -> Path:
        """Write every result to one npz file; `SolutionPath.load` reads it back."""
        said = {"parameter": self.parameter, "values": list(self.values), "seconds": self.seconds}
        return save_results(path, "path", said, self.results)

    @classmethod
    def load(cls, path: str | Path, model: Model | None = None) -> SolutionPath:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or path
        model : Model, optional
            What was solved, at any value of the parameter: each result is certified anew at its own. Without it the claims are
            as stored, and say so. A path of fixed variables is read without it.

        Raises
        ------
        DataError
            No such file, no stored path, or one of another model.
        """

        def stated(said: Mapping[str, Any], k: int) -> Model | StandardForm | None:
            if model is None or said["parameter"] == FIXED:
                return None
            return stated_at(model, said["parameter"], said["values"][k], share=False)[0]

        said, results = load_results(path, "path", stated)
        found = [result for result in results if result is not None]
        return cls(said["parameter"], tuple(said["values"]), tuple(found), said["seconds"])


def was_updated(result: Result) -> bool:
    """Return whether the solver changed the model that it kept."""
    return result.update is not None and result.update.kind is UpdateKind.UPDATED


def stated_at(model: Model | StandardForm, parameter: str, value: Any, *, share: bool) -> tuple[Model | StandardForm, Any]:
    """The program at this value, and the value as results and tables show it; ``share`` what does not depend on it."""
    if parameter == FIXED:
        form = model.form if isinstance(model, Model) else model
        fixed = FixedVariables.of(form, value)
        return fixed.applied(form), ", ".join(f"{label}: {int((~np.isnan(v)).sum())}" for label, v in value.items())
    assert isinstance(model, Model)
    # the parameter is changed and nothing else: fields that the model completed for itself stay
    return model.with_parameter(parameter, value) if share else model.replace(parameter, value), value
