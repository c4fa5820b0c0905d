"""Import of CVXPY problems as standard forms, and write-back of a solution into the problem's variables and dual values.

CVXPY canonicalises the problem itself, for a solver that reads exactly what a standard form holds: a quadratic objective, linear
rows, second-order, semidefinite, exponential and power cones, bounds and integers. Variables and constraints that the user wrote
keep their names; those that CVXPY adds are called ``cvxpy variable k`` and ``cvxpy rows k``.

CVXPY infers bounds of auxiliary variables from the bounds of expressions, for solvers that take bounded variables. The bounds are
wrong where it multiplies 0 by infinity, and redundant otherwise, so that an import ignores them all.

*Canonical* is the program after CVXPY's reductions, min ½x'Px + c'x with b - Ax in cones, whose x stacks matrices by columns. An
import is checked by evaluating the form and CVXPY's own expressions at the same points (`evaluate_form`, `evaluate_source`).
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import BoolArray, FloatArray, IntArray
from ..program.cones import PSD, Cone, Nonnegative, SecondOrder, Zero, svec
from ..program.exponential_cones import Exponential, Power
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from .auxiliary_variables import complete_auxiliary_values
from .rows import objective_size, unique_label
from .source import ConstraintValue, Evaluation, Recipient, ReturnedAnswer, Source, Termination

#: Type of the value that `_evaluate` returns.
_Value = TypeVar("_Value")

#: CVXPY's words for how a solve ended; "user_limit" stands for all others.
_STATUS = {
    Termination.OPTIMAL: "optimal",
    Termination.INACCURATE: "optimal_inaccurate",
    Termination.STATIONARY: "optimal_inaccurate",
    Termination.INFEASIBLE: "infeasible",
    Termination.UNBOUNDED: "unbounded",
    Termination.INFEASIBLE_OR_UNBOUNDED: "infeasible_or_unbounded",
    Termination.FAILED: "solver_error",
}
#: Terminations with which no point is written back.
_WITHOUT_OPTIMUM = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED, Termination.FAILED)


class CVXPYSource(Source, Recipient):
    """A DCP ``cvxpy.Problem`` with cones that a standard form has, as the source of an import.

    An answer goes back as if CVXPY had called the solver: values of variables, dual values in CVXPY's signs, status and value.
    Names of the variables and rows that CVXPY adds begin with ``stem``.
    """

    package = "CVXPY"

    def __init__(self, problem: Any, stem: str = "cvxpy") -> None:
        import cvxpy

        if not isinstance(problem, cvxpy.Problem):
            raise InputError(f"from_cvxpy takes a cvxpy.Problem; got {type(problem).__name__}", name="problem")
        empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
        if empty:
            raise InputError(f"parameters of the CVXPY problem have no value: {', '.join(empty)}", name="problem")
        self._problem: Any = problem
        # the value of a CallbackParam cannot be set: it follows from those of other parameters
        stored = [p for p in problem.parameters() if not isinstance(p, cvxpy.CallbackParam)]
        self._parameters = [(parameter, parameter.value) for parameter in stored]
        if not problem.variables():
            self._canonical = _constant(problem)
            return
        evaluated = _evaluated(problem)
        self._ids = {
            constraint.id: original.id for constraint, original in zip(evaluated.constraints, problem.constraints, strict=True)
        }
        with _cleared_values(problem.variables()):
            data, self._chain, self._inverse = _canonicalised(
                with_stated_bounds(evaluated), _canonical_interface(_bounds_are_taken(problem))
            )
        self._canonical = _canonical(evaluated, data, self._inverse, stem, [c.label for c in problem.constraints])

    @property
    def form(self) -> StandardForm:
        """Return the imported form."""
        return self._canonical.form

    @property
    def variables(self) -> IntArray:
        """Return the indices in x of the problem's own variables."""
        return self._canonical.user_indices

    def write_back(self, answer: ReturnedAnswer) -> str:
        """Set values, dual values, status and value of the problem, as ``problem.solve`` does; return the status."""
        status = _STATUS.get(answer.termination, "user_limit")
        form, problem = self.form, self._problem
        if not answer.values or answer.termination in _WITHOUT_OPTIMUM or not form.n:
            problem._clear_solution()
            for constraint in problem.constraints:
                for dual in constraint.dual_variables:
                    dual.save_value(None)
            value_by_termination = {
                Termination.INFEASIBLE: np.inf,
                Termination.UNBOUNDED: -np.inf,
                Termination.OPTIMAL: answer.objective,
            }
            value = value_by_termination.get(answer.termination)
            problem._value = value if value is None or not form.maximise else -value
            problem._status = status
            return status
        z: FloatArray | None = None
        if answer.multipliers is not None:
            z = np.concatenate([np.asarray(answer.multipliers[k.label]) for k in form.constraints] or [np.zeros(0)])
        solution = self._solution(form.join(answer.values), z, answer.objective)
        solution.status = status
        solution.dual_vars = {self._ids[key]: value for key, value in solution.dual_vars.items() if key in self._ids}
        problem.unpack(solution)
        return status

    def _definitions(self) -> list[Constraint]:
        """Return the form's constraints that CVXPY added, which define its auxiliary variables."""
        program_rows = {k for rows in self._canonical.rows for k in rows}
        return [row for k, row in enumerate(self.form.constraints) if k not in program_rows]

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the values with the auxiliary variables that they lack, each as low or as high as its definition requires.

        Raises
        ------
        InputError
            A variable of the problem has no value; or an auxiliary one has no closed form, or no value at this point.
        """
        form = self.form
        known_blocks = [np.full(block.size, block.label in values) for block in form.blocks]
        is_known = np.concatenate([np.zeros(0, dtype=bool), *known_blocks])
        if is_known.all():
            return dict(values)
        is_user_variable = np.isin(np.arange(form.n), self.variables)
        labels = [b.label for b in form.blocks if is_user_variable[form.slices[b.label]].all()]
        missing = [label for label in labels if label not in values]
        if missing:
            raise InputError(f"values for {', '.join(missing)} are missing; the problem has {', '.join(labels)}", name="values")
        zeros = form.split(np.zeros(form.n))
        x, is_known, _ = complete_auxiliary_values(form.join({**zeros, **values}), is_known, self._definitions())
        completed = {**form.split(x), **values}
        unknown = [b.label for b in form.blocks if b.label not in values and not is_known[form.slices[b.label]].all()]
        if unknown:
            raise InputError(
                f"values of CVXPY's auxiliary variables do not follow from these: {', '.join(unknown)}; give them too, or fix "
                "your variables by bounds, solve, and give the result's values",
                name="values",
            )
        return completed

    def evaluate_form(self, x: FloatArray) -> Evaluation:
        """Evaluate the form at the point of the user's variables in x; its auxiliary variables follow from these."""
        c, form = self._canonical, self.form
        is_known = np.zeros(form.n, dtype=bool)
        is_known[c.user_indices] = True
        y, is_known, sizes = complete_auxiliary_values(x, is_known, self._definitions())
        objective_known = is_known[form.q != 0.0].all() and (form.quadratic is None or is_known[form.quadratic.csc.indices].all())
        rows = []
        for name, places in zip(c.labels, c.rows, strict=True):
            pieces = [form.constraints[k] for k in places]
            if pieces and all(is_known[piece.F.indices].all() for piece in pieces):
                value = np.concatenate([piece.value(y) for piece in pieces])
                size = np.concatenate([abs(piece.F) @ sizes + np.abs(piece.g) for piece in pieces])
                violation = max(piece.cone.violation(piece.value(y)) for piece in pieces)
                rows.append(ConstraintValue(name, np.abs(value) if c.equations[name] else value, violation, size))
        outside = np.maximum(np.maximum(form.lower - y, y - form.upper), 0.0)
        added = is_known & ~np.isin(np.arange(form.n), c.user_indices)
        restricted = np.flatnonzero(added & (outside > _AUXILIARY_TOLERANCE * (1.0 + np.abs(y))))
        remark = ""
        if restricted.size:
            j = int(restricted[0])
            remark = f"{form.names()[j]} is {y[j]:.10g} at a point, and in [{form.lower[j]:.10g}, {form.upper[j]:.10g}] here"
        objective = form.objective(y) if objective_known else float("nan")
        return Evaluation(objective, objective_size(form, sizes), rows, float(outside[c.user_indices].max(initial=0.0)), remark)

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Let CVXPY evaluate its expressions at x, with the parameters' values of the time of the import."""
        import cvxpy

        problem = self._problem
        with self._at(x), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
            objective = sign * _evaluate(lambda: _number(problem.objective.expr.value), float("nan"))
            read = _row if self.form.n else _violated
            pairs = zip(self._canonical.labels, problem.constraints, strict=True)
            rows = [_evaluate(functools.partial(read, name, c), _unknown(name)) for name, c in pairs]
            outside = max(
                (_violation(domain_constraint) for v in problem.variables() for domain_constraint in v.domain), default=0.0
            )
        return Evaluation(objective, 0.0, rows, outside)

    def point(self) -> FloatArray | None:
        """Return the current values of the variables, with zero for auxiliary ones; None if a variable has no real value."""
        from cvxpy.reductions.cvx_attr2constr import lower_value

        x = np.zeros(self.form.n)
        by_name = {v.name(): v for v in self._problem.variables()}
        for block in self.form.blocks:
            if not np.isin(np.arange(self.form.n)[self.form.slices[block.label]], self._canonical.user_indices).all():
                continue
            variable = by_name.get(block.label)
            value: Any = None if variable is None or variable._value is None else lower_value(variable)
            if value is None or sp.issparse(value) or np.size(value) != block.size or np.iscomplexobj(value):
                return None
            x[self.form.slices[block.label]] = np.reshape(value, -1)
        return x if self.form.n and np.isfinite(x).all() else None

    def _solution(self, x: FloatArray, z: FloatArray | None, objective: float) -> Any:
        """Return the answer as CVXPY's solution of the problem, mapped back through CVXPY's reductions."""
        c = self._canonical
        native = np.empty(c.form.n)
        native[c.order] = x
        raw = SimpleNamespace(status="Solved", x=native, z=z, obj_val=objective - c.form.r, solve_time=0.0, iterations=0)
        return self._chain.invert(raw, self._inverse)

    @contextmanager
    def _at(self, x: FloatArray) -> Iterator[None]:
        """Set variables to a point and parameters to their values at the import inside the block; restore both afterwards."""
        leaves = [*self._problem.variables(), *(parameter for parameter, _ in self._parameters)]
        primal = self._solution(x, None, 0.0).primal_vars if self.form.n else {}
        with _cleared_values(leaves):
            for variable in self._problem.variables():
                variable.save_value(primal[variable.id])
            for parameter, value in self._parameters:
                parameter.value = value
            yield


