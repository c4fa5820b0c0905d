"""`Audit`, the proved gap of a fitted machine, and its arithmetic: values rounded up, bounds down, exactly feasible multipliers.

A *machine* is a fitted linear or kernel model that `audit` reads, of scikit-learn or converted to it (`auditing.machines`). A
`Rounded` is a number with a bound of its rounding error.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..display import Display, Displayable, Tabular
from ..errors import InputError, count_text, short_text
from ..models.arrays import FloatArray, IntArray
from ..models.kernels.gram import GramOperator
from ..models.rounding import UNIT, Rounded, dot, transposed_product

#: Multipliers are rounded down to multiples of 2⁻ᵏ of the largest: their sums are exact for a million of them.
_DIGITS = 32


@dataclass(frozen=True)
class Audit:
    """The objective of a fitted machine, and a lower bound of the optimum of its problem.

    Parameters
    ----------
    machine : str
        The name of the machine's class, such as "SVC".
    problem : str
        The problem that the machine's documentation states, in one line.
    value : float
        The objective of the stored coefficients, rounded up.
    bound : float
        A lower bound of the optimum: the dual value of multipliers, rounded down.
    condition : str
        The assumption under which the bound is proved; empty where it is proved without one.
    violation : float
        The largest violation of a bound or of the equation by the stored multipliers, relative to the largest upper bound; 0
        where the machine stores none.
    rounding : float
        The rounding errors that are added to the value and subtracted from the bound, in sum.
    advice : str
        A parameter of the fit to change, such as ``max_iter`` where the fit stopped there; empty if there is none.
    """

    machine: str
    problem: str
    value: float
    bound: float
    condition: str = ""
    violation: float = 0.0
    rounding: float = 0.0
    advice: str = ""

    def with_advice(self, advice: str) -> Audit:
        """Return the audit with this advice."""
        return replace(self, advice=advice)

    @property
    def gap(self) -> float:
        """(value - bound)/max(|value|, |bound|); 0 where both are 0, infinite where one is not finite."""
        size = max(abs(self.value), abs(self.bound))
        if not math.isfinite(size):
            return math.inf
        return (self.value - self.bound) / size if size else 0.0

    def __str__(self) -> str:
        kind = "proved" if not self.condition else f"proved if {self.condition}"
        is_resolved = self.rounding <= 0.1 * (self.value - self.bound) or self.rounding <= 1e-9 * abs(self.value)
        share = f"make {self.rounding:.1e} of the gap" if math.isfinite(self.gap) else "hide the gap"
        hidden = "" if is_resolved and math.isfinite(self.gap) else f"\n  rounding alone may {share}: centre or scale the data"
        return (
            f"{self.machine}: {self.problem}\n"
            f"  objective {self.value:.10g}   bound {self.bound:.10g} ({kind})   relative gap {self.gap:.2e}\n"
            f"  multipliers as stored violate their constraints by {self.violation:.1e}{hidden}"
            + (f"\n  {self.advice}" if self.advice else "")
        )

    __repr__ = __str__


def make_audit(
    machine: str, problem: str, value: Rounded, bound: Rounded, condition: str = "", violation: float = 0.0, floor: float = 0.0
) -> Audit:
    """Return the audit of a machine from value and bound with their errors, which may be infinite or not a number.

    Parameters
    ----------
    machine, problem, condition, violation : str, str, str, float
        Those of `Audit`.
    value, bound : Rounded
        Objective and dual value.
    floor : float
        The least value that the objective can take, which replaces a bound that is smaller or not finite: 0 for a sum of losses
        and a regulariser, -∞ for an objective with a term -νnρ.
    """
    finite = math.isfinite(bound.value) and math.isfinite(bound.error)
    larger = bound if finite and bound.lower >= floor else Rounded(floor)
    upper = value.upper if math.isfinite(value.value) and math.isfinite(value.error) else math.inf
    return Audit(machine, problem, upper, larger.lower, condition, violation, value.error + larger.error)


def kernel_scores(gram: GramOperator, coefficients: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """Return the scores K c + b of the training points, and a bound of the rounding error of each."""
    product, error = gram.rounded_product(coefficients)
    values = product + b
    return values, (error + UNIT * np.abs(values)) * (1.0 + 4.0 * UNIT)


def linear_scores(X: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scores X W' (n, K) of linear classifiers, and a bound of the rounding error of each."""
    columns = np.ascontiguousarray(X.T)
    products, errors = zip(*(transposed_product(columns, w) for w in W), strict=True)
    return np.array(products).T, np.array(errors).T


def squared_kernel_norm(gram: GramOperator, coefficients: FloatArray) -> Rounded:
    """Return c'K c of a kernel matrix K and coefficients c, with its rounding error."""
    return dot(coefficients, *gram.rounded_product(coefficients))


