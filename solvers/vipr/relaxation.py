"""Linear relaxations of nodes by HiGHS: the point and the multipliers that a node's rational sum begins with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.arrays import FloatArray
from ...models.export.native.highs import to_highs
from ...models.program.form import StandardForm
from ..interface.subprocess_limit import beyond_fork
from ..rational.form import Vector, solve_linear
from .program import LinearProgram

__all__ = ["Relaxation", "Relaxations"]

_TOLERANCE = 1e-9
#: By how much inequalities are tightened, relative to their size, so that a rounded point satisfies them exactly: tried in turn.
_MARGINS = (1e-13, 1e-11, 1e-9, 1e-7)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxation of a node as HiGHS solved it.

    Parameters
    ----------
    x : ndarray, optional
        A point; None where there is none.
    y : ndarray
        Multipliers of the rows, nonnegative for inequalities: of the objective, or (without a point) Farkas's.
    """

    x: FloatArray | None
    y: FloatArray


class Relaxations:
    """One HiGHS model whose bounds change from node to node.

    Parameters
    ----------
    program : LinearProgram
    """

    def __init__(self, program: LinearProgram) -> None:
        import highspy

        self._highspy: Any = highspy
        self._program = program
        self._columns = np.arange(program.form.n, dtype=np.int32)
        self._highs = self._loaded(program.form.relax_integrality())

    def _loaded(self, form: StandardForm) -> Any:
        highs: Any = self._highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("solver", "simplex")
        highs.setOptionValue("presolve", "off")  # Farkas's multipliers are those of the rows as they are
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, _TOLERANCE)
        highs.passModel(to_highs(self._highspy, form))
        return highs

    def at(self, lower: FloatArray, upper: FloatArray) -> Relaxation:
        """The relaxation within bounds.

        Raises
        ------
        SolverError
            It is unbounded, or HiGHS does not end.
        """
        self._highs.changeColsBounds(self._columns.size, self._columns, lower, upper)
        beyond_fork("highspy", self._highs.run)
        status = self._highs.getModelStatus()
        if status == self._highspy.HighsModelStatus.kOptimal:
            solution = self._highs.getSolution()
            return Relaxation(np.array(solution.col_value), np.array(solution.row_dual))
        if status == self._highspy.HighsModelStatus.kInfeasible:
            _, found, ray = self._highs.getDualRay()
            if found:
                return Relaxation(None, np.array(ray))
        raise SolverError(f"the relaxation of a node has no bound: HiGHS ends with {status.name}")

    def exact_point(self, x: FloatArray) -> Vector | None:
        """A point with the integers of x that satisfies all of the program in rational arithmetic; None where none is found."""
        program, form = self._program, self._program.form
        rounded = np.where(form.integer, np.round(x), x)
        found = program.exact.point(rounded)
        if program.feasible(found) or form.integer.all():
            return found if program.feasible(found) else None
        fixed = form.with_integers(x)
        vertex = self._vertex(fixed)
        if vertex is not None:
            return vertex
        # inside by a margin that rounding does not use up; equalities must come out by themselves
        for margin in _MARGINS:
            inner = self._inner(fixed, margin)
            if inner is not None:
                found = program.exact.point(np.where(form.integer, np.round(x), inner))
                if program.feasible(found):
                    return found
        return None

    def _vertex(self, fixed: StandardForm) -> Vector | None:
        """The optimal vertex of a form without integers, solved in rational arithmetic from HiGHS's basis.

        Columns that are not basic stand at bounds and rows that are not basic at their sides: with the equalities these are the
        equations of the basic columns. None where they have no solution, or one that violates the program.
        """
        highs = self._loaded(fixed)
        highs.run()
        if highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        status, basis, rows = self._highspy.HighsBasisStatus, highs.getBasis(), self._program.rows
        low, high = fixed.lower.tolist(), fixed.upper.tolist()
        point: Vector = [Fraction(0)] * fixed.n
        unknown: list[int] = []
        for j, state in enumerate(basis.col_status):
            if state == status.kBasic and low[j] < high[j]:
                unknown.append(j)
            elif np.isfinite(end := high[j] if state == status.kUpper else low[j]):
                point[j] = Fraction(end)
        tight = [row for row, state in zip(rows, basis.row_status, strict=True) if row.equal or state != status.kBasic]
        places = {j: k for k, j in enumerate(unknown)}
        table = [[Fraction(0)] * len(unknown) for _ in tight]
        sides = [row.side for row in tight]
        for i, row in enumerate(tight):
            for j, v in row.terms:
                if j in places:
                    table[i][places[j]] = v
                else:
                    sides[i] -= v * point[j]
        solution = solve_linear(table, sides) if unknown else []
        if solution is None:
            return None
        for j, value in zip(unknown, solution, strict=True):
            point[j] = value
        return point if self._program.feasible(point) else None

    def _inner(self, fixed: StandardForm, margin: float) -> FloatArray | None:
        """The best point of a form without integers whose inequalities are tightened."""
        width = np.where(fixed.lower < fixed.upper, margin * np.minimum(1.0, fixed.upper - fixed.lower), 0.0)
        highs = self._loaded(fixed.with_bounds(fixed.lower + width, fixed.upper - width))
        sides = np.array([float(row.side) for row in self._program.rows])
        equal = np.array([row.equal for row in self._program.rows], dtype=bool)
        tight = np.where(equal, sides, sides + margin * np.maximum(1.0, np.abs(sides)))
        highs.changeRowsBounds(sides.size, np.arange(sides.size, dtype=np.int32), tight, np.where(equal, sides, np.inf))
        beyond_fork("highspy", highs.run)
        ended = highs.getModelStatus() == self._highspy.HighsModelStatus.kOptimal
        return np.array(highs.getSolution().col_value) if ended else None