#: Distance outside its bounds, relative to its size, at which a completed auxiliary variable still counts as inside.
_AUXILIARY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _Canonical:
    """The form of a problem, with the maps between both.

    Parameters
    ----------
    form : StandardForm
        The form.
    order : ndarray of int
        The index in CVXPY's x of each entry of the form's x (CVXPY stacks matrices by columns).
    user_indices : ndarray of int
        Indices in the form's x of the problem's own variables.
    labels : tuple of str
        One for each of the problem's constraints.
    rows : tuple of tuple of int
        For each of these constraints, the indices of the form's constraints that state it.
    equations : mapping of str to bool
        Whether a constraint is an equality, whose rows the reductions may multiply by -1.
    """

    form: StandardForm
    order: IntArray
    user_indices: IntArray
    labels: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    equations: Mapping[str, bool]


#: The name of the interface among CVXPY's solvers; it must differ from all of theirs.
_READER = "MARGINOPT"


def with_stated_bounds(problem: Any) -> Any:
    """Return an equal problem without caches whose reductions use the stated bounds alone and infer none."""
    return _plain_problem()(problem.objective, problem.constraints)


@functools.cache
def _plain_problem() -> Any:
    import cvxpy

    class PlainProblem(cvxpy.Problem):
        """A problem whose chain of reductions tells canonicalisers that the solver takes no bounds; stated ones stay.

        The perspective of a function builds a chain of its own for a solver by its name, which must be one of CVXPY's.
        """

        def _construct_chain(self, *arguments: Any, **options: Any) -> Any:
            chain = super()._construct_chain(*arguments, **options)
            context = vars(chain).get("solver_context")  # CVXPY before 1.9 has none, and infers nothing
            if context is not None:
                context.solver_supports_bounds = False
                context.solver_name = context.solver_name.replace(_READER, "CLARABEL")
            return chain

    return PlainProblem


