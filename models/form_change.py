"""The changes that `with_constraint`, `with_variables`, `with_fixed` and `relaxed` make to a model's standard form.

Constraints, variables and costs are stated in CVXPY, canonicalised by CVXPY, and taken into the form with their names.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..errors import InputError, UnsupportedModelError, short_text
from .arrays import BoolArray, FloatArray, IntArray
from .cvxpy_expressions import BlockVariables, CVXPYPrinter, cvxpy_module, variable_line, variables_in_use
from .importing.cvxpy import CVXPYSource
from .importing.source import Import
from .kernels.gram import PaddedGram
from .program.form import Block, Constraint, StandardForm, find_entry, split_indexed_values
from .program.quadratic import Quadratic
from .statement import Line, Statement, equation, listed, plus

#: Distance, relative to its size, within which a value counts as equal to a bound or an integer.
_NEAR = 1e-6


#: A function that takes the form's blocks as CVXPY variables and returns CVXPY constraints (or an expression).
CVXPYStatement = Callable[[Any], Any]
#: Attribute in which a change keeps the record of its import.
_IMPORT = "_import"
#: Characters of a constraint's text that are shown.
_SHOWN = 90


class Change(ABC):
    """A change that turns one form into another whose first blocks are those of the first; a frozen data class.

    Attributes
    ----------
    restricts : bool
        Whether every point of the new form, without new variables, is a point of the old one with the same objective, so that
        lower bounds of the old optimum hold for the new one.
    suffix : str
        The word that the change appends to the model's name, as in "HingeSVM, fixed".
    problem_class : str
        The class of the changed problem; empty where it is as before.
    """

    restricts: ClassVar[bool] = True
    suffix: ClassVar[str] = "changed"
    problem_class: ClassVar[str] = ""

    @abstractmethod
    def apply(self, form: StandardForm) -> StandardForm:
        """Return the changed form.

        Raises
        ------
        InputError
            The form's blocks are not those that the change was stated over.
        """

    def cutoff(self, before: float, loss_bounded_variables: tuple[int, ...]) -> float:
        """Return the cutoff after the change: as before if the change only restricts, -inf (unknown) if it changes the cost.

        The cutoff is the objective up to which the form contains every point (`Model.cutoff`): big-M constants that follow from a
        known point may cut off costlier ones. It is +inf if the form contains all points.

        Parameters
        ----------
        before : float
            The cutoff of the model before the change, finite or -inf.
        loss_bounded_variables : tuple of int
            Positions of variables whose bounds hold for some optimal point only, so that they become invalid if an added row
            contains the variable.
        """
        return before if self.restricts else float("-inf")

    def apply_to_part(self, form: StandardForm) -> StandardForm:
        """Return a form that has some of the model's blocks with the part of the change that concerns them; by default itself."""
        return form

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the imported programs behind the added parts, each with its comparison with the source package; empty by
        default.
        """
        return ()

    @property
    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """Return the constraints that the change adds, as text and LaTeX."""

    def restate(self, statement: Statement) -> Statement:
        """Return the statement with the program of the changed model: variables, objective and constraints."""
        return replace(statement, constraints=(*statement.constraints, *self.lines))

    @property
    def note(self) -> str:
        """Return a remark for the changed statement; empty by default."""
        return ""


def _check_blocks(form: StandardForm, blocks: tuple[Block, ...]) -> None:
    """Raise `InputError` for a form with other blocks than those that a change was stated over."""
    if form.blocks != blocks:
        stated_blocks, form_blocks = (", ".join(f"{b.label} {b.shape}" for b in shown) for shown in (blocks, form.blocks))
        raise InputError(
            f"the change was stated over the blocks {stated_blocks}; the model has {form_blocks}: state it again", name="model"
        )


def _shared_places(blocks: tuple[Block, ...], form: StandardForm) -> tuple[IntArray, IntArray]:
    """Return the indices, within ``blocks``, of the variables whose block the form has too, and their indices in the form."""
    form_blocks = {b.label: (b, form.slices[b.label]) for b in form.blocks}
    labels, places, start = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for block in blocks:
        if block.label in form_blocks and form_blocks[block.label][0] == block:
            labels.append(np.arange(start, start + block.size))
            s = form_blocks[block.label][1]
            places.append(np.arange(s.start, s.stop))
        start += block.size
    return np.concatenate(labels), np.concatenate(places)


@dataclass(frozen=True, eq=False)
class FixedVariables(Change):
    """The change of `with_fixed`: some variables are fixed at values by their bounds, x_j = v_j.

    Parameters
    ----------
    form_blocks : tuple of Block
        The blocks of the form that the change is for.
    places : ndarray of int (m,)
        Indices j of the fixed variables in the form's x, ascending.
    values : ndarray (m,)
        v.
    """

    form_blocks: tuple[Block, ...]
    places: IntArray
    values: FloatArray

    suffix: ClassVar[str] = "fixed"

    @classmethod
    def of(cls, form: StandardForm, values_by_block: Mapping[str, Any]) -> FixedVariables:
        """Return the change that fixes variables at these values, given by block or by the name of a variable (`with_fixed`)."""
        if not isinstance(values_by_block, Mapping):
            raise InputError(
                f'fixed variables are given by block, as in {{"w": {{3: 0.0}}}}; got a {type(values_by_block).__name__}',
                name="fixed",
            )
        fixed_values = np.full(form.n, np.nan)
        for label, value in split_indexed_values(form.blocks, values_by_block).items():
            block = form.block(label) if label in form.slices else find_entry(form.blocks, label)[0]
            named = _packed(block, value if block.label == label else {label: value})
            s = form.slices[block.label]
            fixed_values[s] = np.where(np.isnan(named), fixed_values[s], named)
        places = np.flatnonzero(~np.isnan(fixed_values))
        nearest = np.clip(
            fixed_values, form.lower, form.upper
        )  # a solver's own point may miss a bound, or an integer, by its tolerance
        nearest = np.where(form.integer, np.round(nearest), nearest)[places]
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(np.abs(fixed_values[places] - nearest) <= _NEAR * (1.0 + np.abs(nearest))))
        if wrong.size:
            j = int(places[wrong[0]])
            kind = "an integer " if form.integer[j] else ""
            raise InputError(
                f"{form.names()[j]} cannot be fixed at {fixed_values[j]:g}, which is outside its bounds: "
                f"it is {kind}in [{form.lower[j]:g}, {form.upper[j]:g}]",
                name="fixed",
            )
        return cls(form.blocks, places, nearest)

    def apply(self, form: StandardForm) -> StandardForm:
        """Return the form with both bounds of each fixed variable set to its value."""
        _check_blocks(form, self.form_blocks)
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[self.places] = upper[self.places] = self.values
        return form.with_bounds(lower, upper)

    def apply_to_part(self, form: StandardForm) -> StandardForm:
        """Return the form with the fixed variables that it contains fixed."""
        labels, places = _shared_places(self.form_blocks, form)
        lower, upper = form.lower.copy(), form.upper.copy()
        own_places = np.isin(self.places, labels)
        new_places = places[np.searchsorted(labels, self.places[own_places])]
        lower[new_places] = upper[new_places] = self.values[own_places]
        return form.with_bounds(lower, upper)

    @property
    def summary(self) -> str:
        """Return the fixed variables with their values, or the number of each block's where there are more than three."""
        if self.places.size <= 3:
            return self.lines[0].text or "none"
        starts = np.cumsum([0, *(block.size for block in self.form_blocks)])
        counts = np.diff(np.searchsorted(self.places, starts))
        return ", ".join(f"{b.label}: {count}" for b, count in zip(self.form_blocks, counts.tolist(), strict=True) if count)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the first four fixed variables with their values, and the number of the others, as a line."""
        names = [name for block in self.form_blocks for name in block.names()]
        equations = [equation(names[j], v) for j, v in zip(self.places.tolist(), self.values.tolist(), strict=True)]
        remainder = [Line.of_words(f"and {len(equations) - 4} more")] if len(equations) > 4 else []
        return (listed([*equations[:4], *remainder], "bounds"),)


@dataclass(frozen=True, eq=False)
class ContinuousRelaxation(Change):
    """The change of `relaxed`: integrality and indicators are dropped."""

    restricts: ClassVar[bool] = False
    suffix: ClassVar[str] = "continuous"
    problem_class: ClassVar[str] = "continuous relaxation"
    lines = ()
    note = "integer variables are continuous between their bounds, and indicator constraints are dropped"

    def cutoff(self, before: float, loss_bounded_variables: tuple[int, ...]) -> float:
        """Return +inf: the relaxation keeps every point of the form."""
        return float("inf")

    def apply(self, form: StandardForm) -> StandardForm:
        """Drop integrality and indicators."""
        return form.relax_integrality()

    def restate(self, statement: Statement) -> Statement:
        """Return the statement with intervals in place of {0, 1}, and without integrality and indicators."""
        constraints = tuple(relaxed for line in statement.constraints if (relaxed := line.continuous()) is not None)
        return replace(statement, variables=statement.variables.continuous() or statement.variables, constraints=constraints)


def _packed(block: Block, value_or_entries: Any) -> FloatArray:
    """Return the block's piece of x, NaN where no value is given; (i, j) and (j, i) of a symmetric block are the same entry."""
    if not isinstance(value_or_entries, Mapping):
        value = np.asarray(value_or_entries, dtype=np.float64)
        if value.shape != block.shape:
            raise InputError(
                f"{block.label} must have shape {block.shape}, or be given by {{index: number}}; it has shape {value.shape}",
                name=block.label,
            )
        return block.pack(value)
    value = np.full(block.shape, np.nan)
    for index, number in value_or_entries.items():
        try:
            if isinstance(index, str):
                full = index if index in block.names() else f"{block.label}[{index}]"
                index = block.index(find_entry([block], full)[1])
            indices = tuple(map(int, index)) if isinstance(index, tuple) else (int(index),)
            if len(indices) != value.ndim:
                raise IndexError
            value[indices] = float(number)
        except InputError:
            raise
        except IndexError:
            raise InputError(
                f"{block.label} has shape {block.shape} and no entry {short_text(index)}", name=block.label
            ) from None
        except (TypeError, ValueError):
            raise InputError(
                f"{block.label} is to be fixed at numbers by index; got {{{short_text(index)}: {short_text(number)}}}"
            ) from None
        if block.symmetric:
            value[indices[::-1]] = value[indices]
    return block.pack(value)


