"""Where binary problems are stated and scored: features with an intercept, or a kernel over the training points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, Points, to_dense
from ..models.kernels.kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from .multiclass import Pair
from .training_set import Sample, Scaling

__all__ = [
    "KernelPredictor",
    "KernelSpace",
    "LinearPredictor",
    "LinearSpace",
    "Predictor",
    "Solution",
    "Space",
    "is_precomputed",
    "make_kernel",
]

#: Entries of a kernel matrix that a prediction computes at once: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True, eq=False)
class Solution:
    """A binary classifier: coefficients of the features or of the points, and the intercept.

    ``metric`` scales the features of a Gaussian kernel of its own (√γ, a number or one for each feature).
    """

    coefficients: FloatArray
    intercept: float
    metric: FloatArray | None = None


class Predictor(ABC):
    """Scores of all binary problems for new rows."""

    @abstractmethod
    def scores(self, X: Points) -> FloatArray:
        """n × problems."""

    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that an estimator shows."""


class Space(ABC):
    """Prepared training points, as the models take them."""

    @abstractmethod
    def take(self, index: IntArray) -> Points:
        """The data of one problem's points."""

    @abstractmethod
    def predictor(self, sample: Sample, pairs: Sequence[Pair], solutions: Sequence[Solution]) -> Predictor:
        """The classifier of all problems' solutions."""


@dataclass(frozen=True, eq=False)
class LinearSpace(Space):
    """Scaled features with a first column of ones."""

    Z: Points
    scaling: Scaling

    @classmethod
    def of(cls, X: Points, scaling: Scaling) -> LinearSpace:
        """The rows X, scaled, with their ones."""
        Z, ones = scaling.transform(X), np.ones((X.shape[0], 1))
        joined = (
            np.hstack([ones, Z]) if isinstance(Z, np.ndarray) else sp.csr_array(sp.hstack([sp.csr_array(ones), Z], format="csr"))
        )
        return cls(joined, scaling)

    def take(self, index: IntArray) -> Points:
        """Rows."""
        return self.Z[index]

    def predictor(self, sample: Sample, pairs: Sequence[Pair], solutions: Sequence[Solution]) -> LinearPredictor:
        """Coefficients for rows as they come."""
        coef = np.array([s.coefficients for s in solutions])
        return LinearPredictor(*self.scaling.undone(coef, np.array([s.intercept for s in solutions])))


@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """x'w + b of every problem."""

    coef: FloatArray
    intercept: FloatArray

    def scores(self, X: Points) -> FloatArray:
        """X coef' + intercept."""
        return np.asarray(X @ self.coef.T) + self.intercept

    def attributes(self) -> dict[str, Any]:
        """``coef_`` (problems × p) and ``intercept_`` (problems)."""
        return {"coef_": self.coef, "intercept_": self.intercept}


@dataclass(frozen=True, eq=False)
class KernelSpace(Space):
    """Scaled points and a fitted kernel; a precomputed kernel's points are rows and columns of its matrix."""

    Z: Points
    scaling: Scaling
    kernel: Kernel

    @classmethod
    def of(cls, X: Points, rows: IntArray, scaling: Scaling, kernel: Kernel, weights: FloatArray) -> KernelSpace:
        """The given rows of X, and the kernel with its rule for γ applied to them."""
        if isinstance(kernel, Precomputed):
            if X.shape[0] != X.shape[1]:
                raise InputError(f"kernel='precomputed' needs X to be the square kernel matrix; its shape is {X.shape}")
            return cls(X[rows][:, rows], scaling, kernel)
        Z = scaling.transform(X[rows])
        return cls(Z, scaling, kernel.fitted(Z, weights))

    def take(self, index: IntArray) -> Points:
        """Rows; rows and columns of a kernel matrix."""
        return self.Z[index][:, index] if isinstance(self.kernel, Precomputed) else self.Z[index]

    def predictor(self, sample: Sample, pairs: Sequence[Pair], solutions: Sequence[Solution]) -> KernelPredictor:
        """Every problem's coefficients on the union of their support vectors; copies share those of the point they make up."""
        dense = np.zeros((len(solutions), sample.rows.size))
        for k, (pair, solution) in enumerate(zip(pairs, solutions, strict=True)):
            dense[k, pair.index] = solution.coefficients
        used = np.flatnonzero(dense.any(axis=0))
        copies = np.flatnonzero(np.isin(sample.member, used))
        copies = copies[np.argsort(sample.points[copies], kind="stable")]
        vectors = sample.rows[used] if isinstance(self.kernel, Precomputed) else self.Z[used]
        metrics = [s.metric for s in solutions if s.metric is not None]
        return KernelPredictor(
            kernel=self.kernel,
            scaling=self.scaling,
            vectors=vectors,
            merged=dense[:, used],
            intercept=np.array([s.intercept for s in solutions]),
            support=sample.points[copies],
            dual=dense[:, sample.member[copies]] * sample.share[copies],
            metrics=metrics or None,
        )


