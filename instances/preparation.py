"""Random choices of rows, and scaled columns: for `Instance.subsample`, `Instance.split` and `Instance.prepared`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import DataError, InputError, count_text, short_text
from .arrays import FloatArray, IntArray, Matrix, is_sparse

#: A seed, or a generator that is advanced. No function draws from global or unseeded state.
Rng: TypeAlias = "int | np.random.Generator"


def as_generator(rng: Rng) -> np.random.Generator:
    """Return the generator itself, or a new one from a seed ≥ 0; `InputError` for anything else."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(
            f"seed must be a non-negative integer seed or a numpy.random.Generator, got {short_text(rng)}: "
            "results must be repeatable",
            name="seed",
        )
    return np.random.default_rng(int(rng))


def as_count(value: int, name: str, minimum: int = 1) -> int:
    """Return an argument as an integer; `InputError`, which names it, unless it is one of at least ``minimum``."""
    try:
        count = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, got {short_text(value)}", name=name) from None
    if isinstance(value, bool) or count < minimum:
        raise InputError(f"{name} must be an integer of at least {minimum}, got {short_text(value)}", name=name)
    return count


def as_fraction(value: float, name: str, maximum: float) -> float:
    """Return an argument as a float; `InputError`, which names it, unless it is a number in [0, ``maximum``]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number between 0 and {maximum:g}, got {short_text(value)}", name=name) from None
    if not 0.0 <= number <= maximum:
        raise InputError(f"{name} must be between 0 and {maximum:g}, got {short_text(value)}", name=name)
    return number


def choose_rows(codes: npt.NDArray[Any], n: int, seed: Rng, stratified: bool) -> IntArray:
    """Return the indices of ``n`` random rows, without repetition, in ascending order; ``codes`` has the class of each row.

    ``stratified`` chooses class sizes in proportion by largest remainders, and at least one row of every class if n is at least
    the number of classes. `InputError` if n is not between 2 and the number of rows.
    """
    total = len(codes)
    n = as_count(n, "n", minimum=2)
    if n > total:
        raise InputError(f"cannot choose n = {n} rows without replacement from {total}", name="n")
    generator = as_generator(seed)
    if not stratified:
        return np.sort(generator.choice(total, size=n, replace=False)).astype(np.int64)
    classes, counts = np.unique(codes, return_counts=True)
    quota = _apportion(counts, n)
    parts = [
        generator.choice(np.flatnonzero(codes == value), size=int(count), replace=False)
        for value, count in zip(classes, quota, strict=True)
    ]
    return np.sort(np.concatenate(parts)).astype(np.int64)


def _apportion(counts: npt.NDArray[Any], n: int) -> IntArray:
    """Return ``n`` places, shared in proportion to ``counts`` by largest remainders; each at least 1 if n allows it."""
    exact: FloatArray = n * counts / counts.sum()
    quota: IntArray = np.floor(exact).astype(np.int64)
    order = np.argsort(quota - exact, kind="stable")
    quota[order[: n - int(quota.sum())]] += 1
    if n >= counts.size:
        for empty in np.flatnonzero(quota == 0):
            quota[np.argmax(quota)] -= 1
            quota[empty] = 1
    return quota


def split_rows(codes: npt.NDArray[Any], fractions: Sequence[float], seed: Rng, stratified: bool) -> list[IntArray]:
    """Return the indices of the rows of each random part, in ascending order; ``fractions`` are the parts' shares of all rows.

    Part sizes are the differences of the rounded cumulative fractions. ``stratified`` spreads the shuffled members of every class
    evenly over one order of all the rows, which is then cut, so that the sizes are exact and the classes in proportion.
    `InputError` for fractions that do not sum to 1 or leave a part empty.
    """
    shares = _check_fractions(fractions)
    total = len(codes)
    cuts = np.rint(np.cumsum(shares)[:-1] * total).astype(np.int64)
    sizes = np.diff(np.concatenate([[0], cuts, [total]]))
    if (sizes < 1).any():
        raise InputError(
            f"fractions {list(fractions)} of {count_text(total, 'row')} leave "
            f"part {int(np.argmin(sizes))} empty: fewer or larger parts",
            name="fractions",
        )
    generator = as_generator(seed)
    order = generator.permutation(total)
    if stratified:
        position = np.empty(total)
        for value in np.unique(codes):
            members = order[codes[order] == value]
            position[members] = (np.arange(members.size) + 0.5) / members.size
        order = order[np.argsort(position[order], kind="stable")]
    return [np.sort(part).astype(np.int64) for part in np.split(order, cuts)]


def _check_fractions(fractions: Sequence[float]) -> FloatArray:
    shares = np.array([as_fraction(value, "every fraction", 1.0) for value in fractions])
    if shares.size < 2 or (shares <= 0).any() or abs(float(shares.sum()) - 1.0) > 1e-9:
        raise InputError(
            f"fractions must be at least two positive numbers that sum to 1, got {list(fractions)} "
            f"with sum {float(shares.sum()):g}",
            name="fractions",
        )
    return shares


def column_statistics(X: Matrix) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return means, standard deviations (divisor n) and a mask of the columns that are constant up to rounding."""
    n, p = X.shape
    if p == 0:
        raise DataError("there is no feature beside the intercept to standardise")
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            columns = X.indices
            mean = np.bincount(columns, weights=X.data, minlength=p) / n
            zeros = n - np.bincount(columns, minlength=p)
            squares = np.bincount(columns, weights=(X.data - mean[columns]) ** 2, minlength=p)
            std = np.sqrt((squares + zeros * mean**2) / n)
            largest = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
        else:
            mean, std, largest = X.mean(axis=0), X.std(axis=0), np.abs(X).max(axis=0)
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        raise DataError("values are too large to standardise: their mean or variance is not finite in float64", name="X")
    # A mean of n equal numbers is off by a few roundings, so a constant column shows a std of that size.
    return mean, std, std <= 8 * np.finfo(np.float64).eps * largest


def scale_columns(X: Matrix, mean: FloatArray, std: FloatArray, varying: npt.NDArray[np.bool_]) -> Matrix:
    """Return the ``varying`` columns as (x_j - mean_j)/std_j; as x_j/std_j if X is sparse."""
    if not varying.any():
        raise DataError("every feature is constant: nothing is left to learn from after standardising", name="X")
    if is_sparse(X):
        return sp.csr_array(X[:, varying] @ sp.diags_array(1.0 / std[varying]))
    scaled: FloatArray = (X[:, varying] - mean[varying]) / std[varying]
    return scaled


def prepend_ones(X: Matrix) -> Matrix:
    """Return the matrix with a column of ones before the others."""
    ones = np.ones((X.shape[0], 1))
    if is_sparse(X):
        return sp.csr_array(sp.hstack([sp.csr_array(ones), X], format="csr"))
    return np.hstack([ones, X])
