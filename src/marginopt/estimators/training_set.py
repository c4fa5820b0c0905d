"""An estimator's training set as binary problems in a feature space (`WeightedPoints`, `FeatureSpace`), and its `Predictor`.

``fit`` of an estimator merges equal points, scales features, states one model for each binary problem (two classes, or one
against the rest), and makes of the models' solutions a `Predictor`, which scores new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, IntArray, Points, as_vector, to_dense
from ..models.formulations.features import KernelFeatures
from ..models.formulations.margin.model import Margin
from ..models.kernels.kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from ..solvers.certification.result import Result


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """The points of positive weight in a training set, each with its weight; equal points may be merged.

    Parameters
    ----------
    rows : ndarray of int (m,)
        For each distinct point, the row of its first copy in the training set.
    weight : ndarray (m,)
        For each distinct point, the sum of the weights of its copies.
    points : ndarray of int (k,)
        The rows of positive weight, copies included.
    member : ndarray of int (k,)
        For each of ``points``, its distinct point, an index of ``rows``.
    share : ndarray (k,)
        For each of ``points``, its weight divided by that of its distinct point.
    """

    rows: IntArray
    weight: FloatArray
    points: IntArray
    member: IntArray
    share: FloatArray

    @classmethod
    def merged(cls, X: Points, y: IntArray, weights: FloatArray) -> WeightedPoints:
        """Return the points of positive weight, those with equal rows and labels as one, in an order by their values alone.

        A point of weight k and k copies of it then state the same problem, to the last bit: the solutions agree whatever the
        solver's tolerance.
        """
        points = np.flatnonzero(weights > 0)
        keys = _row_bytes(X, points)
        labelled = [(int(y[i]), key) for i, key in zip(points, keys, strict=True)]
        order = {key: g for g, key in enumerate(sorted(set(labelled)))}
        member = np.array([order[key] for key in labelled], dtype=np.int64)
        weight = np.bincount(member, weights=weights[points], minlength=len(order)).astype(np.float64)
        rows = np.empty(len(order), dtype=np.int64)
        rows[member[::-1]] = points[::-1]  # the first copy is written last
        return cls(rows, weight, points, member, weights[points] / weight[member])

    @classmethod
    def separate(cls, weights: FloatArray) -> WeightedPoints:
        """Return the points of positive weight in their order, without merging equal ones."""
        points = np.flatnonzero(weights > 0)
        return cls(points, weights[points], points, np.arange(points.size), np.ones(points.size))


def _row_bytes(X: Points, points: IntArray) -> list[bytes]:
    """Return one key for each row, equal exactly where the rows are equal; -0 equals 0, and a stored zero an absent entry."""
    if isinstance(X, np.ndarray):
        return [row.tobytes() for row in X[points] + 0.0]
    clean = sp.csr_array(X[points], copy=True)
    clean.sum_duplicates()
    clean.eliminate_zeros()
    bounds = zip(clean.indptr[:-1], clean.indptr[1:], strict=True)
    return [clean.indices[a:b].astype(np.int64).tobytes() + clean.data[a:b].tobytes() for a, b in bounds]


@dataclass(frozen=True, eq=False)
class BinaryProblem:
    """One binary problem of a classifier.

    Attributes
    ----------
    index : ndarray of int (n,)
        Its points, as indices of `WeightedPoints.rows`.
    labels : ndarray (n,)
        Their labels, -1 or +1.
    negative, positive : int
        The codes of the classes labelled -1 and +1; ``negative`` is -1 if all other classes are labelled -1.
    """

    index: IntArray
    labels: FloatArray
    negative: int
    positive: int


def binary_problems(codes: IntArray, classes: int, scheme: str) -> list[BinaryProblem]:
    """Return the binary problems of class codes: one for each pair of classes ("ovo", or two classes), or each class ("ovr")."""
    if scheme not in ("ovo", "ovr"):
        raise InputError(
            f"multi_class must be 'ovo' (one against one) or 'ovr' (one against the rest); it is {short_text(scheme)}",
            name="multi_class",
        )
    if scheme == "ovo" or classes == 2:
        pairs = []
        for i, j in combinations(range(classes), 2):
            index = np.flatnonzero((codes == i) | (codes == j))
            pairs.append(BinaryProblem(index, np.where(codes[index] == j, 1.0, -1.0), i, j))
        return pairs
    everyone = np.arange(codes.size)
    return [BinaryProblem(everyone, np.where(codes == k, 1.0, -1.0), -1, k) for k in range(classes)]


def class_scores(scores: FloatArray, pairs: Sequence[BinaryProblem], classes: int) -> FloatArray:
    """Return the scores of the classes (n × K) from those of the binary problems (n × problems).

    One against the rest: the scores themselves. One against one: the votes, with the summed scores of the pairs squeezed into
    (-1/3, 1/3) added, so that they decide ties alone.
    """
    if pairs[0].negative < 0:
        return scores
    votes = np.zeros((scores.shape[0], classes))
    confidence = np.zeros_like(votes)
    for k, pair in enumerate(pairs):
        wins = scores[:, k] > 0
        votes[:, pair.positive] += wins
        votes[:, pair.negative] += ~wins
        confidence[:, pair.positive] += scores[:, k]
        confidence[:, pair.negative] -= scores[:, k]
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


@dataclass(frozen=True, eq=False)
class Scaling:
    """The standardisation x_j ↦ (x_j - shift_j)·factor_j; sparse data are not shifted, which would fill them.

    Parameters
    ----------
    shift : ndarray (p,) or None
        The mean of each feature; None for no shift.
    factor : ndarray (p,) or None
        One over the standard deviation of each feature; 0 for constant features, which the intercept replaces. None: all ones.
    """

    shift: FloatArray | None = None
    factor: FloatArray | None = None

    @classmethod
    def of(cls, X: Points, weights: FloatArray) -> Scaling:
        """Return the scaling by means and deviations (divisor Σw) of X; a row of weight k counts as k rows."""
        total = float(weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.asarray(X.T @ weights) / total
            if isinstance(X, np.ndarray):
                mean = mean + weights @ (X - mean) / total  # the rounding of a long sum of large numbers
                variance = weights @ (X - mean) ** 2 / total
                largest = np.abs(X).max(axis=0)
            else:
                of_entry = np.repeat(weights, np.diff(X.indptr))
                stored = np.bincount(X.indices, weights=of_entry, minlength=X.shape[1])
                squares = np.bincount(X.indices, weights=of_entry * (X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
                variance = (squares + np.maximum(total - stored, 0.0) * mean**2) / total
                largest = abs(X).max(axis=0).toarray().ravel()
        if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
            raise InputError(
                "X holds values too large to standardise: their variance is not finite in float64; rescale them", name="X"
            )
        deviation = np.sqrt(variance)
        # the mean of equal numbers is off by a few roundings, so a constant feature shows a deviation of that size
        constant = deviation <= 8.0 * np.finfo(np.float64).eps * largest
        factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, deviation))
        return cls(mean if isinstance(X, np.ndarray) else None, factor)

    def transform(self, X: Points) -> Points:
        """Return the scaled rows; sparse rows stay sparse where there is no shift."""
        if self.factor is None:
            return X
        if self.shift is not None:
            return np.asarray((to_dense(X) - self.shift) * self.factor)
        return X * self.factor if isinstance(X, np.ndarray) else sp.csr_array(X @ sp.diags_array(self.factor))

    def unscale(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients (k × p) and intercepts (k) of the original features, from those of the scaled features."""
        if self.factor is None:
            return coef, intercept
        plain = coef * self.factor
        return plain, intercept if self.shift is None else intercept - plain @ self.shift


