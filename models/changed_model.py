"""Models with added constraints, variables or costs, with fixed variables, or relaxed: `with_constraint` and its kin return them.

Constraints, variables and costs are stated in CVXPY, canonicalised by CVXPY, and taken into the form with their names.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError, UnsupportedModelError
from .appraisal import ExactCost, Tilt, restricted_bound
from .arrays import BoolArray, FloatArray
from .cvxpy_expressions import BlockVariables, cvxpy_module, expression_line, row_line, variables_behind
from .explanation import PointExplanation
from .form_change import Change, ContinuousRelaxation, FixedVariables, check_blocks, shared_places
from .importing.cvxpy import CVXPYSource
from .importing.source import Import
from .kernels.gram import PaddedGram
from .model import Model
from .program.cones import Feature
from .program.form import Block, Constraint, StandardForm
from .program.lagrangian import Bound
from .program.quadratic import Quadratic
from .statement import Line, Statement

#: A function that takes the form's blocks as CVXPY variables and returns CVXPY constraints (or an expression).
CVXPYStatement = Callable[[Any], Any]
#: Attribute in which a change keeps the record of its import.
_IMPORT = "_import"
#: Characters of a constraint's text that are shown.
_SHOWN = 90


@dataclass(frozen=True, eq=False)
class AddedParts(Change):
    """The change of `with_constraint` and `with_variables`: further blocks, rows in cones, and a convex cost.

    Parameters
    ----------
    form_blocks : tuple of Block
        The form's blocks.
    blocks : tuple of Block
        The new ones.
    lower, upper, integer : ndarray
        Of the new variables.
    constraints : tuple of Constraint
    q, r : ndarray, float
        What is added to the objective that the form minimises.
    P : csc_array or None
        Its quadratic part, ½x'Px.
    added_lines : tuple of Line
        What the user stated.
    """

    form_blocks: tuple[Block, ...]
    blocks: tuple[Block, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    constraints: tuple[Constraint, ...]
    q: FloatArray
    r: float
    P: sp.csc_array | None
    added_lines: tuple[Line, ...]

    @property
    def restricts(self) -> bool:  # type: ignore[override]
        """Return whether the change only restricts the model: it adds no cost."""
        return self.P is None and not self.q.any() and self.r == 0.0

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines that the change adds to the statement."""
        return self.added_lines

    @classmethod
    def of(
        cls,
        form: StandardForm,
        statements: Sequence[CVXPYStatement],
        variables: Sequence[Any] = (),
        cost: CVXPYStatement | None = None,
    ) -> AddedParts:
        """Return the change that these functions of the form's blocks, new variables and cost describe."""
        cvxpy = cvxpy_module()
        stem = _stem(form)
        v = BlockVariables(form, variables)
        named = [pair for state in statements for pair in _constraints(state(v), form)]
        for k, (label, constraint) in enumerate(named):
            constraint.set_label(label or constraint.label or f"{stem} row {k}")
        rows = [constraint for _, constraint in named]
        expression = _cost(cost, v) + sum(0.0 * cvxpy.sum(variable) for variable in variables)
        problem = cvxpy.Problem(cvxpy.Minimize(expression), rows)
        _check_names(form, problem, rows, {x.id for x in variables_behind(v)})
        _check_convex(problem, rows)
        if not problem.variables():
            raise InputError("nothing is added: no variable of the model and no new one occurs", name="variables")
        return cls._taken(
            form, CVXPYSource(problem, stem), tuple(row_line(row, form.blocks) for row in rows), problem if cost else None
        )

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the added statements as sources, by which CVXPY evaluates them."""
        return tuple(filter(None, [vars(self).get(_IMPORT)]))

    def __getstate__(self) -> dict[str, Any]:
        """Without CVXPY's objects."""
        return {name: value for name, value in vars(self).items() if name != _IMPORT}

    @classmethod
    def _taken(cls, form: StandardForm, source: CVXPYSource, lines: tuple[Line, ...], costed: Any) -> AddedParts:
        """The canonical program over the form's variables and the new ones."""
        source_form = source.form
        slices = {b.label: form.slices[b.label] for b in form.blocks}
        new = tuple(b for b in source_form.blocks if b.label not in slices)
        starts = itertools.accumulate((b.size for b in new), initial=form.n)
        slices |= {b.label: slice(start, start + b.size) for b, start in zip(new, starts, strict=False)}
        places = np.concatenate([np.arange(slices[b.label].start, slices[b.label].stop) for b in source_form.blocks])
        total = form.n + sum(b.size for b in new)
        spread = sp.csr_array((np.ones(source_form.n), (np.arange(source_form.n), places)), shape=(source_form.n, total))
        added_places = np.flatnonzero(places >= form.n)
        added_places = added_places[np.argsort(places[added_places])]
        if costed is not None:
            cost = expression_line(costed.objective.args[0], form.blocks)
            lines = (*lines, Line(f"added to the objective: {cost.text}", rf"\text{{added to the objective: }} {cost.latex}"))
        P = None if source_form.quadratic is None else sp.csc_array(spread.T @ source_form.quadratic.csc @ spread)
        added = cls(
            form_blocks=form.blocks,
            blocks=new,
            lower=source_form.lower[added_places],
            upper=source_form.upper[added_places],
            integer=source_form.integer[added_places],
            constraints=tuple(Constraint(c.label, sp.csr_array(c.F @ spread), c.g, c.cone) for c in source_form.constraints),
            q=np.asarray(spread.T @ source_form.q),
            r=source_form.r,
            P=P,
            added_lines=lines,
        )
        vars(added)[_IMPORT] = Import.of(source, places)
        return added

    def apply(self, form: StandardForm) -> StandardForm:
        """Return the form with the new blocks and rows after its own."""
        check_blocks(form, self.form_blocks)
        wider = self._widened_form(form, self.constraints, self.integer, self.P)
        return wider.replace(q=wider.q + self.q, r=form.r + self.r)

    def _widened_form(
        self, form: StandardForm, constraints: Iterable[Constraint], integer: BoolArray, P: sp.csc_array | None
    ) -> StandardForm:
        """Return the form with the new blocks, with these rows after its own and P added to its quadratic part."""
        extra = self.lower.size
        wide = (replace(c, F=_widened(c.F, extra)) for c in form.constraints) if extra else form.constraints
        return form.replace(
            blocks=(*form.blocks, *self.blocks),
            q=np.concatenate([form.q, np.zeros(extra)]),
            constraints=(*wide, *constraints),
            lower=np.concatenate([form.lower, self.lower]),
            upper=np.concatenate([form.upper, self.upper]),
            integer=np.concatenate([form.integer, integer]),
            quadratic=_sum(form.quadratic, extra, P),
        )

    def cutoff(self, before: float, loss_bounded_variables: tuple[int, ...]) -> float:
        """Return the cutoff of the changed form: unknown (-inf) where an added row contains a variable of
        `Model.loss_bounded_variables`.
        """
        touched = any(np.isin(loss_bounded_variables, c.F.indices[c.F.data != 0.0]).any() for c in self.constraints)
        return float("-inf") if touched else super().cutoff(before, loss_bounded_variables)

    def apply_to_part(self, form: StandardForm) -> StandardForm:
        """Return a form with some of the blocks after the rows that concern these alone, and after all new blocks."""
        labels, places = shared_places(self.form_blocks, form)
        old, extra = sum(b.size for b in self.form_blocks), sum(b.size for b in self.blocks)
        new_places = np.concatenate([labels, np.arange(old, old + extra)])
        destinations = np.concatenate([places, np.arange(form.n, form.n + extra)])
        total = form.n + extra
        permutation = sp.csr_array((np.ones(new_places.size), (new_places, destinations)), shape=(old + extra, total))
        shared_rows = (c for c in self.constraints if np.isin(c.F.indices[c.F.data != 0.0], new_places).all())
        rows = (Constraint(c.label, sp.csr_array(c.F @ permutation), c.g, c.cone) for c in shared_rows)
        return self._widened_form(form, rows, np.zeros(extra, dtype=bool), None)


