"""Import of HiGHS models as standard forms, and write-back of a solution into the ``Highs`` object."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import FloatArray
from .rows import RowProgram, RowSource, side_values
from .source import Evaluation, Recipient, ReturnedAnswer, Termination, binary_restatement

#: Bounds of at least this absolute value are infinite to HiGHS (its option ``infinite_bound``).
_INFINITE = 1e20
#: HiGHS's model statuses.
_STATUS = {
    Termination.OPTIMAL: "kOptimal",
    Termination.INACCURATE: "kUnknown",
    Termination.STATIONARY: "kUnknown",
    Termination.INFEASIBLE: "kInfeasible",
    Termination.UNBOUNDED: "kUnbounded",
    Termination.INFEASIBLE_OR_UNBOUNDED: "kUnboundedOrInfeasible",
    Termination.TIME_LIMIT: "kTimeLimit",
    Termination.ITERATION_LIMIT: "kIterationLimit",
    Termination.NODE_LIMIT: "kSolutionLimit",
    Termination.MEMORY_LIMIT: "kMemoryLimit",
    Termination.INTERRUPTED: "kInterrupt",
    Termination.FAILED: "kSolveError",
}


class HighsSource(RowSource, Recipient):
    """A linear, quadratic or mixed-integer linear program held by a ``highspy.Highs`` object, as the source of an import.

    Answers go back by ``setSolution``: values, activities, and HiGHS's duals, which are the change of its own objective for one
    more unit of a row's or a column's bound. HiGHS 1.15.1 replaces the column duals that it is given by c + A'y, y the row duals,
    with the wrong sign of y; marginopt's result has the right column duals in its field ``reduced``.
    """

    package = "HiGHS"

    def __init__(self, highs: Any) -> None:
        import highspy

        if not isinstance(highs, highspy.Highs):
            raise InputError(f"from_highs takes a highspy.Highs object; got {type(highs).__name__}", name="highs")
        self._highs = highs
        self._imported = _program(highs).import_form()

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Evaluate the program at x: HiGHS evaluates a copy with columns fixed and rows free, and the Hessian's terms are added.

        The form is compared with these values. HiGHS 1.15.1 ends some quadratic programs whose columns are all fixed with an
        error, so the Hessian is not in the copy.
        """
        import highspy

        lp = self._highs.getLp()
        m, n = lp.num_row_, lp.num_col_
        copy: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        copy.silent()
        copy.passModel(lp)
        free, fixed = np.arange(m, dtype=np.int32), np.arange(n, dtype=np.int32)
        if m:
            copy.changeRowsBounds(m, free, np.full(m, -np.inf), np.full(m, np.inf))
        copy.changeColsBounds(n, fixed, x, x)
        if list(lp.integrality_):
            copy.changeColsIntegrality(n, fixed, np.array([highspy.HighsVarType.kContinuous] * n))
        copy.run()
        sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
        activity = np.array(copy.getSolution().row_value)
        names = _names(lp.row_names_, "row", m)
        low, high, lower, upper = _sides(lp)
        rows = side_values(names, (low, high), (activity - low, high - activity))
        outside = np.maximum(np.maximum(lower - x, x - upper), 0.0)
        linear = copy.getInfo().objective_function_value if n else lp.offset_  # HiGHS ignores the offset of an empty model
        objective = sign * (linear + _quadratic_value(self._highs.getModel().hessian_, x))
        return Evaluation(objective, 0.0, rows, float(outside.max(initial=0.0)))

    def point(self) -> FloatArray | None:
        """Return the values of HiGHS's solution; None without a solution."""
        solution = self._highs.getSolution()
        x = np.array(solution.col_value, dtype=np.float64)
        return x if solution.value_valid and x.size == self.form.n > 0 and np.isfinite(x).all() else None

    def write_back(self, answer: ReturnedAnswer) -> object:
        """Set the solution if the answer has a point, with dual values if it has multipliers; return HiGHS's model status."""
        import highspy

        status = getattr(highspy.HighsModelStatus, _STATUS[answer.termination])
        self._write(answer)
        return status

    def _write(self, answer: ReturnedAnswer) -> None:
        import highspy

        if not answer.values or not self.form.n:
            return
        solution = highspy.HighsSolution()
        x = self._imported.point(answer.values)
        lp = self._highs.getLp()
        solution.col_value = x.tolist()
        solution.row_value = (_matrix(lp) @ x).tolist()
        if answer.multipliers is not None:
            solution.row_dual = self._imported.row_duals(answer.multipliers).tolist()
            solution.col_dual = self._imported.reduced_costs(answer.reduced).tolist()
            solution.dual_valid = True
        solution.value_valid = True
        self._highs.setSolution(solution)


