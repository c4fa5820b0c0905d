"""Check of a point from any source: `check_point` lists violated rows, bounds and integers, `certify` returns its certificate.

`check_point` decides linear rows, bounds and integrality in exact arithmetic, other cones in floating point, in the program's
own names, sense and units. The residuals of `certify` are relative and in floating point.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from ...display import Display, Displayable
from ...errors import DataError, InputError, TooLargeError, UnsupportedModelError
from ...models.arrays import FloatArray, as_array
from ...models.export.solution_files import FilePoint, read_point
from ...models.model import Model, as_model
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import Constraint, StandardForm, check_mapping
from ...models.rounding import gamma
from .certificate import Certificate, MaximumCertificate, certify as certify_form, certify_by_model, objective_differs

#: Default tolerance: a point counts as feasible if no violation is larger; solvers meet rows to about 1e-6.
TOLERANCE = 1e-6
#: Number of violations that are printed.
_SHOWN = 5


@dataclass(frozen=True)
class PointViolation:
    """One violation by a point: of a row, a bound or the integrality of a variable."""

    name: str  #: name of the row or variable
    kind: str  #: "row", "bound" or "integer"
    amount: float  #: violation in the units of the row or variable
    exact: bool = True  #: whether the amount was computed in exact arithmetic

    def __str__(self) -> str:
        words = {"row": "violated by", "bound": "outside its bounds by", "integer": "off the nearest integer by"}
        return f"{self.name} {words[self.kind]} {'' if self.exact else 'about '}{self.amount:.6g}"


@dataclass(frozen=True)
class PointCheck(Displayable):
    """The outcome of `check_point`: whether the point is feasible, its violations, the largest first, and its objective in the
    program's own sense.

    Parameters
    ----------
    program : str
        Name of the program.
    violations : tuple of PointViolation
        Violations of every row, bound and integer that is violated by any amount, the largest first.
    objective : float
        The objective, in the sense of the program.
    sense : {"minimise", "maximise"}
        The sense of the program.
    tolerance : float
        A point is feasible if no violation is larger.
    exact : bool
        Whether every row was decided in exact arithmetic.
    unknown_variables : int
        Variables of a solution file that the program does not have, which were left out.
    stated_objective : float, optional
        The objective that a solution file states, in the sense of the program.
    """

    program: str
    violations: tuple[PointViolation, ...]
    objective: float
    sense: str
    tolerance: float = TOLERANCE
    exact: bool = True
    unknown_variables: int = 0
    stated_objective: float | None = None

    @property
    def misstated(self) -> bool:
        """Return whether the objective stated in a solution file differs from the point's by more than the tolerance."""
        return objective_differs(self.objective, self.stated_objective, self.tolerance)

    @property
    def feasible(self) -> bool:
        """Return whether no row, bound or integer is violated by more than the tolerance."""
        return not self.violations or self.violations[0].amount <= self.tolerance

    def __str__(self) -> str:
        arithmetic = "in exact arithmetic" if self.exact else "its cones in floating point"
        if not self.violations:
            verdict = f"feasible, {arithmetic}"
        elif self.feasible:
            verdict = f"feasible within {self.tolerance:g}; {self.violations[0]}"
        else:
            violated = sum(violation.amount > self.tolerance for violation in self.violations)
            noun = "row, bound or integer" if violated == 1 else "rows, bounds or integers"
            verdict = f"infeasible: {violated} {noun} violated by more than {self.tolerance:g}"
        lines = [f"{self.program}: {verdict}"]
        if not self.feasible:
            lines += [f"  {violation}" for violation in self.violations[:_SHOWN]]
            lines += [f"  ... and {len(self.violations) - _SHOWN} more"] if len(self.violations) > _SHOWN else []
        lines.append(f"  objective {self.objective:.12g} ({self.sense}) at this point")
        if objective_differs(self.objective, self.stated_objective):
            lines.append(f"  the file states the objective {self.stated_objective:.12g}")
        if self.unknown_variables:
            lines.append(f"  {self.unknown_variables} of the file's variables left out: the program does not have them")
        return "\n".join(lines)

    def display(self) -> Display:
        """Return the notebook view: the lines."""
        return Display(text=str(self))


