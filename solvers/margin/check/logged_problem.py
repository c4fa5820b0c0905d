"""The problem of a proof log of `margin-bb`: its header, its comparison with the user's problem, and its exact objective.

The objective is Σ_j d_j w_j² + ||w||_X + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w), with costs c_i and losses ρ_i of the margins
a_i'w, and ||w||_X the least Σ|α_k| with Σ_k α_k x_k = w for the atoms x_k. Points are *kept* if their margins must be at least 1.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import index
from typing import Any

import numpy as np

from ....errors import count_text
from ....models.arrays import BoolArray
from ....models.views import Budget, EqualRates, MarginProblem, PiecewiseLinearLoss
from ...exact.check.arithmetic import Array, InvalidProofError, RationalPoint, ceil_to_float

#: Share of its own target by which a margin, a row or an end may be short.
_SHORT = Fraction(1, 10**9)
#: Tolerance of the limit on the difference of two groups' shares of positive scores.
SHARE_SLACK = Fraction(1, 10**9)
#: Error of a sum of products in double precision: this times its terms' absolute values, for each of them.
_ROUNDING = Fraction(1, 2**52)


def exact_value(problem: MarginProblem, w: list[float], combination: list[float]) -> float:
    """Return the objective of w in rational arithmetic, rounded up to a float; infinite if w is not feasible.

    A solver's point satisfies thresholds and bounds only up to rounding. So a margin may be below a breakpoint t by 1e-9·|t|
    (below a breakpoint at 0 by the rounding of its own sum). A coefficient x may violate its bounds by 1e-9·(1 + |x|), and a
    linear constraint by 1e-9 of its terms or of its largest number, whichever is less: large terms that cancel allow no more. A
    score within 1e-9 of its terms counts as 0. Integers and zeros must be exact, and all sums are.

    ``combination`` holds α with Σ_k α_k x_k ≈ w for the atoms x_k. The norm of w counts as Σ|α_k| after a correction that makes
    the combination exact; a better combination may be smaller.
    """
    if len(combination) != len(problem.atoms):
        raise InvalidProofError("the incumbent has the wrong length")
    incumbent = RationalPoint.of(w, problem.A.shape[1])
    point = list(incumbent.coordinates)
    margins = [incumbent.product_and_size(row) for row in problem.A.tolist()]
    if not _feasible(problem, incumbent, margins):
        return math.inf
    norm = _norm(problem, point, [Fraction(float(a)) for a in combination])
    if norm is None:
        return math.inf
    total = norm + incumbent.square(problem.curvature.tolist())
    total += sum((Fraction(price) for price, x in zip(problem.price.tolist(), point, strict=True) if x), Fraction(0))
    for cost, kind, (margin, terms) in zip(problem.costs.tolist(), problem.loss_numbers.tolist(), margins, strict=True):
        total += Fraction(cost) * _loss_value(problem.losses[kind], margin, terms, len(point))
    return ceil_to_float(total)


def least_combination(atoms: Array, w: Array) -> list[float]:
    """Return α of about least ||α||_1 with Σ_k α_k x_k = w for the atoms x_k; `exact_value` corrects its error.

    It is empty without atoms.
    """
    if not len(atoms):
        return []
    from scipy.optimize import linprog  # imported here: the import is slow, and few logs need it

    in_norm = atoms.any(axis=0)
    columns = atoms[:, in_norm].T
    equations = {"A_eq": np.hstack([columns, -columns]), "b_eq": w[in_norm]}
    solution = linprog(np.ones(2 * len(atoms)), **equations, bounds=(0.0, None), method="highs").x
    if solution is None:  # numbers that are too large or too small for HiGHS
        return np.asarray(np.linalg.lstsq(columns, w[in_norm], rcond=None)[0]).tolist()
    plus, minus = np.split(solution, 2)
    return np.asarray(plus - minus).tolist()


def _allowance(target: float, terms: Fraction, size: int) -> Fraction:
    """Return by how much a margin with these terms may be short of a target."""
    return _SHORT * abs(Fraction(target)) if target else size * _ROUNDING * terms


def _feasible(problem: MarginProblem, incumbent: RationalPoint, margins: list[tuple[Fraction, Fraction]]) -> bool:
    point = incumbent.coordinates
    for x, lower, upper, is_integer in zip(point, problem.lower, problem.upper, problem.integer, strict=True):
        short = _SHORT * (1 + abs(x))
        if x + short < float(lower) or x - short > float(upper) or (is_integer and x.denominator != 1):
            return False
    if sum(bool(x) for x, is_counted in zip(point, problem.counted, strict=True) if is_counted) > problem.max_nonzeros:
        return False
    for row, limit in zip(problem.rows.tolist(), problem.row_lower.tolist(), strict=True):
        product, terms = incumbent.product_and_size(row)
        numbers = max(map(abs, map(Fraction, [*row, float(limit)])))
        if product + _SHORT * min(terms + abs(Fraction(float(limit))), numbers) < limit:
            return False
    errors = np.array([margin + _SHORT < 1 for margin, _ in margins], dtype=np.bool_)
    if errors[problem.kept_points].any() or any(errors[budget.points].sum() > budget.limit for budget in problem.budgets):
        return False
    above = np.array([margin > _SHORT * terms for margin, terms in margins], dtype=np.bool_)
    reach = np.array([margin >= -_SHORT * terms for margin, terms in margins], dtype=np.bool_)
    for rates in problem.rates:
        is_positive = rates.labels > 0.0
        certain, possible = np.where(is_positive, above, ~reach), np.where(is_positive, reach, ~above)
        if rates.least_spread(certain, possible) > rates.epsilon + SHARE_SLACK:
            return False
    return True


def _loss_value(loss: PiecewiseLinearLoss, margin: Fraction, terms: Fraction, size: int) -> Fraction:
    """Return ρ(m) or ρ(|m|); at a breakpoint with a jump, its value there if m is short of it by no more than is allowed."""
    margin = abs(margin) if loss.symmetric else margin
    breakpoints = loss.margins.tolist()
    below, values_at = [Fraction(x) for x in loss.below.tolist()], [Fraction(x) for x in loss.at.tolist()]
    k = sum(margin >= t for t in breakpoints)
    reached = [margin + _allowance(t, terms, size) >= t for t in breakpoints]
    jumps = [j for j in range(k, len(breakpoints)) if reached[j] and below[j] > values_at[j]]
    if jumps:
        value = values_at[jumps[-1]]
    elif k == 0:
        value = below[0]
    elif k == len(breakpoints):
        value = Fraction(0)
    else:
        left, right = Fraction(breakpoints[k - 1]), Fraction(breakpoints[k])
        value = values_at[k - 1] + (margin - left) / (right - left) * (below[k] - values_at[k - 1])
    if loss.tail > 0.0 and margin < loss.rise_start:
        value += Fraction(loss.tail) * (Fraction(loss.rise_start) - margin)
    return value


def _norm(problem: MarginProblem, point: list[Fraction], alpha: list[Fraction]) -> Fraction | None:
    """Return Σ|α_k| of a combination that is w, on the columns of the atoms; None if there is none."""
    columns = np.flatnonzero(problem.atoms.any(axis=0)).tolist()
    atoms = [[Fraction(x) for x in row] for row in problem.atoms[:, columns].tolist()]
    lacks = [point[j] for j in columns]
    for a, atom in zip(alpha, atoms, strict=True):
        if a:
            lacks = [x - a * y for x, y in zip(lacks, atom, strict=True)]
    if any(lacks):
        combination = _combined(atoms, sorted(range(len(alpha)), key=lambda k: -abs(alpha[k])), lacks)
        if combination is None:
            return None
        alpha = [a + combination.get(k, 0) for k, a in enumerate(alpha)]
    return sum(map(abs, alpha), Fraction(0))


#: The multiple of each atom, by its index.
_Multiples = dict[int, Fraction]


def _combined(atoms: list[list[Fraction]], order: list[int], target: list[Fraction]) -> _Multiples | None:
    """Return β with Σ_k β_k x_k = target, of the first atoms in this order that are independent, by Gauss's elimination."""
    echelon: list[tuple[int, list[Fraction], _Multiples]] = []
    for k in order:
        if len(echelon) == len(target):
            break
        row, combination = _reduced(atoms[k], {k: Fraction(1)}, echelon)
        pivot = next((j for j, x in enumerate(row) if x), None)
        if pivot is not None:
            echelon.append((pivot, row, combination))
    remainder, combination = _reduced(target, {}, echelon)
    return None if any(remainder) else {k: -x for k, x in combination.items()}