def _stem(form: StandardForm) -> str:
    """Return the first ``change k`` that no label begins with: the stem of the names of a change."""
    labels = [b.label for b in form.blocks] + [c.label for c in form.constraints]
    # exempt (text): labels that a change gave
    return next(s for k in itertools.count(1) if not any(label.startswith(f"{(s := f'change {k}')} ") for label in labels))


def _constraints(returned: Any, form: StandardForm) -> list[tuple[str, Any]]:
    """Labels (or nothing) and constraints of what a function returned: one, several, or by label."""
    from cvxpy.constraints.constraint import Constraint as Row

    if isinstance(returned, Mapping):
        labelled_rows = [pair for label, rows in returned.items() for pair in _numbered(str(label), rows)]
    else:
        labelled_rows = [
            ("", row) for row in (returned if isinstance(returned, Iterable) and not isinstance(returned, Row) else [returned])
        ]
    wrong = [row for _, row in labelled_rows if not isinstance(row, Row)]
    if wrong or not labelled_rows:
        description = repr(wrong[0]) if wrong else "nothing"
        raise InputError(
            "with_constraint takes functions that return CVXPY constraints, as in lambda v: [v.w[3] >= 0, cp.norm1(v.w) <= 2]; "
            f"one returned {description} (blocks: {', '.join(b.label for b in form.blocks)})",
            name="constraints",
        )
    return labelled_rows


