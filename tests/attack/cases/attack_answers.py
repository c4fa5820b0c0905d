"""Answers with an exact truth beside them: natural ones at every scale, and corrupted ones.

Truth is rational: the floating-point data are rational numbers, and the least objective over a polyhedron of a few variables is
the least over the stationary points of its faces, each solved in rational arithmetic. The laws, for every result:

- a bound that is called proved, without a condition, is not above the truth;
- OPTIMAL stands only at an objective within the tolerance asked for, or says that it is zero within rounding: then the truth is
  within the interval that is claimed, and the objective off by some roundings of its terms only;
- INFEASIBLE or UNBOUNDED is not called proved where an optimum exists;
- nothing but our own errors escapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm, Zero
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.model import Model, as_model
from marginopt.solvers import Answer, Status, get_solver
from marginopt.solvers.certification.verdict import ZERO_OPTIMUM
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.rational import RationalForm, solve_linear
from marginopt.solvers.records import Options

#: Relative difference from the truth at which OPTIMAL (asked for at 1e-6) is called wrong.
WRONG = 1e-4
#: Where the result says "zero within rounding": the same, of the terms before they cancel, in roundings of them.
ROUNDINGS = Fraction(64, 2**53)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, its exact optimum in the form's minimisation sense (None: none exists), and who can solve it.

    ``scale`` is the size of the objective's terms at the optimum, ``terms`` the same before any of P's cancel.
    """

    name: str
    model: Model | StandardForm
    truth: Fraction | None
    solvers: tuple[str, ...]
    scale: Fraction
    terms: Fraction

    @property
    def form(self) -> StandardForm:
        """The form whose optimum the truth is."""
        return self.model if isinstance(self.model, StandardForm) else self.model.form


# -- the exact optimum ------------------------------------------------------------------------------------------------


Sizes: TypeAlias = tuple[Fraction, Fraction]
Rows: TypeAlias = list[list[tuple[int, Fraction]]]


def exact_optimum(form: StandardForm, P: Rows | None = None) -> tuple[Fraction | None, Sizes]:
    """The least objective over the stationary points of all faces, with integers enumerated; and the sizes of its terms.

    Of a problem that has an optimum (a bounded set, or a convex objective bounded below), P of any sign; ``P`` in place of the
    form's own, which may be rounded.
    """
    rational = RationalForm(form)
    if P is not None:
        vars(rational)["P"] = P
    integers = np.flatnonzero(form.integer)
    if not integers.size:
        return _continuous(rational, form.lower, form.upper)
    best, size = None, (Fraction(1), Fraction(1))
    ranges = [range(int(form.lower[j]), int(form.upper[j]) + 1) for j in integers]
    for chosen in product(*ranges):
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[integers] = upper[integers] = chosen
        value, at = _continuous(rational, lower, upper)
        if value is not None and (best is None or value < best):
            best, size = value, at
    return best, size


def _continuous(rational: RationalForm, lower: np.ndarray, upper: np.ndarray) -> tuple[Fraction | None, Sizes]:
    form = rational.form
    n = form.n
    fixed = [j for j in range(n) if lower[j] == upper[j]]
    equal: list[tuple[dict[int, Fraction], Fraction]] = [({j: Fraction(1)}, Fraction(lower[j])) for j in fixed]
    faces: list[tuple[dict[int, Fraction], Fraction]] = []
    for c in form.constraints:
        target = equal if isinstance(c.cone, Zero) else faces
        target += [(dict(row), -Fraction(g)) for row, g in zip(rational.rows[c.label], c.g.tolist(), strict=True)]
    for j in range(n):
        if j not in fixed:
            faces += [({j: Fraction(1)}, Fraction(lower[j]))] if np.isfinite(lower[j]) else []
            faces += [({j: Fraction(-1)}, -Fraction(upper[j]))] if np.isfinite(upper[j]) else []
    best, size = None, (Fraction(1), Fraction(1))
    for count in range(min(len(faces), n) + 1):  # equations may follow from others
        for active in combinations(faces, count):
            x = _stationary(rational, [*equal, *active])
            if x is None or any(sum((v * x[j] for j, v in row.items()), Fraction(0)) < right for row, right in faces):
                continue
            value = rational.objective(x)
            if best is None or value < best:
                curved = sum((abs(a * b) for a, b in zip(rational.P_times(x), x, strict=True)), Fraction(0))
                linear = sum((abs(Fraction(q) * v) for q, v in zip(form.q.tolist(), x, strict=True)), Fraction(0))
                apart = sum((abs(v * x[i] * x[j]) for i, row in enumerate(rational.P) for j, v in row), Fraction(0))
                rest = linear + abs(Fraction(form.r))
                best, size = value, (curved / 2 + rest, apart / 2 + rest)
    return best, size


