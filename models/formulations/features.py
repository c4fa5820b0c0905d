"""Features of linear classifiers: the columns of the data or coordinates in a kernel's feature space, signed rows y_i x_i, checks
of the columns, and counts of violated margins and misclassified points.
"""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, MarginoptWarning, short_text
from ...rows import Rows
from ..arrays import BoolArray, FloatArray, Points, as_points, in_memory, row_norms_squared, to_dense
from ..kernels.feature_map import KernelCoordinates
from ..kernels.kernels import Kernel, as_kernel
from ..program.csr_rows import CSRRows

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
    """Return whether the first column of X is all ones: the column of an intercept."""
    if isinstance(X, Rows):  # one pass
        first = (np.arange(X.shape[1]) == 0).astype(np.float64)
        return all(bool((block @ first == 1.0).all()) for _, _, block in X.blocks())
    return bool((to_dense(X[:, [0]]) == 1.0).all())


def check_intercept(intercept: object, X: Points | Rows) -> None:
    """Raise `InputError` for an intercept that is not "penalised" or "free", or a free one without a first column of ones."""
    if intercept not in ("penalised", "free"):
        raise InputError(f"intercept must be 'penalised' or 'free'; it is {short_text(intercept)}", name="intercept")
    if intercept == "free" and not first_column_is_one(X):
        raise InputError(
            "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there",
            name="intercept",
        )


#: Frames from `warn_about_features` up to the caller of a formulation: through __post_init__, __init__ and the metaclass.
_CALLER = 5


def warn_about_features(X: Points | Rows) -> None:
    """Warn of a missing constant column, of equal columns of dense data, and of scales that differ by a factor above 1e3."""
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
    """Return the indices of two equal columns that are not zero, or None; equal random projections are the candidates."""
    probe = np.random.default_rng(0).standard_normal(X.shape[0])
    shadow = np.asarray(X.T @ probe)
    order = np.argsort(shadow, kind="stable")
    for i, j in itertools.pairwise(order[shadow[order] != 0]):
        similar = abs(shadow[i] - shadow[j]) <= 1e-12 * (1.0 + abs(shadow[i]))
        if similar and np.array_equal(to_dense(X[:, [i]]), to_dense(X[:, [j]])):
            return int(min(i, j)), int(max(i, j))
    return None


class Features(ABC):
    """Base class of the features in which scores are linear: one row for each point of the data, and those of new points."""

    @property
    @abstractmethod
    def rows(self) -> Points:
        """Return the features of the data in memory: one row for each point, one column for each coefficient."""

    @property
    def matrix(self) -> Points | Rows:
        """Return the features of the data for products with w, in memory or in blocks of rows."""
        return self.rows

    @property
    def width(self) -> int:
        """Return the number of coefficients."""
        return int(self.matrix.shape[1])

    @abstractmethod
    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Return the scores x'w of new points."""

    @abstractmethod
    def squares(self, X: object) -> FloatArray:
        """Return the squared norms x'x of the features of new points."""


@dataclass(frozen=True, eq=False)
class RawFeatures(Features):
    """The columns of the data ``X`` (n, p), in memory or in blocks of rows, as features of a linear classifier."""

    X: Points | Rows

    @property
    def rows(self) -> Points:
        """Return X, in memory."""
        return in_memory(self.X, "this")

    @property
    def matrix(self) -> Points | Rows:
        """Return X."""
        return self.X

    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Return Xw of new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ w)

    def squares(self, X: object) -> FloatArray:
        """Return the squared norms of new rows."""
        return row_norms_squared(as_points(X, columns=self.X.shape[1]))


@dataclass(frozen=True, eq=False)
class KernelFeatures(Features):
    """Kernel features: the images φ(x_i) of the points as coordinates in the kernel's feature space, after a one for the
    intercept if any.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points.
    kernel : Kernel
    intercept : bool
        Whether the first column is of ones.
    """

    X: Points
    kernel: Kernel
    intercept: bool

    @cached_property
    def coordinates(self) -> KernelCoordinates:
        """Return coordinates of the span of the points."""
        return KernelCoordinates(self.X, self.kernel)

    @cached_property
    def rows(self) -> Points:
        """Return the coordinates, after a column of ones for the intercept if any."""
        inner = self.coordinates.rows
        return np.column_stack([np.ones(inner.shape[0]), inner]) if self.intercept else inner

    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Return the scores Σ β_i k(x_i, x) of new points, β the weights of the points that w stands for, plus the intercept."""
        return self.coordinates.scores(w[1:], X) + w[0] if self.intercept else self.coordinates.scores(w, X)

    def squares(self, X: object) -> FloatArray:
        """Return k(x, x) of new points."""
        return self.coordinates.squared_norms(X)


def kernel_features_of(kernel: object, X: Points) -> KernelFeatures:
    """Return the kernel features of X, after a one for the intercept; ``kernel`` itself if it is those of X."""
    if isinstance(kernel, KernelFeatures):
        if X is kernel.rows or np.array_equal(X, kernel.rows):
            return kernel
        kernel = kernel.kernel
    return KernelFeatures(X, as_kernel(kernel, X), True)


def linear_summary(X: Points | Rows, y: FloatArray, w: FloatArray) -> dict[str, float]:
    """Return the norm of w and the numbers of margins u_i = y_i x_i'w below 1 (beyond rounding) and of misclassified points."""
    return margin_figures(y * np.asarray(X @ w), w)


def margin_figures(u: FloatArray, w: FloatArray, required: float | None = 1.0) -> dict[str, float]:
    """Return the norm of w and the numbers of margins u below ``required`` (beyond rounding; None stands for 1) and below 0."""
    required = 1.0 if required is None else required
    return {
        "norm": float(np.linalg.norm(w)),
        "margin_violations": float((u < required * (1.0 - 1e-9)).sum()),
        "misclassified": float((u < 0.0).sum()),
    }