def sample_weights(sample_weight: object, X: Points) -> FloatArray:
    """Return the weights ≥ 0, one for each row; ones where none are given."""
    n = int(X.shape[0])
    if sample_weight is None:
        return np.ones(n)
    weights = as_vector(sample_weight, n, "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight must be ≥ 0; its least entry is {weights.min():g}", name="sample_weight")
    if not weights.any():
        raise InputError(
            "sample_weight must have a positive entry; all are zero, which leaves no class to learn", name="sample_weight"
        )
    return weights


def class_weights(class_weight: object, classes: np.ndarray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Return one factor for each of K classes: 1, the user's, or for "balanced" Σw/(K Σ_class w) of the points' weights w."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(weights.sum() / (classes.size * np.bincount(codes, weights=weights, minlength=classes.size)))
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight must be None, 'balanced' or a mapping of class to weight; it is {short_text(class_weight)}",
            name="class_weight",
        )
    labels = classes.tolist()
    strangers = [key for key in class_weight if key not in labels]
    if strangers:
        raise InputError(
            f"class_weight has no class {short_text(strangers[0])} in y; "
            f"the classes are {', '.join(repr(label) for label in labels[:20])}",
            name="class_weight",
        )
    factors = as_vector([class_weight.get(label, 1.0) for label in labels], classes.size, "class_weight")
    if not (factors > 0).all():
        raise InputError(f"class_weight must be > 0 for every class; the least is {factors.min():g}", name="class_weight")
    return factors


#: Entries of a kernel matrix that a prediction computes at once: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True, eq=False)
class Solution:
    """The classifier, or regression function, that a solution of one problem gives.

    Parameters
    ----------
    coefficients : ndarray
        Coefficients of the features; with a kernel, of the problem's points.
    intercept : float
        The constant of the decision function.
    metric : ndarray, optional
        √γ of the Gaussian kernel that the solve chose, a number or one for each feature.
    origin : ndarray (p,), optional
        The mean that the model subtracts from its points (with the linear kernel, for accuracy); None for 0.
    """

    coefficients: FloatArray
    intercept: float
    metric: FloatArray | None = None
    origin: FloatArray | None = None