def squared_norm(w: FloatArray, error: FloatArray) -> Rounded:
    """Return ||w||² of a vector whose entries have errors of at most ``error``."""
    square = dot(w, w)
    return Rounded(square.value, (square.error + float(error @ (2.0 * np.abs(w) + error))) * (1.0 + 1e-12))


def half_squared_norm(rows: Iterable[FloatArray], errors: Iterable[FloatArray]) -> Rounded:
    """Return ½ Σ_k ||w_k||² of vectors, the ``rows``, whose entries have errors of at most ``errors``."""
    norms = [squared_norm(w, error).times(0.5) for w, error in zip(rows, errors, strict=True)]
    return sum(norms[1:], norms[0])


def hinge_cost(c: FloatArray, target: float, margins: FloatArray, error: FloatArray, squared: bool = False) -> Rounded:
    """Return Σ c_i max(0, target - margin_i), or that of the squared terms, for margins with errors of at most ``error``."""
    short = np.maximum(target - margins, 0.0)
    error = (error + UNIT * (abs(target) + np.abs(margins))) * (1.0 + 4.0 * UNIT)
    if squared:
        error = (error * (2.0 * short + error) + UNIT * short**2) * (1.0 + 8.0 * UNIT)
        short = short**2
    return dot(c, short, error)


def tube_cost(c: FloatArray, y: FloatArray, f: FloatArray, error: FloatArray, epsilon: float, squared: bool) -> Rounded:
    """Return Σ c_i (|y_i - f_i| - ε)_+, or that of the squared terms, for predictions f with errors of at most ``error``."""
    residuals = np.abs(y - f)
    return hinge_cost(c, -epsilon, -residuals, (error + UNIT * residuals) * (1.0 + 4.0 * UNIT), squared)