def _matrix(lp: Any) -> sp.csr_array:
    """Return A by rows, from HiGHS's columns or rows."""
    import highspy

    data = (np.asarray(lp.a_matrix_.value_), np.asarray(lp.a_matrix_.index_), np.asarray(lp.a_matrix_.start_))
    shape = (lp.num_row_, lp.num_col_)
    if not shape[0]:
        return sp.csr_array(shape)
    by_rows = lp.a_matrix_.format_ == highspy.MatrixFormat.kRowwise
    return sp.csr_array(data, shape=shape) if by_rows else sp.csr_array(sp.csc_array(data, shape=shape))


def _program(highs: Any) -> RowProgram:
    import highspy

    lp, hessian = highs.getLp(), highs.getModel().hessian_
    kinds = list(lp.integrality_)[: lp.num_col_] or [highspy.HighsVarType.kContinuous] * lp.num_col_
    integral = (highspy.HighsVarType.kInteger, highspy.HighsVarType.kImplicitInteger)  # type: ignore[attr-defined]
    odd = {kind for kind in kinds if kind not in (highspy.HighsVarType.kContinuous, *integral)}
    if odd:
        names = ", ".join(sorted(str(kind).rpartition(".")[2] for kind in odd))
        raise UnsupportedModelError(f"variables of kind {names} have no place in a standard form{binary_restatement(names)}")
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    row_lower, row_upper, lower, upper = _sides(lp)
    return RowProgram(
        name=lp.model_name_ or "HiGHS model",
        variables=_names(lp.col_names_, "x", lp.num_col_),
        rows=_names(lp.row_names_, "row", lp.num_row_),
        P=_hessian(hessian, lp.num_col_, sign),
        q=sign * np.asarray(lp.col_cost_, dtype=np.float64)[: lp.num_col_] + 0.0,
        r=sign * lp.offset_ + 0.0,
        A=_matrix(lp),
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
        integer=np.array([kind in integral for kind in kinds], dtype=bool),
        maximise=sign < 0,
    )


def _names(names: Any, kind: str, count: int) -> list[str]:
    return list(names)[:count] or [f"{kind}[{i}]" for i in range(count)]


def _sides(lp: Any) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the bounds of rows and columns; HiGHS 1.15.1 keeps bounds of rows and columns that it refused, which are cut off."""
    m, n = lp.num_row_, lp.num_col_
    return _finite(lp.row_lower_)[:m], _finite(lp.row_upper_)[:m], _finite(lp.col_lower_)[:n], _finite(lp.col_upper_)[:n]


def _finite(side: Any) -> FloatArray:
    """Return bounds, infinite from `_INFINITE` on."""
    values = np.asarray(side, dtype=np.float64)
    return np.where(np.abs(values) >= _INFINITE, np.copysign(np.inf, values), values)


def _quadratic_value(hessian: Any, x: FloatArray) -> float:
    """Return ½x'Px from the entries that HiGHS holds; an entry off the diagonal of a triangle stands for two."""
    import highspy

    if not hessian.dim_:
        return 0.0
    rows, starts = np.asarray(hessian.index_), np.asarray(hessian.start_)
    columns = np.repeat(np.arange(hessian.dim_), np.diff(starts))
    off_diagonal = (rows != columns) & (hessian.format_ == highspy.HessianFormat.kTriangular)
    return float(np.sum(np.where(off_diagonal, 1.0, 0.5) * np.asarray(hessian.value_) * x[rows] * x[columns]))


def _hessian(hessian: Any, n: int, sign: float) -> sp.csc_array | None:
    """Return P times ``sign`` from the lower triangle (or the whole matrix) that HiGHS holds; None for a linear program."""
    import highspy

    if not hessian.dim_:
        return None
    part = sp.csc_array((np.asarray(hessian.value_), np.asarray(hessian.index_), np.asarray(hessian.start_)), shape=(n, n))
    if hessian.format_ == highspy.HessianFormat.kTriangular:
        part = part + part.T - sp.diags_array(part.diagonal(), format="csc")
    return sp.csc_array(sign * part)
