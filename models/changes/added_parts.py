"""Constraints, variables and costs stated in CVXPY, canonicalised by CVXPY, and taken into a form with names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import BoolArray, FloatArray
from ..importing.cvxpy import CVXPYSource
from ..importing.proof import Import
from ..kernels.padded_matrix import PaddedGram
from ..program.form import Block, Constraint, Quadratic, StandardForm
from ..statement import Line
from .blocks import BlockVariables, cvxpy_module, variables_behind
from .change import Change, check_blocks, shared_places

__all__ = ["AddedParts", "State"]

#: What a user gives: a function of the blocks that returns CVXPY constraints (or an expression).
State = Callable[[Any], Any]
#: Where a change keeps its import.
_IMPORT = "_import"
#: Characters of a constraint's text that are shown.
_SHOWN = 90


@dataclass(frozen=True, eq=False)
class AddedParts(Change):
    """Further blocks, rows in cones, and a convex cost, over a form's variables and the new ones after them.

    Parameters
    ----------
    over : tuple of Block
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
    said : tuple of Line
        What the user stated.
    """

    over: tuple[Block, ...]
    blocks: tuple[Block, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    constraints: tuple[Constraint, ...]
    q: FloatArray
    r: float
    P: sp.csc_array | None
    said: tuple[Line, ...]

    @property
    def restricts(self) -> bool:  # type: ignore[override]
        """Unless a cost comes with it."""
        return self.P is None and not self.q.any() and self.r == 0.0

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the statement."""
        return self.said

    @classmethod
    def of(
        cls, form: StandardForm, stated: Sequence[State], variables: Sequence[Any] = (), cost: State | None = None
    ) -> AddedParts:
        """Return the change that functions of the form's blocks describe.

        Raises
        ------
        InputError
            A function that returns no CVXPY constraint, a block that there is not, a name that is taken.
        UnsupportedModelError
            A constraint or cost that is not convex by CVXPY's rules, or needs other cones than a form holds.
        """
        cvxpy = cvxpy_module()
        stem = _stem(form)
        v = BlockVariables(form, variables)
        named = [pair for state in stated for pair in _constraints(state(v), form)]
        for k, (label, constraint) in enumerate(named):
            constraint.set_label(label or constraint.label or f"{stem} row {k}")
        rows = [constraint for _, constraint in named]
        expression = _cost(cost, v) + sum(0.0 * cvxpy.sum(variable) for variable in variables)
        problem = cvxpy.Problem(cvxpy.Minimize(expression), rows)
        _check_names(form, problem, rows, {x.id for x in variables_behind(v)})
        _check_convex(problem, rows)
        if not problem.variables():
            raise InputError("nothing is added: no variable of the model and no new one occurs")
        return cls._taken(form, CVXPYSource(problem, stem), tuple(map(_line, rows)), problem if cost else None)

    @property
    def imports(self) -> tuple[Import, ...]:
        """The statements, as CVXPY evaluates them."""
        return tuple(filter(None, [vars(self).get(_IMPORT)]))

    def __getstate__(self) -> dict[str, Any]:
        """Without CVXPY's objects."""
        return {name: value for name, value in vars(self).items() if name != _IMPORT}

    @classmethod
    def _taken(cls, form: StandardForm, source: CVXPYSource, said: tuple[Line, ...], costed: Any) -> AddedParts:
        """The canonical program over the form's variables and the new ones."""
        found = source.form
        known = {b.label: form.slices[b.label] for b in form.blocks}
        new = tuple(b for b in found.blocks if b.label not in known)
        starts = itertools.accumulate((b.size for b in new), initial=form.n)
        known |= {b.label: slice(start, start + b.size) for b, start in zip(new, starts, strict=False)}
        places = np.concatenate([np.arange(known[b.label].start, known[b.label].stop) for b in found.blocks])
        total = form.n + sum(b.size for b in new)
        spread = sp.csr_array((np.ones(found.n), (np.arange(found.n), places)), shape=(found.n, total))
        mine = np.flatnonzero(places >= form.n)
        mine = mine[np.argsort(places[mine])]
        if costed is not None:
            said = (*said, Line.of_words(f"added to the objective: {_short(str(costed.objective.args[0]))}"))
        P = None if found.quadratic is None else sp.csc_array(spread.T @ found.quadratic.csc @ spread)
        added = cls(
            over=form.blocks,
            blocks=new,
            lower=found.lower[mine],
            upper=found.upper[mine],
            integer=found.integer[mine],
            constraints=tuple(Constraint(c.label, sp.csr_array(c.F @ spread), c.g, c.cone) for c in found.constraints),
            q=np.asarray(spread.T @ found.q),
            r=found.r,
            P=P,
            said=said,
        )
        vars(added)[_IMPORT] = Import.of(source, places)
        return added

    def applied(self, form: StandardForm) -> StandardForm:
        """The form's blocks and rows, then those that are added."""
        check_blocks(form, self.over)
        extra = self.q.size - form.n
        wide = (replace(c, F=_widened(c.F, extra)) for c in form.constraints)
        return form.replace(
            blocks=(*form.blocks, *self.blocks),
            q=np.concatenate([form.q, np.zeros(extra)]) + self.q,
            r=form.r + self.r,
            constraints=(*(wide if extra else form.constraints), *self.constraints),
            lower=np.concatenate([form.lower, self.lower]),
            upper=np.concatenate([form.upper, self.upper]),
            integer=np.concatenate([form.integer, self.integer]),
            quadratic=_sum(form.quadratic, extra, self.P),
        )

    def cutoff(self, before: float, unrestricted: tuple[int, ...]) -> float:
        """Unknown where a row has a coefficient of one of them."""
        touched = any(np.isin(unrestricted, c.F.indices[c.F.data != 0.0]).any() for c in self.constraints)
        return float("-inf") if touched else super().cutoff(before, unrestricted)

    def carried(self, form: StandardForm) -> StandardForm:
        """The rows whose variables the form has, and the new blocks, which stand free where a row of theirs was left out."""
        kept, places = shared_places(self.over, form)
        old, extra = sum(b.size for b in self.over), sum(b.size for b in self.blocks)
        known = np.concatenate([kept, np.arange(old, old + extra)])
        there = np.concatenate([places, np.arange(form.n, form.n + extra)])
        total = form.n + extra
        moved = sp.csr_array((np.ones(known.size), (known, there)), shape=(old + extra, total))
        mine = [c for c in self.constraints if np.isin(c.F.indices[c.F.data != 0.0], known).all()]
        wide = (replace(c, F=_widened(c.F, extra)) for c in form.constraints)
        return form.replace(
            blocks=(*form.blocks, *self.blocks),
            q=np.concatenate([form.q, np.zeros(extra)]),
            constraints=(*wide, *(Constraint(c.label, sp.csr_array(c.F @ moved), c.g, c.cone) for c in mine)),
            lower=np.concatenate([form.lower, self.lower]),
            upper=np.concatenate([form.upper, self.upper]),
            integer=np.concatenate([form.integer, np.zeros(extra, dtype=bool)]),
            quadratic=_sum(form.quadratic, extra, None),
        )