def check_point(
    model: Model | StandardForm, values: Mapping[str, object] | FloatArray | str | Path, *, tolerance: float = TOLERANCE
) -> PointCheck:
    """Check a point: whether it is feasible, which rows, bounds and integers it violates, and its objective.

    Parameters
    ----------
    model : Model or StandardForm
    values : mapping, ndarray (n,), str or Path
        The point: values by block or by the names of single variables, an array of all values in the form's order, or a solution
        file (`read_solution`).
    tolerance : float
        Largest violation of a row, bound or integer, in its own units, that counts as feasible.

    Returns
    -------
    PointCheck
        Feasible or not, the violations from the largest on, and the objective.

    Raises
    ------
    InputError
        Names that the program does not have, or variables without a value.
    DataError
        A file that is no solution of this program.
    """
    problem = as_model(model)
    form, unknown, file_objective = problem.form, 0, None
    if isinstance(values, np.ndarray):
        x = as_array(values, "values")
    else:
        named: Mapping[str, object]
        if not isinstance(values, str | os.PathLike):
            check_mapping(values, "values")
            named = values
        else:
            point, content = _file_point(form, values)
            named, unknown, file_objective = form.split(point), content.unknown_variables, content.objective
        x = form.join(problem.complete(form.read_values(named, "values")))
    violations = [*_rows(form, x), *_bounds(form, x), *_integers(form, x)]
    violations.sort(key=lambda violation: -violation.amount)
    sign, sense = (-1.0, "maximise") if form.maximise else (1.0, "minimise")
    exact = all(isinstance(c.cone, Nonnegative | Zero) for c in form.constraints)
    objective = sign * form.evaluate(x).value + 0.0  # zero has no sign
    stated_objective = None if file_objective is None else sign * file_objective + 0.0
    return PointCheck(problem.name, tuple(violations), objective, sense, tolerance, exact, unknown, stated_objective)


def _file_point(form: StandardForm, path: str | Path) -> tuple[FloatArray, FilePoint]:
    """Return the point of a solution file, and everything that the file says."""
    content = read_point(form, path)
    if content.x is None:
        raise DataError(f"{path} holds no point: it says {content.status_text or 'nothing'}", file=path)
    return content.x, content


def _rows(form: StandardForm, x: FloatArray) -> Iterator[PointViolation]:
    """Yield the violations of rows."""
    for c in form.constraints:
        if not isinstance(c.cone, Nonnegative | Zero):
            yield from _cones(c, c.value(x))
            continue
        value, size = c.value(x), abs(c.F) @ np.abs(x) + np.abs(c.g)
        rounding = gamma(form.n + 2) * size
        low = np.abs(value) if isinstance(c.cone, Zero) else -value
        names: Sequence[str] | None = None
        for i in np.flatnonzero(low > -rounding).tolist():
            exact = _exact_row(c, i, x)
            amount = abs(exact) if isinstance(c.cone, Zero) else max(-exact, Fraction(0))
            if amount:
                names = c.names() if names is None else names
                yield PointViolation(names[i], "row", float(amount))


def _exact_row(c: Constraint, i: int, x: FloatArray) -> Fraction:
    begin, end = int(c.F.indptr[i]), int(c.F.indptr[i + 1])
    pairs = zip(c.F.data[begin:end].tolist(), x[c.F.indices[begin:end]].tolist(), strict=True)
    return sum((Fraction(a) * Fraction(v) for a, v in pairs), Fraction(float(c.g[i])))


def _cones(c: Constraint, value: FloatArray) -> Iterator[PointViolation]:
    """Yield the violations of cones: the largest change of an entry that a projection makes."""
    outside = np.abs(value - c.cone.project(value)).reshape(-1, c.cone.group_size).max(axis=1)
    names = c.names()
    for k in np.flatnonzero(outside > 1e-15 * (1.0 + np.abs(value).max(initial=0.0))).tolist():
        yield PointViolation(names[k * c.cone.group_size], "row", float(outside[k]), exact=False)