def _reduced(
    row: list[Fraction], combination: _Multiples, echelon: list[tuple[int, list[Fraction], _Multiples]]
) -> tuple[list[Fraction], _Multiples]:
    """Return the row with no entry at a pivot, and the multiple of each atom that was added."""
    for pivot, other, parts in echelon:
        share = row[pivot] / other[pivot]
        if share:
            row = [x - share * y for x, y in zip(row, other, strict=True)]
            combination = combination | {k: combination.get(k, Fraction(0)) - share * x for k, x in parts.items()}
    return row, combination


#: Keys of a log's header and of its digest, by the field of `MarginProblem`, where the two differ.
HEADER_KEYS = {
    "integer": "whole", "max_nonzeros": "most", "row_lower": "least", "kept_points": "kept", "other_losses": "others",
}  # fmt: skip


def _read_header(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the `MarginProblem` that a log's header states, after checking them."""
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
    other_losses = tuple(_loss(entry) for entry in header.get("others", []))
    kinds = np.array([index(kind) for kind in header["kinds"]], dtype=np.int64) if other_losses else None
    if kinds is not None:
        _demand(
            kinds.shape == (n,) and ((kinds >= 0) & (kinds <= len(other_losses))).all(), "kinds must be the loss of each point"
        )
    max_nonzeros = index(header["most"])
    _demand(max_nonzeros >= 0, "most must not be negative")
    return {
        "A": A, "costs": _positive(header, "costs", n), "loss": _loss(header["loss"]), "curvature": curvature, "atoms": atoms,
        "intercept": intercept, "lower": lower, "upper": upper, "integer": _mask(header, "whole", p),
        "price": _positive(header, "price", p), "counted": _mask(header, "counted", p), "max_nonzeros": max_nonzeros,
        "rows": rows,
        "row_lower": _numbers(header, "least", len(rows)), "kept_points": _mask(header, "kept", n),
        "budgets": tuple(_budget(entry, n) for entry in header["budgets"]),
        "rates": tuple(_equal_rates(entry, n) for entry in header.get("rates", [])), "other_losses": other_losses, "kinds": kinds,
    }  # fmt: skip


def _demand(condition: Any, message: str) -> None:
    if not condition:
        raise InvalidProofError(message)


def _numbers(header: dict[str, Any], name: str, size: int) -> Array:
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


def _loss(entry: dict[str, Any]) -> PiecewiseLinearLoss:
    """Return ρ after checking that it does not rise, is lower semicontinuous, and ends at 0; of |m|, that it has no tail."""
    symmetric = entry.get("even", False)
    margins = np.array(entry["margins"], dtype=np.float64)
    _demand(margins.ndim == 1 and margins.size, "the loss must have a breakpoint")
    below, values_at = _positive(entry, "below", margins.size), _positive(entry, "at", margins.size)
    tail, rise_start = float(entry["tail"]), -np.inf if entry["again"] is None else float(entry["again"])
    wide = float(margins[-1] - margins[0])
    _demand(np.isfinite(margins).all() and np.isfinite(wide) and (np.diff(margins) > 0.0).all(), "breakpoints must increase")
    falls = (below >= values_at).all() and (values_at[:-1] >= below[1:]).all() and values_at[-1] == 0.0
    _demand(falls, "the loss must not rise, take the lesser value at a jump, and end at 0")
    _demand(
        0.0 <= tail < np.inf and rise_start <= margins[0], "the tail must be a slope, and begin at the first breakpoint or before"
    )
    _demand(tail == 0.0 or rise_start > -np.inf, "a tail must begin somewhere")
    _demand(
        symmetric is False or (symmetric is True and tail == 0.0 and margins[0] >= 0.0),
        "an even loss is one of |m|, without a tail",
    )
    return PiecewiseLinearLoss(margins, below, values_at, tail, rise_start, symmetric)


def _loss_parts(loss: PiecewiseLinearLoss) -> tuple[Array, ...]:
    rise_start = loss.rise_start if loss.tail > 0.0 else -np.inf
    return (loss.margins, loss.below, loss.at, np.array([loss.tail, rise_start, *([1.0] if loss.symmetric else [])]))


#: Name and version of the log's format, in its header.
FORMAT, VERSION = "marginopt-margin-proof", 2

#: The difference of a field in words, by its key.
_DIFFERENCES = {
    "costs": "other costs of points", "loss": "another loss", "curvature": "other squares", "atoms": "other atoms",
    "intercept": "another intercept", "lower": "other lower ends", "upper": "other upper ends",
    "whole": "other whole coefficients", "price": "other prices of coefficients", "counted": "other counted coefficients",
    "most": "another number of coefficients that may be used", "rows": "other rows", "least": "other right sides of rows",
    "kept": "other kept points", "budgets": "other budgets", "rates": "other groups whose rates are equal",
    "others": "other losses of some points", "kinds": "another loss of some points",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LoggedMarginProblem(MarginProblem):
    """A `MarginProblem` as a log or a model states it, with a digest and a comparison field by field."""

    @classmethod
    def of_log(cls, header: dict[str, Any]) -> LoggedMarginProblem:
        """Return the problem of a log's header."""
        return cls(**_read_header(header))

    @classmethod
    def of_problem(cls, view: MarginProblem) -> LoggedMarginProblem:
        """Return a problem of the solver as one that can be compared."""
        return cls(**{item.name: getattr(view, item.name) for item in fields(MarginProblem)})

    @property
    def field_arrays(self) -> dict[str, tuple[Array, ...]]:
        """Every field as arrays of numbers, by the keys of a log's header."""
        plain = [item.name for item in fields(self) if item.name not in ("loss", "budgets", "rates", "other_losses", "kinds")]
        arrays: dict[str, tuple[Array, ...]] = {HEADER_KEYS.get(name, name): (np.asarray(getattr(self, name)),) for name in plain}
        arrays["loss"] = _loss_parts(self.loss)
        arrays["budgets"] = tuple(np.array([*budget.points, budget.limit]) for budget in self.budgets)
        if self.rates:
            arrays["rates"] = tuple(
                part for r in self.rates for part in (r.groups.astype(np.float64), r.labels, np.array([r.epsilon]))
            )
        if self.other_losses:
            arrays["others"] = tuple(part for loss in self.other_losses for part in _loss_parts(loss))
            arrays["kinds"] = (self.loss_numbers.astype(np.float64),)
        return arrays

    def difference(self, other: LoggedMarginProblem) -> str | None:
        """Return the difference of two problems in words; None if they are the same."""
        if self.A.shape != other.A.shape:
            return (
                f"{count_text(self.A.shape[0], 'point')} of {count_text(self.A.shape[1], 'coefficient')} "
                f"against {other.A.shape[0]} of {other.A.shape[1]}"
            )
        rows = np.flatnonzero((self.A != other.A).any(axis=1))
        if rows.size:
            return f"{rows.size} of {len(self.A)} points have another y x, the first of them point {rows[0]}"
        parts, other_parts = self.field_arrays, other.field_arrays
        for name in {**parts, **other_parts}:
            arrays, other_arrays = parts.get(name, ()), other_parts.get(name, ())
            pairs = zip(arrays, other_arrays, strict=False)
            if len(arrays) != len(other_arrays) or not all(np.array_equal(a, b) for a, b in pairs):
                return _DIFFERENCES[name]
        return None

    @property
    def digest(self) -> str:
        """The SHA-256 of all fields' shapes and numbers, in hexadecimal."""
        sha256 = hashlib.sha256()
        for name, arrays in self.field_arrays.items():
            sha256.update(f"{name} {[array.shape for array in arrays]}".encode())
            for array in arrays:
                sha256.update(np.ascontiguousarray(array.astype(np.float64) + 0.0, dtype="<f8").tobytes())  # + 0.0: -0.0 is 0.0
        return sha256.hexdigest()

    def __str__(self) -> str:
        n, p = self.A.shape
        norm = f", {count_text(len(self.atoms), 'atom')}" if len(self.atoms) else ""
        sets = {
            "rows": len(self.rows), "whole": int(self.integer.sum()), "priced": int((self.price > 0.0).sum()),
            "kept": int(self.kept_points.sum()), "budgets": len(self.budgets), "equal rates": len(self.rates),
        }  # fmt: skip
        restrictions = "".join(f", {count} {name}" for name, count in sets.items() if count)
        if self.max_nonzeros < self.counted.sum():
            restrictions += f", at most {self.max_nonzeros} of {int(self.counted.sum())}"
        loss = ", ".join(
            f"loss of {loss.margins.size} breakpoints{f', again from margin {loss.rise_start:g}' if loss.tail > 0.0 else ''}"
            for loss in self.losses
        )
        return f"n = {n}, p = {p}{norm}{restrictions}, {loss}, data {self.digest[:16]}"