def _stem(form: StandardForm) -> str:
    """Return the first ``change k`` that no label begins with: the stem of the names of a change."""
    labels = [b.label for b in form.blocks] + [c.label for c in form.constraints]
    return next(s for k in itertools.count(1) if not any(label.startswith(f"{(s := f'change {k}')} ") for label in labels))


def _constraints(given: Any, form: StandardForm) -> list[tuple[str, Any]]:
    """Labels (or nothing) and constraints of what a function returned: one, several, or by label."""
    from cvxpy.constraints.constraint import Constraint as Row

    if isinstance(given, Mapping):
        found = [(str(label), row) for label, row in given.items()]
    else:
        found = [("", row) for row in (given if isinstance(given, Iterable) and not isinstance(given, Row) else [given])]
    wrong = [row for _, row in found if not isinstance(row, Row)]
    if wrong or not found:
        what = repr(wrong[0]) if wrong else "nothing"
        raise InputError(
            "with_constraint takes functions that return CVXPY constraints, as in lambda v: [v.w[3] >= 0, cp.norm1(v.w) <= 2]; "
            f"one returned {what} (blocks: {', '.join(b.label for b in form.blocks)})"
        )
    return found


def _cost(cost: State | None, v: BlockVariables) -> Any:
    cvxpy = cvxpy_module()
    if cost is None:
        return cvxpy.Constant(0.0)
    found = cost(v)
    if not isinstance(found, cvxpy.Expression) or found.size != 1:
        raise InputError(f"cost takes a function that returns a scalar CVXPY expression; it returned {found!r}")
    return cvxpy.sum(found)


def _check_names(form: StandardForm, problem: Any, rows: Sequence[Any], own: set[int]) -> None:
    """New variables and rows have names that nothing else has."""
    taken = {b.label for b in form.blocks} | {c.label for c in form.constraints}
    new = [variable.name() for variable in problem.variables() if variable.id not in own]
    for name in [*new, *(row.label for row in rows)]:
        if name in taken:
            raise InputError(f"the name {name!r} is taken; choose another for what is added")
        taken.add(name)


def _check_convex(problem: Any, rows: Sequence[Any]) -> None:
    for row in rows:
        if not row.is_dcp():
            raise UnsupportedModelError(
                f"the constraint {_short(str(row))} is not convex by CVXPY's rules (DCP), so it cannot be added to a form"
            )
    if not problem.objective.is_dcp():
        raise UnsupportedModelError(
            f"the cost {_short(str(problem.objective.args[0]))}, which is added to what is minimised, is not convex by CVXPY's "
            "rules (DCP)"
        )


def _line(row: Any) -> Line:
    text = str(row)
    prefix = f"{row.label}: "
    return Line.of_words(_short(text.removeprefix(prefix)), row.label)


def _short(text: str) -> str:
    """One line of what CVXPY prints."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 4] + " ..."


def _widened(F: sp.csr_array, extra: int) -> sp.csr_array:
    return sp.csr_array((F.data, F.indices, F.indptr), shape=(F.shape[0], F.shape[1] + extra))


def _sum(given: Quadratic | None, extra: int, P: sp.csc_array | None) -> Quadratic | None:
    """½x'Px of both; what is known of the given one's convexity stays known."""
    if given is None:
        return None if P is None else Quadratic(matrix=P)
    if P is not None:
        wide = sp.block_diag([given.csc, sp.csc_array((extra, extra))], format="csc") if extra else given.csc
        return Quadratic(matrix=sp.csc_array(wide + P))
    if not extra:
        return given
    if given.operator is not None:
        return Quadratic(operator=PaddedGram(given.operator, extra))
    if given.factor is not None:
        factor = sp.csr_array(given.factor)
        wide = _widened(factor, extra)
        return Quadratic(factor=wide if sp.issparse(given.factor) else wide.toarray())
    return Quadratic(matrix=sp.csc_array(sp.block_diag([given.csc, sp.csc_array((extra, extra))], format="csc")))