def finite_numbers(stored: Any) -> FloatArray:
    """Return a stored attribute of a machine as an array of floats; raise InputError if an entry is not finite."""
    numbers = np.asarray(stored, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("the machine stores numbers that are not finite")
    return numbers


def feasible_multipliers(a: FloatArray, signs: FloatArray, top: FloatArray, minimum_total: float | None) -> FloatArray | None:
    """Return multipliers near ``a`` that satisfy 0 ≤ a ≤ top and signs'a = 0 *exactly*, and sum to at least ``minimum_total``.

    They are whole multiples of one power of two, so that their sums are exact. The class with the larger sum is reduced at its
    largest multipliers; a sum that is too small is raised where ``top`` allows it. None where ``top`` does not allow the sum.

    Parameters
    ----------
    a : ndarray (n,)
        Multipliers ≥ 0.
    signs : ndarray (n,)
        Labels, -1 or +1; all +1 if there is no equation.
    top : ndarray (n,)
        Upper bounds of the multipliers.
    minimum_total : float or None
        The least sum of all multipliers; None without such a constraint.
    """
    largest = float(a.max(initial=0.0))
    if minimum_total is not None:
        largest = max(largest, minimum_total / max(a.size, 1))
    if not largest > 0.0:
        return np.zeros_like(a)
    grid = 2.0 ** (math.frexp(largest)[1] - _DIGITS)
    if grid < 1e-290:
        return np.zeros_like(a) if minimum_total is None else None
    slack = np.floor(np.minimum(top / grid, 2.0**52)).astype(np.int64)
    counts = np.minimum(np.floor(a / grid).astype(np.int64), slack)
    sides = [signs > 0, signs < 0] if (signs < 0).any() else [signs > 0]
    sums = [int(counts[side].sum()) for side in sides]
    target = min(sums) if minimum_total is None else math.ceil(Fraction(minimum_total) / Fraction(grid) / len(sides))
    for side, count in zip(sides, sums, strict=True):
        part, free = counts[side], slack[side] - counts[side]
        adjustment = take_from_largest(part, count - target) if count > target else -take_from_largest(free, target - count)
        if int(np.abs(adjustment).sum()) != abs(count - target):
            return None
        counts[side] = part - adjustment
    return np.asarray(counts * grid)


def repaired_multipliers(a: FloatArray, signs: FloatArray, top: FloatArray, total: float | None) -> tuple[FloatArray, float]:
    """Return multipliers near ``a`` with 0 ≤ a ≤ top and signs'a = 0 (and sum ``total``), and the relative violation by ``a``.

    The result is feasible up to rounding; `feasible_multipliers`, which explains ``signs`` and ``top``, makes it exactly so.
    """
    clipped = np.clip(a, 0.0, top)
    scale = float(top.max(initial=0.0)) or 1.0
    outside = float(np.abs(a - clipped).max(initial=0.0))
    sides = [signs > 0, signs < 0] if (signs < 0).any() else [signs > 0]
    sums = [float(clipped[side].sum()) for side in sides]
    target = min(sums) if total is None else total / len(sides)
    if total is None:
        outside = max(outside, abs(sums[0] - sums[-1]))
    else:
        outside = max(outside, *(abs(value - target) for value in sums))
    for side, value in zip(sides, sums, strict=True):
        if value > target:
            clipped[side] *= target / value
        elif value < target:
            slack = top[side] - clipped[side]
            clipped[side] += slack * min((target - value) / max(float(slack.sum()), 1e-300), 1.0)
    return clipped, outside / scale


def take_from_largest(available: np.ndarray, amount: int) -> np.ndarray:
    """Return how much to subtract from each integer, from the largest one first, so that ``amount`` is subtracted in total."""
    order = np.argsort(-available, kind="stable")
    before = np.cumsum(available[order]) - available[order]
    amounts = np.zeros_like(available)
    amounts[order] = np.clip(amount - before, 0, available[order])
    return amounts


@dataclass(frozen=True)
class AuditTable(Displayable, Tabular):
    """The audits of the binary machines of a classifier of several classes, or of several machines given to `audit`.

    Parameters
    ----------
    machine : str
        The name of the classifier's class; "audit" for several machines.
    audits : mapping of str to Audit
        The audits, by the two classes of each machine ("a, b" for a pair, "a, rest" for one against the rest) or by its name.
    """

    machine: str
    audits: Mapping[str, Audit]

    @property
    def gap(self) -> float:
        """The largest relative gap."""
        return max(audit.gap for audit in self.audits.values())

    def with_advice(self, advice: str) -> AuditTable:
        """Return the table with this advice for each of its machines."""
        return replace(self, audits={name: audit.with_advice(advice) for name, audit in self.audits.items()})

    def __len__(self) -> int:
        return len(self.audits)

    def __getitem__(self, name: str) -> Audit:
        return self.audits[name]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return one record for each machine: its name in `audits`, value, bound, gap, condition, violation and advice."""
        return [
            {
                "machine": name, "value": a.value, "bound": a.bound, "gap": a.gap, "condition": a.condition,
                "violation": a.violation, "advice": a.advice,
            }
            for name, a in self.audits.items()
        ]  # fmt: skip

    def __str__(self) -> str:
        width = max(len(name) for name in self.audits)
        advised: dict[str, list[str]] = {}
        lines = [f"{self.machine}: {count_text(len(self), 'machine')}, largest relative gap {self.gap:.2e}"]
        for name, a in self.audits.items():
            kind = "" if not a.condition else f" (proved if {a.condition})"
            lines.append(f"  {name:<{width}}  value {a.value:<14.8g} bound {a.bound:<14.8g} gap {a.gap:.2e}{kind}")
            advised[a.advice] = [*advised.get(a.advice, []), name]
        subjects = {advice: "" if len(names) == len(self) else f"{'; '.join(names)}: " for advice, names in advised.items()}
        return "\n".join([*lines, *(f"  {subject}{advice}" for advice, subject in subjects.items() if advice)])

    def display(self) -> Display:
        """Return the notebook view: the lines."""
        return Display(text=str(self))


def class_weights(estimator: Any, codes: Any, weights: FloatArray | None = None) -> FloatArray:
    """Return the weight of each point's class, as ``fit`` computed it.

    Parameters
    ----------
    estimator : object
        The machine.
    codes : ndarray of int or bool (n,)
        Index of each point's class in ``classes_``.
    weights : ndarray (n,), optional
        Sample weights, by which ``class_weight="balanced"`` counts points in newer versions of scikit-learn; LIBSVM's machines
        count points without weights.
    """
    from sklearn.utils.class_weight import compute_class_weight

    codes = np.asarray(codes, dtype=np.int64)
    counted = weights is not None and "sample_weight" in inspect.signature(compute_class_weight).parameters
    options = {"sample_weight": weights} if counted else {}
    labels = estimator.classes_[codes]
    by_class = compute_class_weight(estimator.class_weight, classes=estimator.classes_, y=labels, **options)
    return np.asarray(by_class, dtype=np.float64)[codes]


def class_codes(estimator: Any, y: Any) -> IntArray:
    """Return the index of each label in a machine's ``classes_``; raise InputError for an unknown label."""
    labels = np.asarray(y)
    if labels.ndim != 1 or not np.isin(labels, estimator.classes_).all():
        raise InputError(f"y must hold one of {short_text(estimator.classes_.tolist())} for each row of X", name="y")
    order = np.argsort(estimator.classes_)  # files of LIBSVM hold classes in the order of the data
    return np.asarray(order[np.searchsorted(estimator.classes_, labels, sorter=order)])