@dataclass(frozen=True, eq=False)
class AddedParts(Change):
    """The change of `with_constraint` and `with_variables`: further blocks, rows in cones, and a convex cost.

    Parameters
    ----------
    form_blocks : tuple of Block
        The blocks of the form that the change is for.
    blocks : tuple of Block
        The new blocks, after those of the form.
    lower, upper, integer : ndarray (m,)
        Bounds of the new variables, and the mask of the integer ones.
    constraints : tuple of Constraint
        The new rows, over the form's variables and the new ones.
    q, r : ndarray, float
        Linear part and constant of the cost that is added to the objective that the form minimises.
    P : csc_array or None
        The quadratic part ½x'Px of that cost.
    added_lines : tuple of Line
        The constraints as the user stated them, printed.
    added_variables : tuple of Line
        The user's new variables with their sets.
    added_cost : Line
        The cost as the user stated it; empty without one.
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
    added_variables: tuple[Line, ...] = field(default=(), metadata={"identity": False})
    added_cost: Line = field(default=Line("", ""), metadata={"identity": False})

    @property
    def restricts(self) -> bool:  # type: ignore[override]
        """Return whether the change only restricts the model: it adds no cost."""
        return self.P is None and not self.q.any() and self.r == 0.0

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines that the change adds to the statement."""
        return self.added_lines

    def restate(self, statement: Statement) -> Statement:
        """Return the statement with the new variables and rows, and the cost in the objective: subtracted where it maximises."""
        cost, maximises = self.added_cost, statement.sense == "maximise"
        if maximises and cost.text:
            cost = Line(f"-({cost.text})", rf"-\left({cost.latex}\right)")
        return replace(
            super().restate(statement),
            variables=listed([statement.variables, *self.added_variables]),
            objective=plus(statement.objective, cost),
        )

    @classmethod
    def of(
        cls,
        form: StandardForm,
        statements: Sequence[CVXPYStatement],
        variables: Sequence[Any] = (),
        cost: CVXPYStatement | None = None,
        letters: frozenset[str] = frozenset(),
    ) -> AddedParts:
        """Return the change that these functions of the form's blocks, new variables and cost describe.

        ``letters`` stand for something in the model's statement; printed constants of the change have others.
        """
        cvxpy = cvxpy_module()
        stem = _stem(form)
        v = BlockVariables(form, variables)
        named = [pair for state in statements for pair in _constraints(state(v), form)]
        free_labels = _row_labels(form)
        for label, constraint in named:
            constraint.set_label(label or constraint.label or next(free_labels))
        rows, stated_cost = [constraint for _, constraint in named], _cost(cost, v)
        expression = stated_cost + sum(0.0 * cvxpy.sum(variable) for variable in variables)
        problem = cvxpy.Problem(cvxpy.Minimize(expression), rows)
        _check_names(form, problem, rows, {x.id for x in variables_in_use(v)})
        _check_convex(problem, rows)
        if not problem.variables():
            raise InputError("nothing is added: no variable of the model and no new one occurs", name="variables")
        block_variables = {x.id for x in variables_in_use(v)}
        new = tuple(variable_line(x) for x in problem.variables() if x.id not in block_variables)
        printer = CVXPYPrinter(v, letters)
        lines, cost_line = [printer.row(row) for row in rows], printer.expression(stated_cost) if cost else Line("", "")
        constants = [line for line in [printer.new_constants()] if line.text]
        return cls._taken(form, CVXPYSource(problem, stem), (*lines, *constants), new, cost_line)

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the added statements as sources, by which CVXPY evaluates them."""
        return tuple(filter(None, [vars(self).get(_IMPORT)]))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without CVXPY's objects."""
        return {name: value for name, value in vars(self).items() if name != _IMPORT}

    @classmethod
    def _taken(
        cls, form: StandardForm, source: CVXPYSource, lines: tuple[Line, ...], variables: tuple[Line, ...], cost: Line
    ) -> AddedParts:
        """Return the change by CVXPY's canonical program, over the form's variables and the new ones."""
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
            added_variables=variables,
            added_cost=cost,
        )
        vars(added)[_IMPORT] = Import.of(source, places)
        return added

    def apply(self, form: StandardForm) -> StandardForm:
        """Return the form with the new blocks and rows after its own."""
        _check_blocks(form, self.form_blocks)
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
        """Return the form with all new blocks, continuous and without costs, and with the rows that read no other block."""
        labels, places = _shared_places(self.form_blocks, form)
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


