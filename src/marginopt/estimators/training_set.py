"""The preparation of data by every estimator: weights, merged copies, scaled features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, Points, as_vector, to_dense

__all__ = ["Sample", "Scaling", "class_weights", "sample_weights"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The points of a training set that count, equal ones merged.

    Parameters
    ----------
    rows : ndarray of int (m,)
        Number of each distinct point's first copy in the training set.
    weight : ndarray (m,)
        Its weight: the sum over its copies.
    points, member, share : ndarray (k,)
        The points of positive weight, the distinct point each of them is a copy of, and its part of that point's weight.
    """

    rows: IntArray
    weight: FloatArray
    points: IntArray
    member: IntArray
    share: FloatArray

    @classmethod
    def plain(cls, n: int) -> Sample:
        """n points as they are."""
        index, ones = np.arange(n), np.ones(n)
        return cls(index, ones, index, index, ones)

    @classmethod
    def merged(cls, X: Points, y: IntArray, weights: FloatArray) -> Sample:
        """Points with equal rows and equal labels become one, in an order that depends on nothing but their values.

        So a point of weight k and k copies of it state *one and the same* problem, to the last bit: the solutions agree whatever
        the solver's tolerance. Points of weight zero are left out.
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


def _row_bytes(X: Points, points: IntArray) -> list[bytes]:
    """One key for each row: equal exactly where the rows are equal (-0 and 0 are, stored zeros are zeros)."""
    if isinstance(X, np.ndarray):
        return [row.tobytes() for row in X[points] + 0.0]
    clean = sp.csr_array(X[points], copy=True)
    clean.sum_duplicates()
    clean.eliminate_zeros()
    bounds = zip(clean.indptr[:-1], clean.indptr[1:], strict=True)
    return [clean.indices[a:b].astype(np.int64).tobytes() + clean.data[a:b].tobytes() for a, b in bounds]


@dataclass(frozen=True, eq=False)
class Scaling:
    """x_j ↦ (x_j - shift_j)·factor_j; sparse data are not shifted, which would fill them.

    Parameters
    ----------
    shift : ndarray (p,) or None
        None where nothing is taken away.
    factor : ndarray (p,) or None
        One over the deviation; 0 for constant features, which say nothing beside an intercept. None: all ones.
    """

    shift: FloatArray | None = None
    factor: FloatArray | None = None

    @classmethod
    def of(cls, X: Points, weights: FloatArray) -> Scaling:
        """Means and deviations (divisor Σw) of X, a row of weight k counting as k rows.

        Raises
        ------
        InputError
            Values so large that a variance is not finite.
        """
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
            raise InputError("X holds values too large to standardise: their variance is not finite in float64; rescale them")
        deviation = np.sqrt(variance)
        # the mean of equal numbers is off by a few roundings, so a constant feature shows a deviation of that size
        constant = deviation <= 8.0 * np.finfo(np.float64).eps * largest
        factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, deviation))
        return cls(mean if isinstance(X, np.ndarray) else None, factor)

    def transform(self, X: Points) -> Points:
        """The scaled rows; sparse rows stay sparse where nothing is taken away from them."""
        if self.factor is None:
            return X
        if self.shift is not None:
            return np.asarray((to_dense(X) - self.shift) * self.factor)
        return X * self.factor if isinstance(X, np.ndarray) else sp.csr_array(X @ sp.diags_array(self.factor))

    def undone(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (k × p) and intercepts (k) for rows as they come, from those for scaled rows."""
        if self.factor is None:
            return coef, intercept
        plain = coef * self.factor
        return plain, intercept if self.shift is None else intercept - plain @ self.shift


def sample_weights(given: object, X: Points) -> FloatArray:
    """Weights ≥ 0, one for each row; ones where none are given.

    Raises
    ------
    InputError
        Wrong shape, not finite, negative, or all zero.
    """
    n = int(X.shape[0])
    if given is None:
        return np.ones(n)
    weights = as_vector(given, n, "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight must be ≥ 0; its least entry is {weights.min():g}")
    if not weights.any():
        raise InputError("sample_weight must have a positive entry; all are zero, which leaves no class to learn")
    return weights


def class_weights(given: object, classes: np.ndarray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """One factor for each class: 1, the user's, or ``"balanced"``, Σw/(K Σ_class w).

    Raises
    ------
    InputError
        Neither None, "balanced" nor a mapping of labels to positive numbers; a key that is no label.
    """
    if given is None:
        return np.ones(classes.size)
    if isinstance(given, str) and given == "balanced":
        return np.asarray(weights.sum() / (classes.size * np.bincount(codes, weights=weights, minlength=classes.size)))
    if not isinstance(given, Mapping):
        raise InputError(f"class_weight must be None, 'balanced' or a mapping of class to weight; it is {given!r}")
    known = classes.tolist()
    strangers = [key for key in given if key not in known]
    if strangers:
        raise InputError(
            f"class_weight has no class {strangers[0]!r} in y; the classes are {', '.join(repr(label) for label in known[:20])}"
        )
    factors = as_vector([given.get(label, 1.0) for label in classes.tolist()], classes.size, "class_weight")
    if not (factors > 0).all():
        raise InputError(f"class_weight must be > 0 for every class; the least is {factors.min():g}")
    return factors
