"""Reader of a log's header, which checks every requirement of a problem."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ....models.arrays import BoolArray
from ....models.margin_view import Budget, Corners, EqualRates
from ...exact.check.arithmetic import Array, InvalidProofError

__all__ = ["fields_of"]


def fields_of(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `MarginProblem`.

    Raises
    ------
    InvalidProofError
        The header states no problem.
    """
    A = np.array(header["A"], dtype=np.float64)
    _demand(A.ndim == 2 and A.shape[1] > 0 and np.isfinite(A).all(), "A must be a finite matrix")
    n, p = A.shape
    curvature, intercept = _positive(header, "curvature", p), header["intercept"]
    atoms = _matrix(header, "atoms", p)
    _demand(intercept is True or intercept is False, "intercept must be true or false")
    _demand(not intercept or not (curvature[0] or atoms[:, :1].any()), "squares or the norm hold a free intercept")
    lower, upper = _ends(header, "lower", p, -np.inf), _ends(header, "upper", p, np.inf)
    _demand((lower <= upper).all() and (lower < np.inf).all() and (upper > -np.inf).all(), "lower and upper are no ends")
    rows = _matrix(header, "rows", p)
    most = index(header["most"])
    _demand(most >= 0, "most must not be negative")
    return {
        "A": A, "costs": _positive(header, "costs", n), "loss": _loss(header["loss"]), "curvature": curvature, "atoms": atoms,
        "intercept": intercept, "lower": lower, "upper": upper, "whole": _mask(header, "whole", p),
        "price": _positive(header, "price", p), "counted": _mask(header, "counted", p), "most": most, "rows": rows,
        "least": _numbers(header, "least", len(rows)), "kept": _mask(header, "kept", n),
        "budgets": tuple(_budget(entry, n) for entry in header["budgets"]),
        "rates": tuple(_equal_rates(entry, n) for entry in header.get("rates", [])),
    }  # fmt: skip


def _demand(holds: Any, message: str) -> None:
    if not holds:
        raise InvalidProofError(message)


def _numbers(header: dict[str, Any], name: str, size: int) -> Array:
    """Return this many finite numbers."""
    numbers = np.array(header[name], dtype=np.float64)
    _demand(numbers.shape == (size,) and np.isfinite(numbers).all(), f"{name} must hold {size} finite numbers")
    return numbers


def _positive(header: dict[str, Any], name: str, size: int) -> Array:
    numbers = _numbers(header, name, size)
    _demand((numbers >= 0.0).all(), f"{name} must not be negative")
    return numbers


def _matrix(header: dict[str, Any], name: str, columns: int) -> Array:
    """Return a matrix with any number of rows, also 0."""
    matrix = np.array(header[name], dtype=np.float64).reshape(len(header[name]), columns)
    _demand(np.isfinite(matrix).all(), f"{name} must be finite")
    return matrix


def _ends(header: dict[str, Any], name: str, size: int, missing: float) -> Array:
    ends = np.array([missing if x is None else float(x) for x in header[name]], dtype=np.float64)
    _demand(ends.shape == (size,) and not np.isnan(ends).any(), f"{name} must hold {size} numbers")
    return ends


def _mask(header: dict[str, Any], name: str, size: int) -> BoolArray:
    mask = np.array(header[name], dtype=np.float64)
    _demand(mask.shape == (size,) and np.isin(mask, (0.0, 1.0)).all(), f"{name} must hold {size} numbers that are 0 or 1")
    return np.asarray(mask == 1.0)


def _budget(entry: dict[str, Any], points: int) -> Budget:
    named = np.array([index(i) for i in entry["points"]], dtype=np.int64)
    limit = index(entry["limit"])
    is_valid = named.size == np.unique(named).size and (named >= 0).all() and (named < points).all()
    _demand(is_valid and limit >= 0, "a budget must be of points that exist, each once, and allow 0 or more")
    return Budget(named, limit)


def _equal_rates(entry: dict[str, Any], points: int) -> EqualRates:
    groups = np.array([index(g) for g in entry["groups"]], dtype=np.int64)
    labels, epsilon = np.array(entry["labels"], dtype=np.float64), float(entry["epsilon"])
    is_valid = groups.shape == labels.shape == (points,) and np.isin(labels, (-1.0, 1.0)).all() and (groups < points).all()
    _demand(
        is_valid and points and np.array_equal(np.unique(groups), np.arange(groups.max() + 1)),
        "rates must be of a group of each point",
    )
    _demand(0.0 <= epsilon < np.inf, "shares may differ by a number that is not negative")
    return EqualRates(groups, labels, epsilon)


def _loss(entry: dict[str, Any]) -> Corners:
    """Return ρ after checking that it does not rise, is lower semicontinuous, and ends at 0."""
    margins = np.array(entry["margins"], dtype=np.float64)
    _demand(margins.ndim == 1 and margins.size, "the loss must have a corner")
    below, at = _positive(entry, "below", margins.size), _positive(entry, "at", margins.size)
    tail, again = float(entry["tail"]), -np.inf if entry["again"] is None else float(entry["again"])
    wide = float(margins[-1] - margins[0])
    _demand(np.isfinite(margins).all() and np.isfinite(wide) and (np.diff(margins) > 0.0).all(), "corners must increase")
    falls = (below >= at).all() and (at[:-1] >= below[1:]).all() and at[-1] == 0.0
    _demand(falls, "the loss must not rise, take the lesser value at a jump, and end at 0")
    _demand(0.0 <= tail < np.inf and again <= margins[0], "the tail must be a slope, and begin at the first corner or before")
    _demand(tail == 0.0 or again > -np.inf, "a tail must begin somewhere")
    return Corners(margins, below, at, tail, again)