@contextmanager
def _cleared_values(leaves: Sequence[Any]) -> Iterator[None]:
    """Clear the values of variables or parameters inside the ``with`` block and restore them after it, since canonicalisers
    copy them to auxiliary variables.
    """
    before = [(leaf, leaf._value) for leaf in leaves]
    try:
        for leaf in leaves:
            leaf.save_value(None)
        yield
    finally:
        for leaf, value in before:
            leaf._value = value


@functools.cache
def _canonical_interface(bounded: bool = True) -> Any:
    """Return CVXPY's interface to Clarabel, widened to integers and all cones of a form, and to bounds if ``bounded``.

    CVXPY canonicalises a problem to a form's rows for it; it solves nothing.
    """
    import cvxpy
    from cvxpy.constraints.psd import SvecPSD
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

    kinds: Any = cvxpy.constraints
    cones: list[Any] = [kinds.Zero, kinds.NonNeg, kinds.SOC, SvecPSD, kinds.ExpCone, kinds.PowCone3D]

    class StandardFormReader(CLARABEL):
        """A reader of everything that a standard form holds."""

        MIP_CAPABLE = True
        BOUNDED_VARIABLES = bounded
        SUPPORTED_CONSTRAINTS = cones
        MI_SUPPORTED_CONSTRAINTS = cones

        def name(self) -> str:
            return _READER

    return StandardFormReader()