@dataclass(frozen=True, eq=False)
class KernelPredictor(Predictor):
    """Σ_j c_j k(x_j, x) + b of every problem.

    Parameters
    ----------
    kernel, scaling
    vectors : ndarray or csr_array
        Distinct support vectors, scaled; their columns of the kernel matrix where it is precomputed.
    merged : ndarray (problems, distinct support vectors)
    intercept : ndarray (problems,)
    support : ndarray of int
        Support vectors among the training points, copies included.
    dual : ndarray (problems, support vectors)
        Their coefficients.
    metrics : list of ndarray or None
        √γ of every problem, where each has a Gaussian kernel of its own.
    """

    kernel: Kernel
    scaling: Scaling
    vectors: Any
    merged: FloatArray
    intercept: FloatArray
    support: IntArray
    dual: FloatArray
    metrics: list[FloatArray] | None = None

    def scores(self, X: Points) -> FloatArray:
        """One kernel evaluation for all problems (one a problem, where they have their own kernels), in blocks of rows."""
        if isinstance(self.kernel, Precomputed):
            return to_dense(X[:, self.vectors]) @ self.merged.T + self.intercept
        Z = self.scaling.transform(X)
        if isinstance(self.kernel, Linear):
            return np.asarray(Z @ (self.vectors.T @ self.merged.T)) + self.intercept
        step = max(1, _BLOCK_ENTRIES // max(1, self.vectors.shape[0]))
        return np.concatenate([self._block(Z[i : i + step]) for i in range(0, Z.shape[0], step)])

    def _block(self, Z: Points) -> FloatArray:
        if self.vectors.shape[0] == 0:
            return np.tile(self.intercept, (Z.shape[0], 1))
        if self.metrics is None:
            return self.kernel.matrix(Z, self.vectors) @ self.merged.T + self.intercept
        rows, vectors = to_dense(Z), to_dense(self.vectors)
        columns = [
            RBF(1.0).matrix(rows * metric, vectors * metric) @ weights
            for metric, weights in zip(self.metrics, self.merged, strict=True)
        ]
        return np.column_stack(columns) + self.intercept

    def attributes(self) -> dict[str, Any]:
        """``support_``, ``dual_coef_`` (problems × support vectors), ``intercept_``, and the ``kernel_`` that all share."""
        shown = {"support_": self.support, "dual_coef_": self.dual, "intercept_": self.intercept}
        return shown if self.metrics is not None else {**shown, "kernel_": self.kernel}


def make_kernel(kernel: object, gamma: Any, degree: Any, coef0: Any) -> Kernel:
    """A kernel (its rule for γ not yet applied) from what an estimator was given.

    Raises
    ------
    InputError
        No such kernel, or a parameter that it cannot have.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel == "linear":
            return Linear()
        if kernel == "rbf":
            return RBF() if gamma is None else RBF(gamma)
        if kernel in ("polynomial", "poly"):
            rule = Polynomial().gamma if gamma is None else gamma
            return Polynomial(degree, rule, coef0)
        if kernel == "precomputed":
            return Precomputed()
    elif callable(kernel):
        return CallableKernel(kernel)
    raise InputError(
        "kernel must be 'rbf', 'linear', 'polynomial' (or 'poly'), 'precomputed', a kernel such as RBF(gamma) or a function of "
        f"(X, Z); it is {kernel!r}"
    )


def is_precomputed(kernel: object) -> bool:
    """Whether X is to be a kernel matrix."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")