def _numbered(label: str, rows: Any) -> list[tuple[str, Any]]:
    """Return the rows of a label, the second one and those behind it numbered."""
    row_list = rows if isinstance(rows, list | tuple) else [rows]
    return [(label if k == 0 else f"{label} {k + 1}", row) for k, row in enumerate(row_list)]


def _cost(cost: CVXPYStatement | None, v: BlockVariables) -> Any:
    cvxpy = cvxpy_module()
    if cost is None:
        return cvxpy.Constant(0.0)
    expression = cost(v)
    if not isinstance(expression, cvxpy.Expression) or expression.size != 1:
        raise InputError(f"cost takes a function that returns a scalar CVXPY expression; it returned {expression!r}", name="cost")
    return cvxpy.sum(expression)


def _check_names(form: StandardForm, problem: Any, rows: Sequence[Any], added_variables: set[int]) -> None:
    """New variables and rows have names that nothing else has."""
    names_in_use = {b.label for b in form.blocks} | {c.label for c in form.constraints}
    new = [variable.name() for variable in problem.variables() if variable.id not in added_variables]
    for name in [*new, *(row.label for row in rows)]:
        if name in names_in_use:
            raise InputError(f"the name {name!r} is taken; choose another for what is added", name="name")
        names_in_use.add(name)


def _check_convex(problem: Any, rows: Sequence[Any]) -> None:
    for row in rows:
        if not row.is_dcp():
            raise UnsupportedModelError(
                f"the constraint {_short(str(row))} is not convex by CVXPY's rules (DCP), so it cannot be added to a form",
                name="constraints",
            )
    if not problem.objective.is_dcp():
        raise UnsupportedModelError(
            f"the cost {_short(str(problem.objective.args[0]))}, which is added to what is minimised, is not convex by CVXPY's "
            "rules (DCP)",
            name="cost",
        )