def _cones_of_constraint(piece: Any) -> list[Cone]:
    """Return the cones of one of CVXPY's canonical constraints."""
    import cvxpy
    from cvxpy.constraints.psd import SvecPSD

    kinds: Any = cvxpy.constraints
    if isinstance(piece, kinds.Zero):
        return [Zero(piece.size)]
    if isinstance(piece, kinds.NonNeg):
        return [Nonnegative(piece.size)]
    if isinstance(piece, kinds.SOC):
        sizes = [int(size) for size in piece.cone_sizes()]
        return [SecondOrder(sizes[0], len(sizes))] if len(set(sizes)) == 1 else [SecondOrder(size) for size in sizes]
    if isinstance(piece, kinds.ExpCone):
        return [Exponential(3, piece.size // 3)]
    if isinstance(piece, kinds.PowCone3D):
        exponents = np.ravel(np.asarray(piece.alpha.value, dtype=np.float64), order="F")
        starts = np.flatnonzero(np.diff(exponents, prepend=np.nan) != 0.0)
        ends = np.append(starts[1:], exponents.size)
        return [Power(3, int(end - start), float(exponents[start])) for start, end in zip(starts, ends, strict=True)]
    assert isinstance(piece, SvecPSD)
    count = piece.num_cones()  # several of one order, where a variable of three dimensions is semidefinite along the last two
    return [PSD(piece.size // count, count)]


def _evaluated(problem: Any) -> Any:
    """Return the problem, with numbers in place of parameters if it does not obey CVXPY's rules for parameters (DPP)."""
    from cvxpy.reductions.eval_params import EvalParams

    return problem if not problem.parameters() or problem.is_dpp() else EvalParams().apply(problem)[0]  # type: ignore[no-untyped-call]


def _bounds_are_taken(problem: Any) -> bool:
    """Return whether bounds may stay bounds; False if a symmetric or diagonal matrix has some, which CVXPY must write as rows."""
    return not any(v.attributes["bounds"] is not None and v._has_dim_reducing_attr for v in problem.variables())


def _canonicalised(problem: Any, solver: Any) -> Any:
    """Return CVXPY's data, chain and inverse data of a problem for a solver."""
    import cvxpy

    try:
        return problem.get_problem_data(solver, solver_opts={})
    except cvxpy.error.DCPError as error:
        raise UnsupportedModelError(f"the CVXPY problem is not convex by CVXPY's rules (DCP): {error}", name="problem") from error
    except cvxpy.error.SolverError as error:
        raise UnsupportedModelError("the CVXPY problem needs cones that a standard form does not hold: " + str(error)) from error
    except Exception as error:  # whatever CVXPY's own code raises
        raise UnsupportedModelError(
            f"CVXPY cannot canonicalise the problem: {type(error).__name__}: {error}", name="problem"
        ) from error


def _constant(problem: Any) -> _Canonical:
    """Return the program of a problem without variables: its value, and for each constraint a row "violation = 0"."""
    import cvxpy

    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    labels = _own_labels(problem, [c.label for c in problem.constraints])
    worst = [_violation(c) for c in problem.constraints]
    rows = tuple(
        Constraint(label, sp.csr_array((1, 0)), np.array([violation]), Zero(1))
        for label, violation in zip(labels, worst, strict=True)
    )
    empty = np.zeros(0)
    form = StandardForm(
        name="CVXPY problem",
        blocks=(),
        q=empty,
        constraints=rows,
        lower=empty,
        upper=empty,
        integer=empty.astype(bool),
        r=sign * float(np.ravel(problem.objective.expr.value)[0]),
        maximise=sign < 0.0,
    )
    places = empty.astype(np.intp)
    row_groups = tuple((k,) for k in range(len(rows)))
    return _Canonical(form, places, places, tuple(labels), row_groups, dict.fromkeys(labels, True))


def _canonical(problem: Any, data: Mapping[str, Any], inverse: Any, stem: str, own_names: Sequence[str]) -> _Canonical:
    import cvxpy

    program = data["param_prob"]
    names = _variable_names(problem, inverse)
    blocks, order, variable_places = _blocks(program, names, stem, _matrices_of_entries(problem, inverse))
    n = order.size
    lower, upper = (_bound(data[side], n, sign) for side, sign in (("lower_bounds", -1.0), ("upper_bounds", 1.0)))
    binary, integer = (_flags(index, n) for index in (program.x.boolean_idx, program.x.integer_idx))
    lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
    P = data.get("P")
    labels = _own_labels(problem, own_names)
    ids = _final_ids(problem, inverse)
    constraints, pieces = _constraints(data, order, {b.label for b in blocks}, dict(zip(ids, labels, strict=True)), stem)
    form = StandardForm(
        name="CVXPY problem",
        blocks=blocks,
        q=np.asarray(data["c"])[order] + 0.0,
        constraints=constraints,
        lower=lower[order],
        upper=upper[order],
        integer=(binary | integer)[order],
        quadratic=None if P is None or not P.nnz else Quadratic(matrix=_symmetric(sp.csc_array(P)[order][:, order])),
        r=float(inverse[-1]["offset"]),
        maximise=isinstance(problem.objective, cvxpy.Maximize),
    )
    times, occurrences = Counter(ids), Counter[int]()
    rows: list[tuple[int, ...]] = []
    for key in ids:
        rows.append(_occurrence(pieces.get(key, []), occurrences[key], times[key]))
        occurrences[key] += 1
    kinds: Any = cvxpy.constraints
    equations = {label: isinstance(c, kinds.Zero | kinds.Equality) for label, c in zip(labels, problem.constraints, strict=True)}
    return _Canonical(form, order, variable_places, tuple(labels), tuple(rows), equations)


def _occurrence(pieces: Sequence[int], k: int, times: int) -> tuple[int, ...]:
    """Return the part of ``pieces`` for the k-th of ``times`` occurrences of one constraint in the problem."""
    pieces_each = len(pieces) // times
    return tuple(pieces[k * pieces_each : (k + 1) * pieces_each])


def _variable_names(problem: Any, inverse: Any) -> dict[int, str]:
    """Return the user's names by the ids that variables have after the reductions."""
    names = {v.id: v.name() for v in problem.variables()}
    for step in inverse[:-1]:
        imaginary = getattr(step, "real2imag", {})  # of variables and of constraints
        names |= {after: f"{names[before]} imaginary" for before, after in imaginary.items() if before in names}
        if isinstance(step, tuple) and step:  # of CvxAttr2Constr: new variables, old ones, ids of constraints
            names |= {new.id: names[old] for old, new in step[0].items() if old in names}
    return names


def _matrices_of_entries(problem: Any, inverse: Any) -> dict[int, Block]:
    """Return the matrices that CVXPY keeps as a vector of entries, by the ids that variables have afterwards."""
    matrices: dict[int, Block] = {}
    variables = {v.id: v for v in problem.variables()}
    for step in inverse[:-1]:
        for old, new in (step[0] if isinstance(step, tuple) and step else {}).items():
            if (
                old in variables
                and len(variables[old].shape) == 2
                and (entries := _entries(variables[old], new.size)) is not None
            ):
                symmetric = bool(variables[old].is_symmetric() and not variables[old].attributes["diag"])
                matrices[new.id] = Block("", variables[old].shape, symmetric, entries=entries)
    return matrices


def _entries(variable: Any, size: int) -> tuple[tuple[int, int], ...] | None:
    """Return row and column of each of the ``size`` entries that CVXPY keeps of a matrix; None where it keeps all."""
    order, attributes = variable.shape[0], variable.attributes
    indices: Sequence[Any] = ()
    if attributes["diag"]:
        indices = np.diag_indices(order)
    elif attributes["sparsity"]:
        indices = [np.asarray(axis) for axis in variable.sparse_idx]
    elif variable.is_symmetric() and size == order * (order + 1) // 2:
        indices = np.triu_indices(order)
    if not len(indices) or indices[0].size != size:
        return None
    return tuple(zip(*(axis.tolist() for axis in indices), strict=True))


def _blocks(
    program: Any, names: Mapping[int, str], stem: str, matrices: Mapping[int, Block]
) -> tuple[tuple[Block, ...], IntArray, IntArray]:
    """Return one block for each variable under the user's name, with matrices stacked by rows; the index in CVXPY's x of each
    entry; and the indices of the user's variables.
    """
    blocks, order, ranges = [], [], [np.zeros(0, dtype=np.intp)]
    names_in_use: set[str] = set()
    start = 0
    for k, variable in enumerate(sorted(program.variables, key=lambda v: program.var_id_to_col[v.id])):
        shape = tuple(variable.shape)
        shape = shape[:1] if len(shape) == 2 and shape[1] == 1 else shape
        label = unique_label(names.get(variable.id, f"{stem} variable {k}"), names_in_use)
        block = replace(matrices.get(variable.id, Block("", shape)), label=label, auxiliary=variable.id not in names)
        blocks.append(block if block.entries is None else replace(block, given_names=tuple(block.names())))
        places = np.arange(variable.size).reshape(shape, order="F").ravel(order="C")
        order.append(program.var_id_to_col[variable.id] + places)
        if variable.id in names:
            ranges.append(np.arange(start, start + variable.size))
        start += variable.size
    return tuple(blocks), np.concatenate(order), np.concatenate(ranges)


def _flags(index: Any, n: int) -> BoolArray:
    flags = np.zeros(n, dtype=bool)
    flags[[int(place[0]) for place in index or ()]] = True
    return flags


def _bound(side: Any, n: int, sign: float) -> FloatArray:
    return np.full(n, sign * np.inf) if side is None else np.array(side, dtype=np.float64)


def _symmetric(P: sp.csc_array) -> sp.csc_array:
    """Return P from the whole matrix or from its upper triangle."""
    lower_part = sp.tril(P, k=-1)
    return sp.csc_array(P) if lower_part.nnz else sp.csc_array(P + sp.triu(P, k=1).T)


def _own_labels(problem: Any, labels: Sequence[str]) -> list[str]:
    """Return one label for each constraint, all different: the user's, or ``constraint k``."""
    labels_in_use: set[str] = set()
    return [unique_label(label or f"constraint {k}", labels_in_use) for k, label in enumerate(labels)]


def _final_ids(problem: Any, inverse: Any) -> list[int]:
    """Return the ids that the problem's constraints have after the reductions."""
    ids = []
    for constraint in problem.constraints:
        current = constraint.id
        for step in inverse[:-1]:
            # CvxAttr2Constr keeps its three maps in a tuple, which is empty where it had nothing to do
            following = (step[-1] if step else {}) if isinstance(step, tuple) else getattr(step, "cons_id_map", {})
            current = following.get(current, current)
        ids.append(current)
    return ids


def _constraints(
    data: Mapping[str, Any], order: IntArray, used_names: set[str], labels: Mapping[int, str], stem: str
) -> tuple[tuple[Constraint, ...], dict[int, list[int]]]:
    """Return the rows b - Ax in CVXPY's order, one constraint for each cone.

    The second result holds the indices of these constraints by the id of CVXPY's canonical constraint.
    """
    pieces: dict[int, list[int]] = {}
    if data["A"] is None:
        return (), pieces
    F, g = sp.csr_array(-sp.csc_array(data["A"])[:, order]), np.asarray(data["b"], dtype=np.float64)
    constraints: list[Constraint] = []
    start = 0
    for k, piece in enumerate(data["param_prob"].constraints):
        label = labels.get(piece.id, f"{stem} rows {k}")
        for cone in _cones_of_constraint(piece):
            rows = slice(start, start + cone.rows)
            start += cone.rows
            pieces.setdefault(piece.id, []).append(len(constraints))
            constraints.append(Constraint(unique_label(label, used_names), F[rows], g[rows], cone))
    assert start == g.size, "CVXPY's cones and rows do not match"
    return tuple(constraints), pieces


def _evaluate(read: Callable[[], _Value], unknown: _Value) -> _Value:
    """Return a value, or ``unknown`` at a point where CVXPY has none and raises.

    A perspective without a recession function raises at s = 0; an atom that is a problem raises where its solver fails.
    """
    try:
        return read()
    except Exception:  # noqa: BLE001 - each atom of CVXPY, and each solver that it calls, raises in its own way
        return unknown


def _number(value: Any) -> float:
    return float("nan") if value is None else float(np.real(np.ravel(value)[0]))


def _unknown(name: str) -> ConstraintValue:
    """Return a constraint without a value, with an infinite violation."""
    return ConstraintValue(name, np.full(1, np.nan), float("inf"), np.zeros(1))


def _violation(constraint: Any) -> float:
    """Return the largest violation of a constraint as CVXPY computes it; infinite where a variable has no value."""
    import cvxpy

    kinds: Any = cvxpy.constraints
    if isinstance(constraint, kinds.ExpCone | kinds.PowCone3D):  # CVXPY would solve a problem to project on them
        value = _stacked(constraint)
        pieces = np.split(value, np.cumsum([cone.rows for cone in _cones_of_constraint(constraint)])[:-1])
        return max(cone.violation(piece) for cone, piece in zip(_cones_of_constraint(constraint), pieces, strict=True))
    residual = constraint.residual
    return float("inf") if residual is None else float(np.max(np.abs(residual), initial=0.0))


def _row(name: str, constraint: Any) -> ConstraintValue:
    """Return a constraint at the current values of its variables; its value is NaN where its rows are not those of the form."""
    import cvxpy

    kinds: Any = cvxpy.constraints
    violation = _violation(constraint)
    value = np.full(1, np.nan)
    if isinstance(constraint, kinds.Inequality | kinds.NonPos):
        value = -_flat(constraint.expr.value)
    elif isinstance(constraint, kinds.NonNeg):
        value = _flat(constraint.expr.value)
    elif isinstance(constraint, kinds.Equality | kinds.Zero):
        value = np.abs(_flat(constraint.expr.value))
    elif isinstance(constraint, kinds.SOC):
        heads, tails = np.atleast_1d(constraint.args[0].value), np.asarray(constraint.args[1].value)
        tails = tails.reshape(-1, 1) if tails.ndim < 2 else tails.T if constraint.axis == 1 else tails
        value = np.vstack([heads.reshape(1, -1), tails]).ravel(order="F")
    elif isinstance(constraint, kinds.ExpCone | kinds.PowCone3D):
        value = _stacked(constraint)
    elif isinstance(constraint, kinds.PSD) and constraint.expr.ndim == 2:
        matrix = np.asarray(constraint.expr.value)
        value = svec(0.5 * (matrix + matrix.T)) if np.isrealobj(matrix) else value
    return ConstraintValue(name, value, violation, np.zeros(value.size))


def _stacked(constraint: Any) -> FloatArray:
    """Return the rows of exponential or power cones, one cone after the other."""
    return np.vstack([_flat(part.value) for part in constraint.args]).ravel(order="F")


def _violated(name: str, constraint: Any) -> ConstraintValue:
    """Return a constraint between constants with its violation as the value."""
    return ConstraintValue.equal(name, np.array([_violation(constraint)]))


def _flat(value: Any) -> FloatArray:
    """Return the entries by columns; a single NaN where they are not real, so that they are not compared."""
    entries = value.toarray() if sp.issparse(value) else np.asarray(value)
    return np.full(1, np.nan) if np.iscomplexobj(entries) else np.ravel(entries, order="F").astype(np.float64)