class Predictor(ABC):
    """The interface of the fitted decision functions of all binary problems, which score new rows."""

    @abstractmethod
    def scores(self, X: Points) -> FloatArray:
        """Return the decision function of each problem (n × problems)."""

    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator, by name."""


class FeatureSpace(ABC):
    """The interface of the training points as models take them: scaled features (``kernel`` is None), or points with a kernel."""

    kernel: Kernel | None

    @abstractmethod
    def take(self, index: IntArray) -> Points:
        """Return the data of the points at these places, for the model of one binary problem."""

    @abstractmethod
    def predictor(self, sample: WeightedPoints, pairs: Sequence[BinaryProblem], solutions: Sequence[Solution]) -> Predictor:
        """Return the decision functions of all problems' solutions."""


@dataclass(frozen=True, eq=False)
class LinearSpace(FeatureSpace):
    """The feature space of linear classifiers: scaled features with a first column of ones."""

    #: The training points (m × (1 + p)): a column of ones, then the scaled features.
    Z: Points
    #: The scaling of the features.
    scaling: Scaling
    #: None: functions are linear in the features.
    kernel: None = field(default=None, init=False)

    @classmethod
    def of(cls, X: Points, scaling: Scaling) -> LinearSpace:
        """Return the space of the rows X, scaled and with a column of ones before them."""
        Z, ones = scaling.transform(X), np.ones((X.shape[0], 1))
        if isinstance(Z, np.ndarray):
            return cls(np.hstack([ones, Z]), scaling)
        return cls(sp.csr_array(sp.hstack([sp.csr_array(ones), Z], format="csr")), scaling)

    def take(self, index: IntArray) -> Points:
        """Return these rows."""
        return self.Z[index]

    def predictor(self, sample: WeightedPoints, pairs: Sequence[BinaryProblem], solutions: Sequence[Solution]) -> LinearPredictor:
        """Return the linear functions of the scaled features."""
        coef = np.array([s.coefficients for s in solutions])
        return LinearPredictor(coef, np.array([s.intercept for s in solutions]), self.scaling)


@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """The linear decision functions z'w + b of all binary problems, where z is a scaled row.

    Rows are scaled before the product: x'w of unscaled rows cancels against an intercept -w'mean where the mean is large.
    """

    #: Coefficients of the scaled features (problems × p).
    coef: FloatArray
    #: Intercepts (problems,).
    intercept: FloatArray
    #: The scaling of the features.
    scaling: Scaling

    def scores(self, X: Points) -> FloatArray:
        """Return Z coef' + intercept, in blocks of rows."""
        step = max(1, _BLOCK_ENTRIES // max(1, X.shape[1]))
        blocks = [np.asarray(self.scaling.transform(X[i : i + step]) @ self.coef.T) for i in range(0, X.shape[0], step)]
        return np.concatenate(blocks) + self.intercept

    def attributes(self) -> dict[str, Any]:
        """Return ``coef_`` (problems × p) and ``intercept_`` (problems,) of the original features, by name."""
        coef, intercept = self.scaling.unscale(self.coef, self.intercept)
        return {"coef_": coef, "intercept_": intercept}


@dataclass(frozen=True, eq=False)
class KernelSpace(FeatureSpace):
    """The feature space of a kernel: scaled points and the fitted kernel, or rows and columns of a precomputed matrix."""

    #: The scaled training points (m × p), or the precomputed kernel matrix of them (m × m).
    Z: Points
    #: The scaling of the features; the identity for a precomputed kernel.
    scaling: Scaling
    #: The kernel, with γ as a number.
    kernel: Kernel

    @classmethod
    def of(cls, X: Points, rows: IntArray, scaling: Scaling, kernel: Kernel, weights: FloatArray) -> KernelSpace:
        """Return the space of the given rows of X, scaled, with the kernel whose rule for γ is applied to them."""
        if isinstance(kernel, Precomputed):
            if X.shape[0] != X.shape[1]:
                raise InputError(f"kernel='precomputed' needs X to be the square kernel matrix; its shape is {X.shape}", name="X")
            return cls(X[rows][:, rows], scaling, kernel)
        Z = scaling.transform(X[rows])
        return cls(Z, scaling, kernel.fitted(Z, weights))

    def take(self, index: IntArray) -> Points:
        """Return these rows; of a kernel matrix rows and columns."""
        return self.Z[index][:, index] if isinstance(self.kernel, Precomputed) else self.Z[index]

    def predictor(self, sample: WeightedPoints, pairs: Sequence[BinaryProblem], solutions: Sequence[Solution]) -> KernelPredictor:
        """Return every problem's expansion in the union of their support vectors; copies of a point share its coefficient."""
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
            origins=[s.origin for s in solutions] if isinstance(self.kernel, Linear) else None,
        )