def _short(text: str) -> str:
    """One line of what CVXPY prints."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 4] + " ..."


def _widened(F: sp.csr_array, extra: int) -> sp.csr_array:
    return sp.csr_array((F.data, F.indices, F.indptr), shape=(F.shape[0], F.shape[1] + extra))


def _sum(quadratic: Quadratic | None, extra: int, P: sp.csc_array | None) -> Quadratic | None:
    """½x'Px of both; what is known of the given one's convexity stays known."""
    if quadratic is None:
        return None if P is None else Quadratic(matrix=P)
    if P is not None:
        wide = sp.block_diag([quadratic.csc, sp.csc_array((extra, extra))], format="csc") if extra else quadratic.csc
        return Quadratic(matrix=sp.csc_array(wide + P))
    if not extra:
        return quadratic
    if quadratic.operator is not None:
        return Quadratic(operator=PaddedGram(quadratic.operator, extra))
    if quadratic.factor is not None:
        factor = sp.csr_array(quadratic.factor)
        wide = _widened(factor, extra)
        return Quadratic(factor=wide if sp.issparse(quadratic.factor) else wide.toarray())
    return Quadratic(matrix=sp.csc_array(sp.block_diag([quadratic.csc, sp.csc_array((extra, extra))], format="csc")))


@dataclass(frozen=True, eq=False, repr=False)
class ChangedModel(Model):
    """The model that `Model.with_constraint`, `with_variables`, `with_fixed` and `relaxed` return.

    The blocks of the model come first, so that whatever reads its values reads these: scores, summary, points, the meaning of
    multipliers. It has no structural view, since an algorithm for the model would not see the change.

    Parameters
    ----------
    base : Model
    change : Change

    Raises
    ------
    UnsupportedModelError, TooLargeError
        The model has no standard form, or one too large to build.
    """

    base: Model
    change: Change

    name = "a changed model"

    def __post_init__(self) -> None:
        suffix = f", {self.change.suffix}"
        # exempt (text): names that a change gave
        object.__setattr__(self, "name", self.base.name if self.base.name.endswith(suffix) else self.base.name + suffix)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the model's form."""
        return self.base.form_bytes

    def compile(self) -> StandardForm:
        """Compile the form of the base model and apply the change."""
        return self.change.apply(self.base.form).replace(name=self.name)

    @property
    def statement(self) -> Statement:
        """Return the base model's statement with the added lines, without its closed-form dual and equivalences."""
        base_statement = self.base.statement
        return replace(
            base_statement,
            title=f"{base_statement.title}, {self.change.suffix}",
            problem_class=self.change.problem_class or base_statement.problem_class,
            constraints=self.change.restate(base_statement.constraints),
            notes=(*base_statement.notes, *filter(None, [self.change.note])),
            equivalences=(),
            dual=None,
        )

    @property
    def unmodified(self) -> Model:
        """Return the model before all changes."""
        return self.base.unmodified

    @property
    def bounding_model(self) -> Model:
        """Return the base model where the change only restricts it, so that its bounds hold; else this model."""
        return self.base.bounding_model if self.change.restricts else self

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return the changes of the base model, then this one."""
        return (*self.base.changes, self.change)

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the imports of the base model, then those of the change."""
        return (*self.base.imports, *self.change.imports)

    @property
    def cutoff(self) -> float:
        """Return the base model's cutoff; none is known if the change adds a cost or an added row contains a
        variable of `loss_bounded_variables`.

        Big-M constants that the user gave are taken to hold after a change of that kind.
        """
        before = self.base.cutoff
        after = before if np.isposinf(before) else self.change.cutoff(before, self.base.loss_bounded_variables)
        return float("inf") if self.has_given_big_m and np.isneginf(after) else after

    @property
    def has_given_big_m(self) -> bool:
        """Return whether the user gave the base model's big-M constants."""
        return self.base.has_given_big_m

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return the variables whose bounds hold for some optimal point only, as in the base model."""
        return self.base.loss_bounded_variables

    @property
    def no_view_reason(self) -> str:
        """Return the reason why there is no view: no algorithm for the base model would see the change."""
        return f"it is {self.change.suffix}, and a view would not show that"

    def origin(self, label: str) -> str:
        """Return the origin of a row: that of the base model, or the change."""
        before = self.base.form
        base_names = {*(b.label for b in before.blocks), *(c.label for c in before.constraints)}
        return self.base.origin(label) if label in base_names else f"what is {self.change.suffix}"

    @property
    def rows_to_separate(self) -> tuple[FloatArray, str] | None:
        """Return the base model's requirement of separable data, which holds unless the change relaxes it."""
        return self.base.rows_to_separate if self.change.restricts else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the base model's parameters."""
        return self.base.parameters

    def replace(self, parameter: str, value: Any) -> ChangedModel:
        """Return the model with one field of the base model changed, and the same change."""
        return replace(self, base=self.base.replace(parameter, value))

    def with_parameter(self, parameter: str, value: Any) -> ChangedModel:
        """Return the model with one parameter of the base model changed, and the same change.

        Raises
        ------
        InputError
            A value that the model refuses, or one with which it has other blocks.
        """
        return replace(self, base=self.base.with_parameter(parameter, value))

    def at_solution(self, optimised: Mapping[str, Any]) -> ChangedModel:
        """Return the model at the parameters that a solver moved, with the same change."""
        return replace(self, base=self.base.at_solution(optimised)) if optimised else self

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the Lagrangian bound of the changed form, or the base model's bound where that is valid and larger."""
        proved = super().bound(x, multipliers)
        if proved.value > self.cutoff:  # what is worse than the level may not be in the form
            proved = replace(proved, value=self.cutoff, argument=f"{proved.argument}; up to the level of its constants")
        if not self.change.restricts:
            return proved
        base_bound = self.base.bound(None if x is None else x[: self.base.form.n], multipliers)
        stands = replace(base_bound, argument=f"{base_bound.argument}, of the model before the change, which restricts it")
        bounds = [stands, proved, *self._with_prices(x, multipliers)]
        return max(bounds, key=lambda bound: (not bound.condition, bound.value))

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return the base model's tilted bound, where the change only restricts it."""
        base_point = None if x is None else x[: self.base.form.n]
        return self.base.tilted_bound(base_point, multipliers, tilt) if self.change.restricts else None

    def _with_prices(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> list[Bound]:
        """The bound by the unmodified model's structure with all rows that changes added at their prices, if there is one."""
        first = self.unmodified
        if x is None or multipliers is None or "w" not in self.form.slices or self.bounding_model is not first:
            return []

        def tilted(tilt: Tilt) -> Bound | None:
            return first.tilted_bound(x[: first.form.n], multipliers, tilt)

        bound = restricted_bound(self.form, first.form, x, multipliers, tilted)
        return [] if bound is None else [bound]

    @property
    def nonnegative(self) -> bool:
        """Return whether the base model's objective is nonnegative and the change only restricts it."""
        return self.change.restricts and self.base.nonnegative

    @property
    def bounded_below(self) -> str:
        """Return the base model's reason where the change only restricts it."""
        return self.base.bounded_below if self.change.restricts else ""

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return a nearby point whose exact cost equals its reported cost, by the base model and within the changed bounds; the
        point itself if the change adds a cost.
        """
        if not self.change.restricts or "w" not in values:
            return dict(values)
        ends_of_w = (self.form.split(end)["w"] for end in (self.form.lower, self.form.upper))
        lower, upper = ends_of_w if box is None else (np.maximum(box[0], next(ends_of_w)), np.minimum(box[1], next(ends_of_w)))
        return dict(values) | self.base.exact_point(self._before(values), (lower, upper))

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the base model's blocks at their best for its coefficients; the point itself if the change adds a cost."""
        return dict(values) | self.base.with_best_auxiliaries(self._before(values)) if self.change.restricts else dict(values)

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the base model's exact cost, where the change only restricts it."""
        return self.base.exact_cost(self._before(values)) if self.change.restricts else None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the base model's columns."""
        return self.base.feature_names

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the base model's coefficients."""
        return self.base.named_axes

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores of the base model."""
        return self.base.decision_function(self._before(values), X)

    def predict(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Return the classes that the base model decides."""
        return self.base.predict(self._before(values), X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Explain the points as the base model does."""
        return self.base.explain_points(self._before(values), multipliers)

    def meaning(self, label: str) -> str:
        """Return the base model's sentence on a constraint; added rows have none, nor have bounds that the change moves."""
        return self.base.meaning(label)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the summary of the base model."""
        return self.base.summary(self._before(values))

    def _before(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {label: values[label] for label in self._labels if label in values}

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(block.label for block in self.base.form.blocks)


def with_constraint(
    model: Model, statements: Sequence[CVXPYStatement | Mapping[str, CVXPYStatement | Sequence[CVXPYStatement]]]
) -> ChangedModel:
    """Return the model with added constraints, for `Model.with_constraint`."""
    if not statements:
        raise InputError("with_constraint needs a function of the blocks, as in lambda v: v.w[3] >= 0", name="constraints")
    states = [labelled for state in statements for labelled in _by_label(state)]
    for state in states:
        if not callable(state):
            raise InputError(
                "with_constraint takes functions of the blocks, as in lambda v: v.w[3] >= 0, and restrictions such as parity are "
                f"for Margin(..., subject_to=...); got {state!r}",
                name="constraints",
            )
    return ChangedModel(model, AddedParts.of(model.form, states))


def _by_label(state: Any) -> list[CVXPYStatement]:
    """Return the functions of a mapping of labels to a function or several, with their label; a function as it is."""
    if not isinstance(state, Mapping):
        return [state]
    labelled: list[CVXPYStatement] = []
    for label, value in state.items():
        functions = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not functions or not all(map(callable, functions)):
            raise InputError(
                f"with_constraint takes functions by label, as in {{{label!r}: lambda v: v.w[3] >= 0}}; got {value!r}"
            )
        labelled.append(_Labelled(label, functions))
    return labelled


@dataclass(frozen=True)
class _Labelled:
    """Functions of the blocks whose constraints have a label."""

    label: str
    functions: tuple[CVXPYStatement, ...]

    def __call__(self, v: Any) -> Mapping[str, Any]:
        results = [function(v) for function in self.functions]
        return {self.label: [c for part in results for c in (part if isinstance(part, list | tuple) else (part,))]}


def with_variables(model: Model, variables: Sequence[Any], cost: CVXPYStatement | None) -> ChangedModel:
    """Return the model with added variables and cost, for `Model.with_variables`."""
    cvxpy = cvxpy_module()
    for variable in variables:
        if not isinstance(variable, cvxpy.Variable):
            raise InputError(
                f"with_variables takes CVXPY variables, as in cp.Variable(3, name='t'); got {variable!r}", name="variables"
            )
    if not variables and cost is None:
        raise InputError("with_variables needs a CVXPY variable or a cost", name="variables")
    return ChangedModel(model, AddedParts.of(model.form, (), variables, cost))


def with_fixed(model: Model, values: Mapping[str, Any]) -> ChangedModel:
    """Return the model with fixed variables, for `Model.with_fixed`."""
    return ChangedModel(model, FixedVariables.of(model.form, values))


def relaxed(model: Model) -> Model:
    """Return the continuous relaxation of the model, for `Model.relaxed`."""
    if not model.form.features & {Feature.INTEGER, Feature.INDICATOR}:
        return model
    return ChangedModel(model, ContinuousRelaxation())