def _row_labels(form: StandardForm) -> Iterator[str]:
    """Yield the labels ``added row 1``, ``added row 2``, ... that no block or row of the form has."""
    labels = {b.label for b in form.blocks} | {c.label for c in form.constraints}
    return (label for k in itertools.count(1) if (label := f"added row {k}") not in labels)


def _constraints(returned: Any, form: StandardForm) -> list[tuple[str, Any]]:
    """Return pairs of a label ("" without one) and a constraint from a function's value: one constraint, several, or by label."""
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
        raise InputError(
            f"cost takes a function that returns a scalar CVXPY expression; it returned {short_text(expression)}", name="cost"
        )
    return cvxpy.sum(expression)


def _check_names(form: StandardForm, problem: Any, rows: Sequence[Any], added_variables: set[int]) -> None:
    """Raise `InputError` if a new variable or row has a name that is in use."""
    names_in_use = {b.label for b in form.blocks} | {c.label for c in form.constraints}
    new = [variable.name() for variable in problem.variables() if variable.id not in added_variables]
    for name in [*new, *(row.label for row in rows)]:
        if name in names_in_use:
            raise InputError(f"the name {short_text(name)} is taken; choose another for what is added", name="name")
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
    """Return CVXPY's text on one line, cut at `_SHOWN` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 4] + " ..."


def _widened(F: sp.csr_array, extra: int) -> sp.csr_array:
    return sp.csr_array((F.data, F.indices, F.indptr), shape=(F.shape[0], F.shape[1] + extra))


def _sum(quadratic: Quadratic | None, extra: int, P: sp.csc_array | None) -> Quadratic | None:
    """Return the sum of both quadratic parts; without P it keeps the factor or operator that proves the first one convex."""
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
