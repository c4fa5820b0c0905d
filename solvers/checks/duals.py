"""Multipliers against finite differences: what the optimum does when a right-hand side moves.

φ(g) = min of the form as a function of one g_i is convex for a convex form, and the multiplier z_i is one of its subgradients
turned: φ'(-) ≤ -z_i ≤ φ'(+). The two one-sided differences of two further solves enclose it up to what the solver's accuracy
makes of a difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...models.bare_form import as_model
from ...models.model import Model
from ...models.program.form import StandardForm
from ..certification.result import Result
from ..records.options import Options
from ..solve import solve_problem
from ..solver_spec import SolverLike

__all__ = ["DualCheck", "DualRow", "check_duals"]


_WORDS = {True: "agrees", False: "NO"}


@dataclass(frozen=True)
class DualRow:
    """One row: its multiplier beside -φ'(+) and -φ'(-), and whether these enclose it within ``error``."""

    name: str
    multiplier: float
    after: float
    before: float
    error: float

    @property
    def agrees(self) -> bool:
        """-φ'(+) ≤ z ≤ -φ'(-) up to the error of the differences."""
        return min(self.after, self.before) - self.error <= self.multiplier <= max(self.after, self.before) + self.error


@dataclass(frozen=True)
class DualCheck:
    """The rows that were compared."""

    rows: tuple[DualRow, ...]
    step: float

    @property
    def agrees(self) -> bool:
        """Return whether every multiplier lies where the differences put it."""
        return all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        lines = [f"multipliers beside differences of the optimum, step {self.step:g}: {'agree' if self.agrees else 'DISAGREE'}"]
        lines += [
            f"  {r.name:<20} z {r.multiplier:>14.7g}   between {r.after:>14.7g} and {r.before:>14.7g}   {_WORDS[r.agrees]}"
            for r in self.rows
        ]
        return "\n".join(lines)


def check_duals(
    result: Result,
    model: Model | StandardForm,
    *,
    most: int = 12,
    seed: int = 0,
    step: float = 1e-4,
    solver: SolverLike = "clarabel",
) -> DualCheck:
    """Compare multipliers with differences of the optimum, at a sample of rows.

    Parameters
    ----------
    result : Result
        Of a continuous form, with multipliers.
    model : Model or StandardForm
        What was solved.
    most : int
        Rows at most, drawn by ``seed``: every one costs two solves.
    step : float
        By which g_i is moved, relative to 1 + |g_i|.
    solver : str, Solver or pair
        Which solves the moved forms.

    Raises
    ------
    InputError
        No multipliers, or integer variables.
    """
    form = as_model(model).form
    if result.multipliers is None or form.integer.any():
        raise InputError("check_duals needs multipliers of a continuous form; this result has none")
    places = [(k, i) for k, c in enumerate(form.constraints) for i in range(c.rows) if c.label in result.multipliers]
    rng = np.random.default_rng(seed)
    chosen = [places[j] for j in sorted(rng.permutation(len(places))[:most].tolist())]
    base = _optimum(form, solver)
    rows = []
    for k, i in chosen:
        c = form.constraints[k]
        h = step * (1.0 + abs(float(c.g[i])))
        up, down = (_optimum(_shifted(form, k, i, sign * h), solver) for sign in (1.0, -1.0))
        accuracy = 4e-8 * (1.0 + abs(base)) / h
        z = float(result.multipliers[c.label][i])
        curvature = abs(up - 2.0 * base + down) / h if np.isfinite(up) and np.isfinite(down) else 0.0
        rows.append(DualRow(c.names()[i], z, -(up - base) / h, -(base - down) / h, accuracy + curvature + 1e-5 * abs(z)))
    return DualCheck(tuple(rows), step)


def _shifted(form: StandardForm, k: int, i: int, h: float) -> StandardForm:
    c = form.constraints[k]
    g = c.g.copy()
    g[i] += h
    return form.replace(constraints=(*form.constraints[:k], replace(c, g=g), *form.constraints[k + 1 :]))


def _optimum(form: StandardForm, solver: SolverLike) -> float:
    """The optimum in the form's sense; infinite where there is no feasible point."""
    result = solve_problem(form, solver, Options(tol=1e-9))
    return float("inf") if result.certificate is None else result.certificate.objective
