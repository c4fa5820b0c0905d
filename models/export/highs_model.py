"""Export of a standard form with linear rows as a HiGHS model, and changes of a loaded model in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray
from ..deadline import check_scan
from ..program.csr_rows import changed_entries
from ..program.form import StandardForm
from .file_programs import FlatProgram

#: Passes over a triangle of P that take as long as handing it to HiGHS, for the estimate of `check_scan`.
_SCANS = 14


#: Distance up to which an integer variable's bound counts as the whole number beside it.
_WHOLE = 1e-9


def _bounds(form: StandardForm) -> tuple[FloatArray, FloatArray]:
    """Return the bounds, those of integers moved inwards to whole numbers where one lies between them.

    HiGHS 1.15's presolve cuts off the optimum of integers with bounds of 0.5.
    """
    lower, upper = np.ceil(form.lower - _WHOLE), np.floor(form.upper + _WHOLE)
    rounded = form.integer & (lower <= upper)
    return np.where(rounded, lower, form.lower), np.where(rounded, upper, form.upper)


def to_highs(highspy: Any, form: StandardForm) -> Any:
    """Return the form as a ``highspy.HighsModel``: min ½x'Px + q'x + r with rows F x ≥ -g or = -g, and P's lower triangle.

    ``highspy`` is the imported package.
    """
    flat = FlatProgram.of(form, quadratic=False)
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = form.n, flat.b.size
    lp.col_cost_, lp.offset_ = np.array(form.q), form.r
    lp.col_lower_, lp.col_upper_ = _bounds(form)
    lp.row_lower_, lp.row_upper_ = flat.b, np.where(flat.equal, flat.b, np.inf)
    A = sp.csr_array(flat.A)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.num_col_, matrix.num_row_ = form.n, flat.b.size
    matrix.start_, matrix.index_, matrix.value_ = A.indptr, A.indices, A.data
    if form.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(integer)] for integer in form.integer]
    lower = None if form.quadratic is None else form.quadratic.lower
    if lower is not None and lower.nnz:
        check_scan(_SCANS * lower.nnz)
        hessian = model.hessian_
        hessian.dim_, hessian.format_ = form.n, highspy.HessianFormat.kTriangular
        hessian.start_, hessian.index_, hessian.value_ = lower.indptr, lower.indices, lower.data
    return model


def change_highs(highspy: Any, highs: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the model of ``old`` in ``highs``, a ``highspy.Highs`` object, into that of ``form`` in place.

    ``parts`` names the differences, of q, r, bounds, P, F and g; the costs q are always set.
    """
    columns = np.arange(form.n, dtype=np.int32)
    # proximal steps of the HiGHS backend may have set other costs
    highs.changeColsCost(form.n, columns, np.array(form.q))
    if "r" in parts:
        highs.changeObjectiveOffset(float(form.r))
    if "bounds" in parts:
        highs.changeColsBounds(form.n, columns, *_bounds(form))
    if "P" in parts:
        assert form.quadratic is not None
        lower = form.quadratic.lower
        kind = int(highspy.HessianFormat.kTriangular)
        starts = np.asarray(lower.indptr[:-1], dtype=np.int32)
        highs.passHessian(form.n, lower.nnz, kind, starts, np.asarray(lower.indices, dtype=np.int32), lower.data)
    if parts & {"F", "g"}:
        flat = FlatProgram.of(form, quadratic=False)
        if "g" in parts:
            rows = np.arange(flat.b.size, dtype=np.int32)
            highs.changeRowsBounds(flat.b.size, rows, flat.b, np.where(flat.equal, flat.b, np.inf))
        if "F" in parts:
            entries = changed_entries(old.rows_matrix()[0], flat.A)
            for i, j, value in zip(*entries, strict=True):
                highs.changeCoeff(i, j, value)
