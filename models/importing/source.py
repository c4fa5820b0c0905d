"""The interface of imported programs, and the check that the standard form agrees with the program of the other package.

The *source* is the program as the package holds it. An import is compared with its source at some points, when it is made and
when an answer is written back: the package evaluates its own objective and constraints, and the form is evaluated as well.

A form made from rows has the source's variables, so both sides are compared number by number. A form made from a CVXPY problem
has auxiliary variables: at given values of the problem's variables these take the values of the expressions that they stand for
(`models.importing.auxiliary_variables`), and then objective and stated rows must be equal. Where the evaluations agree, the
form's rows cut off none of these points, and no objective differs. A claim of infeasibility is refuted by one point that the
*source* finds feasible, a lower bound by a feasible point whose objective is below it. In messages *there* is the source,
*here* the form.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError, count_text
from ..arrays import BoolArray, FloatArray, IntArray
from ..program.cones import Nonnegative, Zero
from ..program.form import Constraint, StandardForm

#: Share of the sum of absolute terms by which two evaluations of one expression may differ.
_AGREEMENT_TOLERANCE = 1e-9


#: Clauses on how binaries state parts of a program that a form does not hold, by words in the names of these parts.
_BY_BINARIES = {
    ("semi",): "; state x, 0 or in [l, u], by a binary z: l z <= x <= u z",
    (
        "sos",
        "special ordered",
    ): "; state x_i in [0, u_i] by binaries: x_i <= u_i z_i, at most one is 1 (SOS2: two adjacent)",
}


def binary_restatement(names: str) -> str:
    """Return the clauses that say how binaries state semi-continuous variables and special ordered sets, if they are named."""
    return "".join(clause for words, clause in _BY_BINARIES.items() if any(word in names.lower() for word in words))


class Termination(enum.Enum):
    """The reason why a solve ended, in terms that the other packages share.

    INACCURATE is a point outside its tolerances, STATIONARY a stationary point of a nonconvex program, FAILED an end without one.
    """

    OPTIMAL = enum.auto()
    INACCURATE = enum.auto()
    STATIONARY = enum.auto()
    INFEASIBLE = enum.auto()
    UNBOUNDED = enum.auto()
    INFEASIBLE_OR_UNBOUNDED = enum.auto()
    TIME_LIMIT = enum.auto()
    ITERATION_LIMIT = enum.auto()
    NODE_LIMIT = enum.auto()
    MEMORY_LIMIT = enum.auto()
    INTERRUPTED = enum.auto()
    FAILED = enum.auto()


@dataclass(frozen=True, eq=False)
class ReturnedAnswer:
    """An answer for the form, in the form's labels and signs, that is to be written back into another package's object.

    Parameters
    ----------
    termination : Termination
        Why the solve ended, as far as the certificate and the comparison with the source support it.
    values : mapping of label to array
        Primal point by block; empty where there is none.
    multipliers : mapping of label to array, optional
        Multipliers z_k of the form's constraints, in the dual cones; None where the solver gave none.
    reduced : mapping of label to array, optional
        Reduced costs ζ of the bounds by block: ≥ 0 at an active lower bound, ≤ 0 at an active upper bound.
    objective : float
        ½x'Px + q'x + r of the form, which is minimised.
    message : str
        Why an answer is inaccurate; empty where it is not.
    """

    termination: Termination
    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray] | None
    reduced: Mapping[str, FloatArray] | None
    objective: float
    message: str = ""


@dataclass(frozen=True, eq=False)
class ConstraintValue:
    """The value and violation of one constraint at a point.

    Parameters
    ----------
    name : str
        Name of the constraint, by which form and source are compared.
    value : ndarray
        Values of its rows, which must be ≥ 0, = 0, or in a cone.
    violation : float
        Violation of the constraint, ≥ 0.
    size : ndarray
        Σ|terms| of each entry; zeros where it is not known.
    """

    name: str
    value: FloatArray
    violation: float
    size: FloatArray

    @classmethod
    def at_least(cls, name: str, value: FloatArray, size: FloatArray | None = None) -> ConstraintValue:
        """Return the value of rows that must be ≥ 0."""
        return cls(name, value, float(np.maximum(-value, 0.0).max(initial=0.0)), np.zeros(value.size) if size is None else size)

    @classmethod
    def equal(cls, name: str, value: FloatArray, size: FloatArray | None = None) -> ConstraintValue:
        """Return the value of rows that must be 0."""
        return cls(name, value, float(np.abs(value).max(initial=0.0)), np.zeros(value.size) if size is None else size)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of a program at a point: its objective, its rows, and the violation of its bounds.

    Parameters
    ----------
    objective : float
        Value of the objective in the form's sense; NaN where it is not known.
    size : float
        Σ|terms| of the objective; 0 where it is not known.
    rows : sequence of ConstraintValue
        Values of the constraints.
    bound_violation : float
        Largest violation of a bound, ≥ 0.
    remark : str
        A sentence on an auxiliary variable outside its bounds; empty without any.
    """

    objective: float
    size: float
    rows: Sequence[ConstraintValue]
    bound_violation: float
    remark: str = ""

    @property
    def has_value(self) -> bool:
        """Return whether the objective or a row has a value at the point."""
        return bool(np.isfinite(self.objective)) or any(row.value.size and np.isfinite(row.value).all() for row in self.rows)

    def disagreement(self, package_values: Evaluation) -> str:
        """Return a sentence on the first expression that the package evaluates to another number; empty where both agree."""
        if self.remark:
            return self.remark
        a, b = self.objective, package_values.objective
        if np.isfinite(a) and np.isfinite(b) and abs(a - b) > _AGREEMENT_TOLERANCE * (self.size + package_values.size):
            return f"the objective is {b:.10g} there and {a:.10g} here"
        by_name = {row.name: row for row in package_values.rows}
        for row in self.rows:
            other = by_name.get(row.name)
            if other is None or not np.isfinite(other.value).all():
                continue
            if other.value.shape != row.value.shape:
                return f"the constraint {row.name} has {count_text(other.value.size, 'row')} there and {row.value.size} here"
            excess = np.abs(row.value - other.value) - _AGREEMENT_TOLERANCE * (row.size + other.size)
            if excess.size and excess.max() > 0.0:
                k = int(excess.argmax())
                return f"the constraint {row.name} has the value {other.value[k]:.10g} there and {row.value[k]:.10g} here"
        return ""

    def feasible(self, sizes: Evaluation, tol: float) -> bool:
        """Return whether violations of rows are at most tol · max(1, the row's size in ``sizes``), of bounds at most tol."""
        scale = {row.name: float(row.size.max(initial=0.0)) for row in sizes.rows}
        return self.bound_violation <= tol and all(row.violation <= tol * max(1.0, scale.get(row.name, 0.0)) for row in self.rows)


