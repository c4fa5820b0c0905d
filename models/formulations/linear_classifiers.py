"""Helpers that formulations of linear classifiers share: signed rows y_i x_i', checks of λ and the intercept, warnings on
features, and figures of w.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, MarginoptWarning
from ...rows import Rows
from ..arrays import BoolArray, FloatArray, Points, as_vector, to_dense
from ..program.csr_rows import CSRRows
from ..record import Parameter
from ..statement import Line

#: The parameters of a loss that counts violations, in its two forms.
COST_OR_SHARE = (
    Parameter("lam", "λ, cost of a violated margin; 1 where neither it nor κ is given"),
    Parameter("kappa", "κ, share of the margins that may be violated, in place of λ"),
)
#: Ratio of feature scales from which solvers' tolerances stop meaning the same for every feature.
_SCALE_RATIO = 1e3


def signed_rows(X: Points, y: FloatArray) -> sp.csr_array:
    """Return the rows y_i x_i' as CSR."""
    if isinstance(X, np.ndarray):
        return CSRRows.from_matrix(y[:, None] * X).csr
    return CSRRows.from_matrix(sp.csr_array(X)).scale_rows(y).csr


def dense_signed_rows(X: Points, y: FloatArray) -> FloatArray:
    """Return the rows y_i x_i' as a dense array."""
    return np.ascontiguousarray(y[:, None] * to_dense(X))


def has_constant_column(X: Points) -> bool:
    """Return whether some column of X is constant and not zero (an intercept)."""
    return bool(constant_columns(X).any())


def first_column_is_one(X: Points | Rows) -> bool:
    """Return whether the first column of X is all ones: an intercept that can be left out of the norm."""
    if isinstance(X, Rows):  # one pass
        first = (np.arange(X.shape[1]) == 0).astype(np.float64)
        return all(bool((block @ first == 1.0).all()) for _, _, block in X.blocks())
    return bool((to_dense(X[:, [0]]) == 1.0).all())


def check_intercept(intercept: object, X: Points | Rows) -> None:
    """Raise `InputError` for an intercept that is not "penalised" or "free", or a free one without a first column of ones."""
    if intercept not in ("penalised", "free"):
        raise InputError(f"intercept must be 'penalised' or 'free'; it is {intercept!r}", name="intercept")
    if intercept == "free" and not first_column_is_one(X):
        raise InputError(
            "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there",
            name="intercept",
        )


def as_lam(lam: float | FloatArray, n: int, name: str = "lam") -> float | FloatArray:
    """Check costs λ > 0: one number, or one for each of n points."""
    prices = as_vector(lam, n, name)
    if not (prices > 0).all():
        raise InputError(f"{name} must be > 0; it is {prices.min():g}", name=name)
    return float(prices[0]) if np.ndim(lam) == 0 else prices


def lam_sum_line(lam: float | FloatArray, term: Line) -> Line:
    """Return the statement's line λ Σ term, or Σ λ_i term_i where each point has its own λ_i."""
    if np.ndim(lam) == 0:
        return Line(f"lam sum_i {term.text}", rf"\lambda\sum_{{i=1}}^n {term.latex}")
    return Line(f"sum_i lam_i {term.text}", rf"\sum_{{i=1}}^n \lambda_i {term.latex}")


def lam_text(price: float | FloatArray, name: str = "lam") -> str:
    """Return "lam = 2", or the range of λ_i where points have their own."""
    low, high = f"{np.min(price):g}", f"{np.max(price):g}"
    return f"{name} = {low}" if low == high else f"{name} = {low} .. {high}"


#: Frames up to the caller of a formulation: this function, the check, __init__, the formulation's type.
_CALLER = 5


def warn_about_features(X: Points | Rows) -> None:
    """Warn of a missing constant column, and of features whose scales differ by a factor of 1e3; the warning names the remedy."""
    constant = constant_columns(X)
    if not constant.any():
        message = "X has no constant column, so the classifier has no intercept; Instance.prepared(intercept=True) puts one first"
        warnings.warn(MarginoptWarning(message, name="intercept"), stacklevel=_CALLER)
    twins = _equal_columns(X) if isinstance(X, np.ndarray) else None  # of sparse rows, rare words are equal as a rule
    if twins is not None:
        message = (
            f"columns {twins[0]} and {twins[1]} of X are equal: the weights share what one column says, and a norm counts it "
            "less; drop one of them"
        )
        warnings.warn(MarginoptWarning(message, name="X"), stacklevel=_CALLER)
    scales = np.sqrt(_mean_squares(X))
    scales = scales[scales > 0]
    if scales.size and scales.max() > _SCALE_RATIO * scales.min():
        message = (
            f"the features' scales differ by a factor of {scales.max() / scales.min():.1g}: a norm penalises them unequally "
            "and solvers lose accuracy; Instance.prepared(standardise=True) gives them mean 0 and deviation 1"
        )
        warnings.warn(MarginoptWarning(message, name="standardise"), stacklevel=_CALLER)


def linear_summary(X: Points | Rows, y: FloatArray, w: FloatArray) -> dict[str, float]:
    """Return the norm of w and the numbers of margin violations (u < 1 beyond rounding) and misclassified points (u < 0)."""
    return margin_figures(y * np.asarray(X @ w), w)


def margin_figures(u: FloatArray, w: FloatArray, required: float | None = 1.0) -> dict[str, float]:
    """Return the norm of w and the numbers of margins u below the required one (beyond rounding; None is 1) and below 0."""
    required = 1.0 if required is None else required
    return {
        "norm": float(np.linalg.norm(w)),
        "margin_violations": float((u < required * (1.0 - 1e-9)).sum()),
        "misclassified": float((u < 0.0).sum()),
    }


def _mean_squares(X: Points | Rows) -> FloatArray:
    if isinstance(X, Rows):
        return X.columns.mean_squares
    if isinstance(X, np.ndarray):
        return np.asarray((X * X).mean(axis=0))
    return CSRRows.from_matrix(X).column_squares / X.shape[0]


def constant_columns(X: Points | Rows) -> BoolArray:
    """Return the mask of the columns whose entries are all the same number, which is not 0."""
    if isinstance(X, Rows):
        return np.asarray((X.columns.high == X.columns.low) & (X.columns.high != 0))
    if isinstance(X, np.ndarray):
        high, low = X.max(axis=0), X.min(axis=0)
    else:  # a column of sparse rows can be constant only if it is full
        counts = np.bincount(X.indices, minlength=X.shape[1]) if X.format == "csr" else np.diff(sp.csc_array(X).indptr)
        full = np.flatnonzero(counts >= X.shape[0])
        high, low = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        if full.size:
            columns = X[:, full]
            high[full], low[full] = columns.max(axis=0).toarray().ravel(), columns.min(axis=0).toarray().ravel()
    return np.asarray((high == low) & (high != 0))


def _equal_columns(X: Points) -> tuple[int, int] | None:
    """Return two equal columns that are not zero, or None: candidates by equal random projections, then compared."""
    probe = np.random.default_rng(0).standard_normal(X.shape[0])
    shadow = np.asarray(X.T @ probe)
    order = np.argsort(shadow, kind="stable")
    for i, j in itertools.pairwise(order[shadow[order] != 0]):
        similar = abs(shadow[i] - shadow[j]) <= 1e-12 * (1.0 + abs(shadow[i]))
        if similar and np.array_equal(to_dense(X[:, [i]]), to_dense(X[:, [j]])):
            return int(min(i, j)), int(max(i, j))
    return None