@dataclass(frozen=True, eq=False)
class KernelPredictor(Predictor):
    """The kernel expansions Σ_j c_j k(x_j, x) + b of all binary problems.

    Parameters
    ----------
    kernel : Kernel
        k.
    scaling : Scaling
        The scaling of rows before the kernel is evaluated.
    vectors : ndarray or csr_array
        Distinct support vectors, scaled; their columns of the kernel matrix where it is precomputed.
    merged : ndarray (problems, distinct support vectors)
        The coefficients c_j of the distinct support vectors.
    intercept : ndarray (problems,)
        The intercepts b.
    support : ndarray of int
        Rows of the support vectors in the training set, copies included.
    dual : ndarray (problems, support vectors)
        The coefficients of ``support``.
    metrics : list of ndarray or None
        √γ of every problem, where each has a Gaussian kernel of its own.
    origins : list of (ndarray or None) or None
        With the linear kernel, `Solution.origin` of each problem; None with other kernels.
    """

    kernel: Kernel
    scaling: Scaling
    vectors: Any
    merged: FloatArray
    intercept: FloatArray
    support: IntArray
    dual: FloatArray
    metrics: list[FloatArray] | None = None
    origins: list[FloatArray | None] | None = None

    def scores(self, X: Points) -> FloatArray:
        """Return the scores of rows (n × problems), in blocks of rows; problems with one kernel share its values."""
        if isinstance(self.kernel, Precomputed):
            return to_dense(X[:, self.vectors]) @ self.merged.T + self.intercept
        Z = self.scaling.transform(X)
        if self.origins is not None:
            return np.column_stack([self._products(Z, k, origin) for k, origin in enumerate(self.origins)]) + self.intercept
        step = max(1, _BLOCK_ENTRIES // max(1, self.vectors.shape[0]))
        return np.concatenate([self._block(Z[i : i + step]) for i in range(0, Z.shape[0], step)])

    def _products(self, Z: Points, k: int, origin: FloatArray | None) -> FloatArray:
        """Return Σ_j c_j (z_j - origin)'(z - origin) of problem k, with the linear kernel."""
        rows = Z if origin is None else to_dense(Z) - origin
        return np.asarray(rows @ self._normal(k, origin))

    def _normal(self, k: int, origin: FloatArray | None) -> FloatArray:
        """Return Σ_j c_j (z_j - origin) of problem k."""
        vectors = self.vectors if origin is None else to_dense(self.vectors) - origin
        return np.asarray(vectors.T @ self.merged[k])

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
        """Return ``support_``, ``dual_coef_`` (problems × support vectors), ``intercept_`` and the shared ``kernel_``, by name.

        The intercept is that of rows that are scaled and not moved by an origin: models with an origin have Σ c_j = 0.
        """
        intercept = self.intercept.copy()
        for k, origin in enumerate(self.origins or []):
            intercept[k] -= 0.0 if origin is None else float(self._normal(k, origin) @ origin)
        shown = {"support_": self.support, "dual_coef_": self.dual, "intercept_": intercept}
        return shown if self.metrics is not None else {**shown, "kernel_": self.kernel}


def make_kernel(kernel: object, gamma: Any, degree: Any, coef0: Any) -> Kernel:
    """Return the kernel that an estimator's parameters name; a rule for γ is applied later, by `Kernel.fitted`."""
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
        f"(X, Z); it is {short_text(kernel)}",
        name="kernel",
    )


def is_precomputed(kernel: object) -> bool:
    """Return whether an estimator's kernel parameter says that X is a kernel matrix."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def is_linear(kernel: object) -> bool:
    """Return whether an estimator's kernel parameter is the linear kernel."""
    return isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear")


#: Share of its bound below which a multiplier is the solver's rounding.
_ROUNDING = 1e-8


def expansion_coefficients(composed: Margin, result: Result) -> FloatArray:
    """Return the β (n,) of w = Σ β_i φ(x_i), for a `Margin` with ½||w||² and a kernel: the multipliers, few of them not zero.

    At a duality gap δ the norm of w - Σ β_i φ(x_i) is at most √(2δ). Without multipliers β follows from w, and is dense.
    """
    conjugate = composed.loss.conjugate()
    if conjugate is None or result.multipliers is None:
        assert isinstance(composed.features, KernelFeatures)
        return composed.features.coordinates.coefficients(result.values["w"][1:])
    signs = composed.y if composed.loss.reads_class_labels else 1.0
    beta = np.asarray(conjugate.sign * conjugate.feasible_beta(result.multipliers, composed.costs) * signs)
    beta[np.abs(beta) <= _ROUNDING * composed.costs] = 0.0
    return beta
