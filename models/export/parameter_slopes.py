"""Derivatives of a model's standard form with respect to its parameters, for CVXPY problems with these parameters.

A form is min ½x'Px + q'x + r over constraints F_k x + g_k in cones, and bounds. The form at another value of a parameter is
form + (m - m₀)·D, with one scalar m, its *multiplier*, m₀ that of the model, and a fixed derivative D of all numbers P, q, r,
F_k, g_k and bounds. m is the parameter itself if the form is affine in it; otherwise m is a function of
the parameter, as long as the forms lie on a line. The line is found from two statements of the model and tested at further
values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError, short_text
from ..arrays import FloatArray
from ..program.bridges import RotatedBridge
from ..program.form import Constraint, StandardForm

#: Factor of a parameter's value at which the model is stated again for the slope, and factors at which that slope is tested.
_FACTOR, _CHECKS = 0.5, (0.6180, 0.7547, 0.9041, 1.3719)
#: Relative difference up to which a form counts as equal to the one on the line.
_ROUNDED = 1e-10


class ParametrisedModel(Protocol):
    """The protocol of models that can be stated at other values of their parameters (`models.model.Model`)."""

    name: str

    @property
    def form(self) -> StandardForm:
        """Return the standard form."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters."""

    def replace(self, parameter: str, value: Any) -> Self:
        """Return the same model with one parameter changed."""


@dataclass(frozen=True, eq=False)
class Slope:
    """The derivative of a form with respect to a scalar m, the *multiplier*, which one parameter of the model determines.

    The form at a value of the parameter is the model's form plus (m - ``value``) times this derivative.

    Parameters
    ----------
    name : str
        Name of the parameter.
    start : float
        Value of the parameter in the model.
    value : float
        m at ``start``.
    multiplier : callable
        Returns m at a value of the parameter: the parameter itself where the form is affine in it. Else it states the model anew,
        and raises UnsupportedModelError where the form at that value is not on the line.
    affine : bool
        Whether m is the parameter.
    P : csc_array or None
        dP/dm; None where P does not depend on m.
    q, lower, upper : ndarray (n,)
        Derivatives of q and of the bounds; zero where a bound is infinite.
    r : float
        dr/dm.
    rows : mapping of label to Constraint
        dF/dm and dg/dm of the constraints that depend on m, rotated cones as second-order cones.
    """

    name: str
    start: float
    value: float
    multiplier: Callable[[float], float]
    affine: bool
    P: sp.csc_array | None
    q: FloatArray
    r: float
    lower: FloatArray
    upper: FloatArray
    rows: dict[str, Constraint]


def slopes(model: ParametrisedModel, names: Sequence[str]) -> tuple[Slope, ...]:
    """Return the slope of the model's form with respect to each of these parameters.

    Raises
    ------
    InputError
        Parameters that repeat or that the model does not have, or a value that is not a positive number.
    UnsupportedModelError
        The form does not move along a line with a parameter, its structure changes, or two parameters do not act independently.
    """
    if len(set(names)) < len(names):
        raise InputError(f"parameters must differ; they are {', '.join(names)}", name="parameters")
    lines = [_Line.of(model, name) for name in names]
    expected, trial_model, checks = _Pieces.of(model.form), model, np.linspace(0.55, 0.8, max(len(lines), 1))
    for line, factor in zip(lines, checks.tolist(), strict=True) if lines else ():
        trial_model = trial_model.replace(line.name, factor * line.start)
        expected = expected + line.slope.times(line.move(factor * line.start))
    if len(lines) > 1 and not _pieces_at(trial_model, expected, " and ".join(names)).near(expected):
        raise UnsupportedModelError(
            f"{model.name} does not depend on {' and '.join(names)} apart from each other: take one of them"
        )
    return tuple(line.as_slope() for line in lines)


@dataclass(frozen=True, eq=False)
class _Line:
    """The forms of a model as one parameter moves: base + move(value)·slope."""

    model: ParametrisedModel
    name: str
    start: float
    base: _Pieces
    slope: _Pieces

    @classmethod
    def of(cls, model: ParametrisedModel, name: str) -> _Line:
        """Return the line through the form and the form at `_FACTOR` times the parameter's value."""
        if name not in model.parameters:
            raise InputError(f"{model.name} has no parameter {short_text(name)}; it has {', '.join(model.parameters)}", name=name)
        value = getattr(model, name)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < np.inf:
            raise InputError(
                f"{name} must be a positive number to be a parameter of the problem; it is {short_text(value)}", name=name
            )
        base, start = _Pieces.of(model.form), float(value)
        change = _pieces_at(model.replace(name, _FACTOR * start), base, name) - base
        P = change.parts[0]
        sign = -1.0 if P.count_nonzero() and P.trace() < 0.0 else 1.0  # so that P grows with the multiplier
        return cls(model, name, start, base, change.times(sign))

    def move(self, value: float) -> float:
        """Return m with form(value) = base + m·slope."""
        change = _pieces_at(self.model.replace(self.name, value), self.base, self.name) - self.base
        size = self.slope.dot(self.slope)
        move = change.dot(self.slope) / size if size > 0.0 else 0.0
        if not (change + self.base).near(self.base + self.slope.times(move)):
            raise UnsupportedModelError(
                f"{self.model.name} does not move along a line with {self.name}: its constants (a big M, for example) "
                f"follow from {self.name}; give constants that stay (big_m= that is valid at the largest {self.name}), or make a "
                "problem for each value",
                name=self.name,
            )
        return move

    def as_slope(self) -> Slope:
        """Return the slope with m equal to the parameter where the form is affine in it.

        Else m counts from zero at the point of the line where P ceases to be positive semidefinite; if P is constant, from zero
        at the model's form.
        """
        rate = self.move(_FACTOR * self.start) / ((_FACTOR - 1.0) * self.start)
        form, moves = self.model.form, []
        for factor in _CHECKS:
            try:
                moves.append((factor - 1.0, self.move(factor * self.start)))
            except InputError:  # the parameter may not have this value
                continue
        if all(abs(move - rate * self.start * step) <= _ROUNDED * abs(rate * self.start) for step, move in moves):
            return self.slope.times(rate).slope(form, self.name, self.start, self.start, float, True)
        if not self.slope.parts[0].count_nonzero():
            return self.slope.slope(form, self.name, self.start, 0.0, self.move, False)
        origin = _largest_share(self.base.parts[0], self.slope.parts[0])

        def multiplier(value: float) -> float:
            slope = self.move(value) + origin
            if slope < -_ROUNDED * origin:
                raise UnsupportedModelError(f"{self.model.name} is not convex at {self.name} = {value:g}")
            return max(slope, 0.0)

        return self.slope.slope(form, self.name, self.start, origin, multiplier, False)