def _stationary(rational: RationalForm, rows: list[tuple[dict[int, Fraction], Fraction]]) -> list[Fraction] | None:
    """The stationary point of the objective on rows that hold with equality; variables without cost or row are zero."""
    n, m = rational.form.n, len(rows)
    zero = Fraction(0)
    system = [[zero] * (n + m) for _ in range(n + m)]
    for i, row in enumerate(rational.P):
        for j, v in row:
            system[i][j] = v
    for k, (row, _) in enumerate(rows):
        for j, v in row.items():
            system[n + k][j] = v
            system[j][n + k] = -v
    right = [-Fraction(q) for q in rational.form.q.tolist()] + [b for _, b in rows]
    solution = solve_linear(system, right)
    return None if solution is None else solution[:n]


# -- the problems -------------------------------------------------------------------------------------------------------


def _box_qp(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    """Two variables in a box, P of any sign."""
    A = np.round(rng.normal(size=(2, 2)), 3)
    P = A @ A.T if rng.random() < 0.5 else A + A.T
    low = np.round(rng.normal(size=2), 2) * scale
    form = StandardForm(
        "box", (Block("x", (2,)),), np.round(rng.normal(size=2), 3) * scale, (), low, low + scale * rng.integers(1, 4, size=2),
        np.zeros(2, dtype=bool), Quadratic(matrix=0.5 * (P + P.T)),
    )  # fmt: skip
    return form, ("clarabel", "osqp", "piqp", "scs", "highs")


def _lp(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    """Two variables, three rows, feasible, bounded; sometimes an integer."""
    F = np.round(rng.normal(size=(3, 2)), 2)
    g = np.round(rng.random(3), 2) * scale
    integer = np.array([rng.random() < 0.3, False])
    size = max(scale, 1.0) if integer.any() else scale
    high = min(3.0 * size, 9.0) if integer.any() else size
    form = StandardForm(
        "lp", (Block("x", (2,)),), np.round(rng.normal(size=2), 2), (Constraint("rows", F, g, Nonnegative(3)),),
        np.full(2, -round(size)) if integer.any() else np.full(2, -size), np.full(2, high),
        integer if scale <= 3.0 else np.zeros(2, dtype=bool),
    )  # fmt: skip
    return form, ("highs", "scip") if form.integer.any() else ("highs", "clarabel", "scs", "osqp")


def _free_lp(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    """min max |x - a_i|: free variables without curvature."""
    a = np.round(rng.normal(size=3), 2) * scale
    F = np.column_stack([np.ones(6), np.repeat([1.0, -1.0], 3)])
    form = StandardForm(
        "centre", (Block("t", ()), Block("x", ())), np.array([1.0, 0.0]),
        (Constraint("far", F, np.concatenate([-a, a]), Nonnegative(6)),),
        np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, dtype=bool),
    )  # fmt: skip
    return form, ("highs", "clarabel", "scs", "osqp")


def _labelled(rng: np.random.Generator, n: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    return np.round(rng.normal(size=(n, 1)), 2) * scale + 0.01 * scale, np.where(np.arange(n) % 2, 1.0, -1.0)


def _hinge(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    X, y = _labelled(rng, 3, scale)
    return mo.HingeSVM(X, y, lam=_parameter(rng)), ("clarabel", "osqp", "scs", "highs", "piqp")


def _l2(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    X, y = _labelled(rng, 3, scale)
    model = mo.L2SVMDual(X, y, C=_parameter(rng), kernel=mo.Linear())
    return model, ("smo", "fw", "mfw", "cvm", "pga", "clarabel", "osqp", "scs")


def _l1(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    X, y = _labelled(rng, 3, scale)
    return mo.L1SVMDual(X, y, C=_parameter(rng), kernel=mo.Linear()), ("smo-box", "clarabel", "osqp", "scs", "highs")


def _ball(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    far = (0.0, 1.0, 1e4, 1e7)[int(rng.integers(4))]
    X = (np.round(rng.normal(size=(3, 2)), 2) + far) * scale
    return mo.MEBDual(X, kernel=mo.Linear()), ("smo", "fw", "mfw", "cvm", "clarabel", "osqp", "scs")


def _zero_one(rng: np.random.Generator, scale: float) -> tuple[Model | StandardForm, tuple[str, ...]]:
    X, y = _labelled(rng, 3, scale)
    X = np.column_stack([np.ones(3), X])
    return mo.ZeroOneSVM(X, y, lam=_parameter(rng, 2)), ("zero-one-bb", "scip")


def _parameter(rng: np.random.Generator, most: int = 6) -> float:
    return float(10.0 ** rng.integers(-most, most + 1))


def _exact_gram(form: StandardForm) -> Rows | None:
    """Return scale·(s_i s_j (x_i'x_j + offset) + δ_ij ridge_i) of the points as they are; None for a form without an operator.

    The entries of the form's own matrix are rounded, and its optimum may be far below the model's where the terms cancel.
    """
    gram = None if form.quadratic is None else form.quadratic.operator
    if gram is None:
        return None
    assert isinstance(gram, KernelGram) and isinstance(gram.kernel, mo.Linear)
    signs = np.ones(gram.n) if gram.signs is None else gram.signs
    Z = [[int(s) * Fraction(v) for v in (*row, 1.0)] for s, row in zip(signs, np.asarray(gram.X).tolist(), strict=True)]
    weights = [Fraction(1)] * (len(Z[0]) - 1) + [Fraction(gram.offset)]
    ridge = np.broadcast_to(gram.ridge, gram.n).tolist()
    rows = [[sum((a * b * c for a, b, c in zip(u, v, weights, strict=True)), Fraction(0)) for v in Z] for u in Z]
    for i, row in enumerate(rows):
        row[i] += Fraction(ridge[i])
    return [[(j, Fraction(gram.scale) * v) for j, v in enumerate(row)] for row in rows]


FAMILIES: tuple[Callable[[np.random.Generator, float], tuple[Model | StandardForm, tuple[str, ...]]], ...] = (
    _box_qp, _lp, _free_lp, _hinge, _l2, _l1, _ball, _zero_one,
)  # fmt: skip


@lru_cache(maxsize=4096)
def case(number: int) -> Case:
    """The problem of this number: family, scale 1e-6 to 1e6 and parameters follow from it."""
    rng = np.random.default_rng([18, number])
    family = FAMILIES[number % len(FAMILIES)]
    scale = float(10.0 ** rng.integers(-6, 7)) if family is not _zero_one else 1.0
    model, solvers = family(rng, scale)
    form = model if isinstance(model, StandardForm) else model.form
    truth, sizes = exact_optimum(form, _exact_gram(form))
    return Case(f"{number}: {family.__name__.strip('_')} at {scale:g}", model, truth, solvers, *sizes)


# -- the laws -------------------------------------------------------------------------------------------------------


def wrong(result: mo.Result, problem: Case) -> str:
    """Return what the result claims that is not so; empty where nothing is."""
    if problem.truth is None:
        return "" if not result.status.solved or result.status is Status.INFEASIBLE else f"{result.status} of an empty set"
    kind = str(result.bound_kind)
    bound, truth = float(result.sign * result.bound), problem.truth
    if kind == "proved" and np.isfinite(bound) and Fraction(bound) > truth:
        return f"bound {bound!r} called proved above the truth {float(truth)!r}"
    if result.status is Status.OPTIMAL:
        objective = Fraction(float(result.sign * result.objective))
        allowed = Fraction(WRONG) * max(abs(truth), problem.scale)
        if (
            ZERO_OPTIMUM in result.evidence
        ):  # claimed is an interval about zero, which must hold the truth, and to the last roundings
            reach = float(result.evidence.split("no further from it than ")[1].split(",")[0])
            if abs(truth) > Fraction(reach):
                return f"OPTIMAL at zero within {reach!r}, the truth is {float(truth)!r}"
            allowed = ROUNDINGS * problem.terms
        judged_by_bound = kind == "proved" or not problem.form.integer.any()
        if judged_by_bound and objective > truth + allowed:
            return f"OPTIMAL at {float(objective)!r}, the truth is {float(truth)!r}"
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED) and "proved: " in result.evidence:
        return f"{result.status} called proved, and an optimum exists"
    return ""


def natural(number: int) -> tuple[str, str, mo.Result | None]:
    """(case and solver, what is wrong, the result) of one natural answer."""
    problem = case(number)
    solver = problem.solvers[(number // len(FAMILIES)) % len(problem.solvers)]
    result, fault = answered(problem.model, solver)
    return f"{problem.name} by {solver}", fault if result is None else wrong(result, problem), result


def answered(model: Model | StandardForm, solver: str) -> tuple[mo.Result | None, str]:
    """A result within two seconds; none, and the exception where it is not one of ours."""
    try:
        return mo.solve(model, solver, time_limit=2.0), ""
    except MarginoptError:
        return None, ""
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return None, f"{type(error).__name__}: {str(error)[:200]}"


# -- corrupted answers ------------------------------------------------------------------------------------------------


def _noise(value: Any, rng: np.random.Generator) -> Any:
    array = np.zeros(2) if np.asarray(value).dtype.kind not in "fiub" else np.array(value, dtype=np.float64)
    size = 10.0 ** rng.integers(-12, 3)
    return array + size * rng.normal(size=array.shape) * (1.0 + np.abs(array))


_ARRAYS: tuple[Callable[[Any, np.random.Generator], Any], ...] = (
    _noise, _noise, _noise,
    lambda v, rng: -np.asarray(v),
    lambda v, rng: np.asarray(v) * (0.5, 2.0, 1.0 + 1e-9, 1e6, 0.0)[int(rng.integers(5))],
    lambda v, rng: np.full(np.shape(v), np.nan),
    lambda v, rng: np.full(np.shape(v), (np.inf, -np.inf, 1e300, -1e300, 1e-310)[int(rng.integers(5))]),
    lambda v, rng: np.append(np.ravel(v), 1.0),
    lambda v, rng: np.ravel(v)[:-1],
    lambda v, rng: np.asarray(v)[..., None],
    lambda v, rng: np.zeros((2, 3, 4)),
    lambda v, rng: None,
    lambda v, rng: "nonsense",
    lambda v, rng: np.asarray(v).astype(str),
    lambda v, rng: np.asarray(v) + 1j,
)  # fmt: skip


def _changed(value: Any, rng: np.random.Generator) -> Any:
    """One array changed; one that an earlier lie left without numbers stays as it is."""
    if value is None or np.asarray(value).dtype.kind not in "fiub":
        return value
    return _ARRAYS[int(rng.integers(len(_ARRAYS)))](value, rng)


def _one_array(answer: Answer, rng: np.random.Generator, part: str) -> Answer:
    content = getattr(answer, part)
    if content is None:
        return answer
    if part == "reduced":
        return replace(answer, reduced=_changed(content, rng))
    changed = dict(content)
    if not changed:
        return answer
    label = sorted(changed)[int(rng.integers(len(changed)))]
    choice = int(rng.integers(10))
    if choice == 0:
        del changed[label]
    elif choice == 1:
        changed["stranger"] = np.ones(3)
    else:
        changed[label] = _changed(changed[label], rng)
    return replace(answer, **{part: changed})


def corrupted(answer: Answer, form: StandardForm, rng: np.random.Generator) -> Answer:
    """The answer with one to three lies: about point, multipliers, rays, status, objective, bound."""
    for _ in range(int(rng.integers(1, 4))):
        what = int(rng.integers(10))
        if what < 3:
            answer = _one_array(answer, rng, "values")
        elif what < 6:
            answer = _one_array(answer, rng, "multipliers")
        elif what == 6:
            answer = _one_array(answer, rng, "reduced")
        elif what == 7:
            answer = replace(answer, status=list(Status)[int(rng.integers(len(Status)))])
        elif what == 8:
            lies: tuple[Any, ...] = (np.nan, np.inf, -np.inf, 0.0, 1e300, None)
            answer = replace(answer, objective=lies[int(rng.integers(6))], bound=lies[int(rng.integers(6))])
        elif rng.random() < 0.5:
            status = (Status.INFEASIBLE, Status.UNBOUNDED)[int(rng.integers(2))]
            farkas = {c.label: rng.normal(size=c.rows) for c in form.constraints}
            answer = replace(answer, status=status, farkas=farkas, ray=form.split(rng.normal(size=form.n)))
        else:
            z = {c.label: rng.normal(size=c.rows) * 10.0 ** rng.integers(-3, 6) for c in form.constraints}
            answer = replace(answer, multipliers=z)
    return answer


def judged(number: int, answer: Answer, problem: Case, solver: str) -> str:
    """Return what is wrong with the judgement of one corrupted answer; empty where nothing is."""
    lie = corrupted(answer, problem.form, np.random.default_rng([number, 7]))
    result, fault = judgement(problem.model, solver, lie)
    return fault if result is None else wrong(result, problem)


def judgement(model: Model | StandardForm, solver: str, lie: Answer) -> tuple[mo.Result | None, str]:
    """Return what becomes of an answer that was made up; none, and the exception where there is one."""
    try:
        with np.errstate(all="ignore"):
            result = judge(as_model(model), get_solver(solver), lie, Options(), OPEN_LICENCE)
            str(result)
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return None, f"{type(error).__name__}: {str(error)[:200]}"
    return result, ""
