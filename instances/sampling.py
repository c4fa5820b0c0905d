"""Seeded choices of rows: random generators, stratified subsets and splits."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .arrays import FloatArray, IntArray

__all__ = ["Rng", "as_count", "as_fraction", "as_generator", "choose_rows", "split_rows"]

#: A seed, or a generator that is advanced. Nothing here draws from global or unseeded state.
Rng: TypeAlias = "int | np.random.Generator"


def as_generator(rng: Rng) -> np.random.Generator:
    """Return the generator, or a new one from a non-negative seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(
            f"seed must be a non-negative integer seed or a numpy.random.Generator, got {rng!r}: results must be repeatable"
        )
    return np.random.default_rng(int(rng))


def as_count(value: int, name: str, least: int = 1) -> int:
    """Check an integer argument that is at least ``least``."""
    try:
        count = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, got {value!r}") from None
    if isinstance(value, bool) or count < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")
    return count


def as_fraction(value: float, name: str, most: float) -> float:
    """Check a number in [0, most]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number between 0 and {most:g}, got {value!r}") from None
    if not 0.0 <= number <= most:
        raise InputError(f"{name} must be between 0 and {most:g}, got {value!r}")
    return number


def choose_rows(codes: npt.NDArray[Any], n: int, seed: Rng, stratified: bool) -> IntArray:
    """Choose ``n`` of the rows without replacement, in ascending order.

    Stratified: class sizes in proportion by largest remainders, at least one row of every class where n allows it.
    """
    total = len(codes)
    n = as_count(n, "n", least=2)
    if n > total:
        raise InputError(f"cannot choose n = {n} rows without replacement from {total}")
    generator = as_generator(seed)
    if not stratified:
        return np.sort(generator.choice(total, size=n, replace=False)).astype(np.int64)
    classes, counts = np.unique(codes, return_counts=True)
    quota = _apportion(counts, n)
    parts = [
        generator.choice(np.flatnonzero(codes == value), size=int(take), replace=False)
        for value, take in zip(classes, quota, strict=True)
    ]
    return np.sort(np.concatenate(parts)).astype(np.int64)


def _apportion(counts: npt.NDArray[Any], n: int) -> IntArray:
    """Share ``n`` places in proportion to ``counts`` by largest remainders; none empty if n suffices."""
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
    """Split all rows into parts of the given fractions, each in ascending order.

    Part sizes are the differences of the rounded cumulative fractions. Stratified: the shuffled members of every class
    are spread evenly over one order of all the rows, which is then cut, so that sizes are exact and classes in
    proportion at once.
    """
    shares = _check_fractions(fractions)
    total = len(codes)
    cuts = np.rint(np.cumsum(shares)[:-1] * total).astype(np.int64)
    sizes = np.diff(np.concatenate([[0], cuts, [total]]))
    if (sizes < 1).any():
        raise InputError(
            f"fractions {list(fractions)} of {total} rows leave part {int(np.argmin(sizes))} empty: fewer or larger parts"
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
            f"with sum {float(shares.sum()):g}"
        )
    return shares