class Source(ABC):
    """A program of another package, with which its standard form is compared.

    Attributes
    ----------
    package : str
        The name of the package.
    """

    package: str

    @property
    @abstractmethod
    def form(self) -> StandardForm:
        """Return the program as a standard form, whose labels are the names of variables and constraints."""

    @property
    @abstractmethod
    def variables(self) -> IntArray:
        """Return the indices in x of the package's own variables; the others are auxiliary."""

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return values of all blocks from those of the package's own variables; unchanged without auxiliary variables."""
        return dict(values)

    @abstractmethod
    def evaluate_form(self, x: FloatArray) -> Evaluation:
        """Evaluate the form, row by row of the package, at a point whose auxiliary variables are completed first."""

    @abstractmethod
    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Let the package evaluate its program at its own variables of x; the package's object is unchanged afterwards."""

    @abstractmethod
    def point(self) -> FloatArray | None:
        """Return the current values of the package's variables; None if a variable has no value."""


class Recipient(ABC):
    """An object of another package that answers are written into."""

    @property
    def source(self) -> Source | None:
        """Return the program that the object holds; None for an object without a program."""
        return self if isinstance(self, Source) else None

    @abstractmethod
    def write_back(self, answer: ReturnedAnswer) -> object:
        """Write values, and dual values in the package's signs, into its object; return the status in the package's terms."""

    def check(self, answer: ReturnedAnswer) -> None:
        """Check that the answer has the blocks of the object's program.

        Raises
        ------
        InputError
            Blocks with other labels or shapes.
        """
        shapes = {} if self.source is None else {block.label: block.shape for block in self.source.form.blocks}
        answer_shapes = {label: value.shape for label, value in answer.values.items()}
        if answer.values and shapes != answer_shapes:
            missing = [f"{label} {shape}" for label, shape in shapes.items() if answer_shapes.get(label) != shape]
            raise InputError(
                f"this result is of another program: {', '.join(missing) or 'more blocks than it has'} "
                "do not fit; give the problem that the solved form was made from",
                name="result",
            )