def _largest_share(P: sp.csr_array, D: sp.csr_array) -> float:
    """Return the largest t with P - tD ⪰ 0, for P and D ⪰ 0 that are not zero."""
    values, vectors = np.linalg.eigh(P.toarray())
    positive = values > 1e-12 * values[-1]
    root = vectors[:, positive] / np.sqrt(values[positive])
    largest = float(np.linalg.eigvalsh(root.T @ D.toarray() @ root)[-1])
    return 1.0 / largest * (1.0 - 1e-9) if largest > 0.0 else 0.0


def _pieces_at(model: ParametrisedModel, base: _Pieces, name: str) -> _Pieces:
    """Return the numbers of a model's form, which must have the structure of the first form."""
    pieces = _Pieces.of(model.form)
    if pieces.structure != base.structure:
        raise UnsupportedModelError(f"{model.name} has other variables or rows at another {name}: make a problem for each value")
    return pieces


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The numbers of a form as sparse matrices: P, (q, r), lower and upper bounds, then F and g of each constraint.

    ``structure`` (blocks, cones, finite bounds, integers) must agree for two forms to be compared.
    """

    structure: object
    parts: tuple[sp.csr_array, ...]

    @classmethod
    def of(cls, form: StandardForm) -> _Pieces:
        target = RotatedBridge(form).target
        finite = [np.where(np.isfinite(bound), bound, 0.0) for bound in (form.lower, form.upper)]
        P = sp.csr_array((form.n, form.n)) if form.quadratic is None else sp.csr_array(form.quadratic.csc)
        rows = [part for c in target.constraints for part in (c.F, sp.csr_array(c.g[:, None]))]
        shape = tuple((c.label, c.cone) for c in target.constraints)
        ends = tuple(np.isfinite(bound).tobytes() for bound in (form.lower, form.upper))
        vectors = [sp.csr_array(v[:, None]) for v in (np.append(form.q, form.r), *finite)]
        return cls((form.blocks, shape, ends, form.integer.tobytes()), (P, *vectors, *rows))

    def __add__(self, other: _Pieces) -> _Pieces:
        return _Pieces(self.structure, tuple(sp.csr_array(a + b) for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other: _Pieces) -> _Pieces:
        return self + other.times(-1.0)

    def times(self, factor: float) -> _Pieces:
        return _Pieces(self.structure, tuple(sp.csr_array(factor * part) for part in self.parts))

    def dot(self, other: _Pieces) -> float:
        """Return the inner product of all numbers."""
        return float(sum((a * b).sum() for a, b in zip(self.parts, other.parts, strict=True)))

    def near(self, other: _Pieces) -> bool:
        """Return whether every part differs by rounding alone."""
        pairs = zip(self.parts, other.parts, strict=True)
        return all(_largest(a - b) <= _ROUNDED * max(_largest(a), _largest(b)) for a, b in pairs)

    def slope(
        self, form: StandardForm, name: str, start: float, value: float, multiplier: Callable[[float], float], affine: bool
    ) -> Slope:
        """Return these pieces, derivatives by m, as a slope."""
        P, objective, lower, upper, *rows = self.parts
        q = objective.toarray().ravel()
        changed = {}
        for c, F, g in zip(RotatedBridge(form).target.constraints, rows[::2], rows[1::2], strict=True):
            if F.count_nonzero() or g.count_nonzero():
                changed[c.label] = Constraint(c.label, F, g.toarray().ravel(), c.cone)
        return Slope(
            name, start, value, multiplier, affine, sp.csc_array(P) if P.count_nonzero() else None, q[:-1], float(q[-1]),
            lower.toarray().ravel(), upper.toarray().ravel(), changed,
        )  # fmt: skip


def _largest(matrix: sp.csr_array) -> float:
    return float(np.abs(matrix.data).max(initial=0.0))