def _bounds(form: StandardForm, x: FloatArray) -> Iterator[PointViolation]:
    """Yield the variables beyond their bounds."""
    outside = np.flatnonzero((x < form.lower) | (x > form.upper)).tolist()
    names = form.names() if outside else []
    for j in outside:
        end = form.lower[j] if x[j] < form.lower[j] else form.upper[j]
        yield PointViolation(
            names[j], "bound", float(abs(Fraction(float(x[j])) - Fraction(float(end)))) if math.isfinite(end) else math.inf
        )


def _integers(form: StandardForm, x: FloatArray) -> Iterator[PointViolation]:
    """Yield the integer variables whose values are not integers."""
    broken = np.flatnonzero(form.integer & (x != np.round(x))).tolist()
    names = form.names() if broken else []
    for j in broken:
        yield PointViolation(names[j], "integer", float(abs(x[j] - np.round(x[j]))))


def certify(
    model: Model | StandardForm,
    values: Mapping[str, object] | str | Path,
    multipliers: Mapping[str, FloatArray] | None = None,
    reduced: FloatArray | None = None,
) -> Certificate:
    """Return the certificate of a point of a formulation or a form, recomputed from the data; no claim of a solver is used.

    Objective and bound are in the program's own sense: of one that is maximised, the bound is an upper one.

    Parameters
    ----------
    model : Model or StandardForm
    values : mapping of name to array or number, str or Path
        The point by block, or by the names of single variables. Blocks that a formulation completes by itself may be left out.
        Or a solution file (`read_solution`), whose multipliers count unless others are given.
    multipliers : mapping of label to array, optional
        Multipliers by constraint, in the signs of `models.program.form`; a bound follows from them.
    reduced : ndarray (n,), optional
        Multipliers of the bounds; zero by default.

    Returns
    -------
    Certificate
        Objective, residuals, and the bound that follows from the multipliers (-inf without any).

    Raises
    ------
    InputError
        Blocks that are missing or misshaped, or numbers that are not finite; multipliers that are no numbers by label.
    DataError
        A file that is no solution of this program.
    TooLargeError
        The form is too large or does not exist, and the formulation gives no certificate without it.
    """
    problem = as_model(model)
    if multipliers is not None:
        multipliers = _numbers(multipliers, "multipliers")
    reduced = None if reduced is None else np.asarray(as_array(reduced, "reduced"), dtype=np.float64)
    file_objective: float | None = None
    if isinstance(values, str | Path):
        x, content = _file_point(problem.form, values)
        values, file_objective = problem.form.split(x), content.objective
        if multipliers is None and content.multipliers is not None:
            multipliers, reduced = content.multipliers, content.reduced if reduced is None else reduced
    try:
        form = problem.form
    except (TooLargeError, UnsupportedModelError):  # the formulation appraises its own points
        return certify_by_model(problem, _finite(values), multipliers)
    point = form.read_values(values, "values")
    try:
        complete = problem.complete(point)
    except KeyError as missing:
        raise InputError(f"values for {missing} are missing; the form has {', '.join(form.slices)}", name="values") from None
    certificate = replace(certify_form(form, complete, multipliers, reduced, problem), stated_objective=file_objective)
    return MaximumCertificate.of(certificate) if form.maximise else certificate


def _finite(values: Mapping[str, object]) -> dict[str, FloatArray]:
    numbers = _numbers(values, "values")
    wrong = [label for label, value in numbers.items() if not np.isfinite(value).all()]
    if wrong:
        raise InputError(f"values must be finite; {', '.join(wrong)} is not", name="values")
    return numbers


def _numbers(arrays: Mapping[str, object], noun: str) -> dict[str, FloatArray]:
    if not isinstance(arrays, Mapping):
        raise InputError(f"{noun} must be arrays by label, {{label: array}}; they are {type(arrays).__name__}", name=noun)
    return {label: as_array(value, f"{noun}[{label!r}]") for label, value in arrays.items() if value is not None}