#: Points inside the bounds at which an import is compared, and most moves outwards of a further one until it violates a
#: constraint.
_POINTS, _OUTWARDS = 3, 3
#: Violation in the source, relative to the size of the point, from which a feasible point of the form contradicts the source.
_ONE_SIDED = 1e-5
#: Most projections of one point onto the violated rows, and most entries of these rows.
_SWEEPS, _SWEPT = 100, 1_000_000


@dataclass(frozen=True, eq=False)
class Import:
    """The record of an import: the source program, and the comparison of its form with it at some points.

    Parameters
    ----------
    source : Source
        The program of the package.
    points : tuple of ndarray
        Points at which form and source were compared. The last one was moved outwards until it violated a constraint, at most
        three times.
    evaluations : tuple of Evaluation
        The source's evaluations at these points, at the time of the import.
    disagreement : str
        A sentence on the first expression that differs; empty if all agree.
    places : ndarray of int or None
        Indices of the source form's variables in the x of a model that contains it; None if they are x.
    """

    source: Source
    points: tuple[FloatArray, ...]
    evaluations: tuple[Evaluation, ...]
    disagreement: str
    places: IntArray | None = None

    @classmethod
    def of(cls, source: Source, places: IntArray | None = None) -> Import:
        """Compare a source with its form, and record the comparison."""
        points = tuple(_points(source))
        evaluations = tuple(source.evaluate_source(x) for x in points)
        pairs = zip(points, evaluations, strict=True)
        disagreement = next(
            (text for text in (source.evaluate_form(x).disagreement(package_values) for x, package_values in pairs) if text), ""
        )
        return cls(source, points, evaluations, disagreement, places)

    @property
    def was_compared(self) -> bool:
        """Return whether the source had a value at one of the points; else nothing was compared."""
        return any(values.has_value for values in self.evaluations)

    @property
    def source_changed(self) -> bool:
        """Return whether the source evaluates to other numbers than at the time of the import."""
        pairs = zip(self.points, self.evaluations, strict=True)
        return any(_differ(self.source.evaluate_source(x), values) for x, values in pairs)

    def package_part(self, x: FloatArray) -> FloatArray:
        """Return the part of a model's x that is the source's, clipped to its bounds, with integers rounded."""
        form = self.source.form
        y = x if self.places is None else x[self.places]
        y = np.where(form.integer, np.round(y), y)
        return np.clip(y, form.lower, form.upper)

    def difference_at(self, x: FloatArray) -> str:
        """Return the difference between form and source at a point of the model; empty if they agree."""
        y = self.package_part(x)
        own_values, package_values = self.source.evaluate_form(y), self.source.evaluate_source(y)
        return own_values.disagreement(package_values) or self._worse_in_source(x, own_values, package_values)

    def _worse_in_source(self, x: FloatArray, own_values: Evaluation, package_values: Evaluation) -> str:
        """Return a sentence on a feasible point of the form that the source finds infeasible or more expensive; empty if none.

        It covers rows and objectives for which auxiliary variables have no known values. Whatever values they have at a feasible
        point of the form, the source must have that point, at no higher cost.
        """
        form = self.source.form
        y = self.package_part(x)
        x = x if self.places is None else x[self.places]
        if self.source.variables.size == form.n or np.abs(x - y).max(initial=0.0) > _ONE_SIDED:
            return ""
        size = max(1.0, float(np.abs(x).max(initial=0.0)))
        worst = max((c.cone.violation(c.value(x)) for c in form.constraints if c.rows), default=0.0)
        if worst > 1e-2 * _ONE_SIDED * size:
            return ""
        cost = form.objective(x)
        if not np.isfinite(own_values.objective) and package_values.objective > cost + _ONE_SIDED * max(size, abs(cost)):
            return f"the objective is {package_values.objective:.10g} there and {cost:.10g} here"
        compared = {row.name for row in own_values.rows}
        for row in package_values.rows:
            if row.name not in compared and np.isfinite(row.violation) and row.violation > _ONE_SIDED * size:
                return f"the constraint {row.name} is violated by {row.violation:.3g} there and met here"
        return ""

    def package_point(self) -> FloatArray | None:
        """Return the values of the package's variables; None without values, or in a model that contains the source's form."""
        return self.source.point() if self.places is None else None


def difference_from_source(recipient: Recipient, returned: ReturnedAnswer) -> str:
    """Return a sentence on the first expression that the recipient's program evaluates to another number; empty if none."""
    source = recipient.source
    if source is None or not returned.values:
        return ""
    record = Import.of(source)
    x = source.form.join(returned.values)
    text = record.disagreement or record.difference_at(x)
    own_objective, form_objective = returned.objective, source.form.objective(x)
    if (
        not text
        and np.isfinite(own_objective)
        and abs(own_objective - form_objective)
        > _AGREEMENT_TOLERANCE * max(abs(own_objective), source.evaluate_form(record.package_part(x)).size)
    ):
        text = f"the objective (minimised) is {form_objective:.10g} there and {own_objective:.10g} in the result"
    return f"{source.package} has another program than was solved: {text}" if text else ""


def import_source(source: Source) -> StandardForm:
    """Return the form of a source with the record of their comparison (`Import`), which pickling drops."""
    return source.form.with_import(Import.of(source))


def _differ(values: Evaluation, values_before: Evaluation) -> bool:
    """Return whether two evaluations of one program at one point are of different programs."""
    if len(values.rows) != len(values_before.rows) or not np.array_equal(
        values.objective, values_before.objective, equal_nan=True
    ):
        return True
    pairs = zip(values.rows, values_before.rows, strict=True)
    return any(a.name != b.name or not np.array_equal(a.value, b.value, equal_nan=True) for a, b in pairs)


def _points(source: Source) -> Iterator[FloatArray]:
    """Yield the origin and random points, moved inside the bounds, then one moved outwards until it violates a constraint."""
    form, rng = source.form, np.random.default_rng(0)
    yield _inside(form, np.zeros(form.n))
    if not form.n:
        return
    for _ in range(_POINTS - 1):
        yield _inside(form, rng.normal(size=form.n))
    direction, reach = rng.normal(size=form.n), 3.0
    for _ in range(_OUTWARDS):
        x = _inside(form, reach * direction)
        package_values = source.evaluate_source(x)
        if not package_values.feasible(package_values, _AGREEMENT_TOLERANCE):
            break
        reach *= 30.0
    yield x


def _inside(form: StandardForm, x: FloatArray) -> FloatArray:
    """Return the nearest point within the bounds, with integer variables rounded."""
    inside = np.clip(np.where(form.integer, np.round(x), x), form.lower, form.upper)
    return np.where(form.integer & np.isfinite(inside), np.round(inside), inside)


def near_points(form: StandardForm, starts: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield the starts, moved inside the bounds, and for each a point that projections onto violated linear rows lead to.

    They may refute a claimed infeasibility or bound. Integer variables are rounded. No points are yielded if the rows have too
    many entries.
    """
    linear = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative)) and c.rows]
    rows = _Rows.of(linear, form.n)
    if not form.n or rows is None:
        return
    for start in starts:
        x = _inside(form, start)
        yield x
        for _ in range(_SWEEPS):
            step = rows.step(x)
            if step is None:
                break
            point = _inside(form, x + step)
            if np.array_equal(point, x):
                break
            x = point
        yield x


@dataclass(frozen=True, eq=False)
class _Rows:
    """Linear rows F x + g ≥ 0, or = 0 where ``equal``, of length 1."""

    F: FloatArray
    g: FloatArray
    equal: BoolArray

    @classmethod
    def of(cls, linear: Sequence[Constraint], n: int) -> _Rows | None:
        """Return the rows of linear constraints; None where they have too many entries."""
        if sum(c.rows for c in linear) * n > _SWEPT:
            return None
        F = np.vstack([np.zeros((0, n)), *(c.F.toarray() for c in linear)])
        g = np.concatenate([np.zeros(0), *(c.g for c in linear)])
        equal = np.concatenate([np.zeros(0, dtype=bool), *(np.full(c.rows, isinstance(c.cone, Zero)) for c in linear)])
        norms = np.linalg.norm(F, axis=1)
        nonzero = norms > 0.0
        return cls(F[nonzero] / norms[nonzero, None], g[nonzero] / norms[nonzero], equal[nonzero])

    def step(self, x: FloatArray) -> FloatArray | None:
        """Return a step against the gradient of the squared violations; None if it is zero or all rows are satisfied."""
        value = self.F @ x + self.g
        violated = np.where(self.equal, value, np.minimum(value, 0.0))
        if float(np.abs(violated).max(initial=0.0)) <= 1e-3 * _AGREEMENT_TOLERANCE:
            return None
        direction = self.F.T @ violated
        squared_norm = float(direction @ direction)
        return None if squared_norm == 0.0 else -direction * (float(violated @ violated) / squared_norm)
