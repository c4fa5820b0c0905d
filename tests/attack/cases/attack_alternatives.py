"""Programs that have no point, or no least value, or an optimum: which, a planted certificate in whole numbers says.

Whole numbers below 2^20 and their small multiples are exact in doubles, so a planted point, ray or combination of rows is checked
in rational arithmetic when the case is made. The laws, for every result, natural or lied about:

- OPTIMAL stands on no empty set and on no objective without a least value, and no finite bound is proved of the latter;
- INFEASIBLE or UNBOUNDED is called proved only where it is so, and where nothing proves it, is called a claim;
- nothing but our own errors escapes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from attack_answers import answered, judgement

import marginopt as mo
from marginopt.models import PSD, Block, Constraint, Nonnegative, Quadratic, SecondOrder, StandardForm, Zero
from marginopt.models.model import Model
from marginopt.solvers import Answer, Status


class Truth(enum.Enum):
    """The truth about a program, as it was planted."""

    EMPTY = "no point"
    ENDLESS = "no least value"
    OPTIMUM = "an optimum"


@dataclass(frozen=True, eq=False)
class Case:
    """A program, what there is, and who can be asked."""

    name: str
    model: Model | StandardForm
    truth: Truth
    solvers: tuple[str, ...]

    @property
    def form(self) -> StandardForm:
        """The program."""
        return self.model if isinstance(self.model, StandardForm) else self.model.form


_QP = ("highs", "clarabel", "osqp", "piqp")
_LP = (*_QP, "scs")
_CONES, _MIXED = ("clarabel", "scs"), ("highs", "scip")


def _integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-4, 5, shape).astype(np.float64)


def _form(A: np.ndarray, g: np.ndarray, q: np.ndarray, rng: np.random.Generator, name: str, **more: object) -> StandardForm:
    """Rows A x + g ≥ 0, each times a power of two between 2^-20 and 2^20."""
    size = 2.0 ** rng.integers(-20, 21, g.size) if rng.random() < 0.3 else np.ones(g.size)
    n, rows = q.size, Constraint("rows", sp.csr_array(A * size[:, None]), g * size, Nonnegative(g.size))
    free, real = np.full(n, np.inf), np.zeros(n, dtype=bool)
    form = StandardForm(name, (Block("x", (n,)),), q, (rows,), -free, free, real)
    return form.replace(**more) if more else form


def _empty(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a combination with whole multipliers says -1 ≥ 0 or less; the others are anything."""
    z = rng.integers(1, 4, m).astype(np.float64)
    A, g = _integers(rng, m, n), _integers(rng, m)
    z[-1] = 1.0
    A[-1] = -(z[:-1] @ A[:-1])
    g[-1] = -(z[:-1] @ g[:-1]) - int(rng.integers(1, 4))
    assert not (z @ A).any() and z @ g < 0
    return A, g


def _with_point(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that a planted whole point satisfies, some of them with no room."""
    A, x = _integers(rng, m, n), _integers(rng, n)
    return A, rng.integers(0, 3, m) - A @ x


def _linear(rng: np.random.Generator, truth: Truth, curved: bool) -> StandardForm:
    """A linear or (curved) convex quadratic program of one to four variables."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(2, 7))
    R = _integers(rng, int(rng.integers(1, 3)), n)
    if truth is Truth.EMPTY:
        A, g = _empty(rng, n, m)
        q = _integers(rng, n)
    elif truth is Truth.ENDLESS:
        A, g = _with_point(rng, n, m)
        d = _integers(rng, n)
        d[0] = d[0] or 1.0
        flip = np.where(A @ d < 0, -1.0, 1.0)
        point = np.maximum(g, 0.0)  # at x = 0, which then satisfies every row
        A, g = A * flip[:, None], point
        q = _integers(rng, n)
        q = q - d * (q @ d + 1.0) if q @ d >= 0 else q  # q'd < 0, since d'd ≥ 1
        R = R * (d @ d) - np.outer(R @ d, d)  # R d = 0
        assert (A @ d >= 0).all() and (g >= 0).all() and q @ d < 0 and not (R @ d).any()
    else:
        A, g = _with_point(rng, n, m)
        q = A.T @ rng.integers(0, 3, m)  # dual feasible
    quadratic = Quadratic(matrix=R.T @ R) if curved else None
    return _form(A, g, q, rng, "quadratic" if curved else "linear", quadratic=quadratic)


def _lp(rng: np.random.Generator) -> Case:
    truth = list(Truth)[int(rng.integers(3))]
    return Case("linear", _linear(rng, truth, False), truth, _LP)


def _qp(rng: np.random.Generator) -> Case:
    truth = list(Truth)[int(rng.integers(3))]
    return Case("quadratic", _linear(rng, truth, True), truth, _QP)


def _narrow(rng: np.random.Generator) -> Case:
    """a'x ≥ b and a'x ≤ b ± 2^-k: a slab with or without a point, as thin as doubles can say."""
    n, k = int(rng.integers(1, 4)), int(rng.integers(0, 41))
    a, b = _integers(rng, n), float(rng.integers(-4, 5))
    a[0] = a[0] or 1.0
    gap = 2.0**-k * (1.0 if rng.random() < 0.5 else -1.0)
    A, g = np.array([a, -a]), np.array([-b, b + gap])
    truth = Truth.OPTIMUM if gap >= 0 else Truth.EMPTY
    return Case("narrow", _form(A, g, a, rng, "narrow"), truth, _LP)


def _ball(rng: np.random.Generator) -> Case:
    """||x - c|| ≤ r beside a'x ≥ b: by Cauchy and Schwarz, (b - a'c)² against r² a'a."""
    n = int(rng.integers(1, 4))
    c, a, r = _integers(rng, n), _integers(rng, n), float(rng.integers(1, 4))
    a[0] = a[0] or 1.0
    b = float(a @ c) + float(rng.integers(-6, 13))
    over = Fraction(b - a @ c)
    if over > 0 and over**2 == Fraction(r) ** 2 * Fraction(float(a @ a)):
        b -= 1.0  # they touched
        over -= 1
    empty = over > 0 and over**2 > Fraction(r) ** 2 * Fraction(float(a @ a))
    F = np.vstack([np.zeros(n), np.eye(n)])
    ball = Constraint("ball", sp.csr_array(F), np.concatenate([[r], -c]), SecondOrder(n + 1))
    beside = Constraint("beside", sp.csr_array(a[None, :]), np.array([-b]), Nonnegative(1))
    free = np.full(n, np.inf)
    form = StandardForm("ball", (Block("x", (n,)),), _integers(rng, n), (ball, beside), -free, free, np.zeros(n, dtype=bool))
    return Case("ball", form, Truth.EMPTY if empty else Truth.OPTIMUM, _CONES)


def _cone(rng: np.random.Generator) -> Case:
    """min q'x over a cone about an interior ray d: without end where q'd < 0, else q = that of a dual point, and 0 is least."""
    order, n = 2, int(rng.integers(1, 4))
    cone = SecondOrder(3) if rng.random() < 0.5 else PSD.of_order(order)
    F = _integers(rng, 3, n)
    d = _integers(rng, n)
    d[0] = d[0] or 1.0
    # F d is deep inside: (9, 1, 1) of the second-order cone, diag(9, 9) of the matrices, times d'd
    inside = np.array([9.0, 1.0, 1.0]) if isinstance(cone, SecondOrder) else np.array([9.0, 0.0, 9.0])
    F = F * (d @ d) - np.outer(F @ d - inside, d)
    endless = bool(rng.random() < 0.5)
    q = _integers(rng, n)
    if endless:
        q = q - d * (q @ d + 1.0) if q @ d >= 0 else q
    else:
        q = F.T @ (np.array([2.0, 1.0, -1.0]) if isinstance(cone, SecondOrder) else np.array([2.0, 0.0, 1.0]))
    free = np.full(n, np.inf)
    rows = Constraint("cone", sp.csr_array(F), np.zeros(3), cone)
    form = StandardForm("cone", (Block("x", (n,)),), q, (rows,), -free, free, np.zeros(n, dtype=bool))
    return Case("cone", form, Truth.ENDLESS if endless else Truth.OPTIMUM, _CONES)


def _mixed(rng: np.random.Generator) -> Case:
    """2a'x = odd has no whole point; beside it sets with one, without end or not."""
    truth = list(Truth)[int(rng.integers(3))]
    if truth is Truth.EMPTY and rng.random() < 0.5:
        n = int(rng.integers(1, 4))
        a = 2.0 * _integers(rng, n)
        row = Constraint("odd", sp.csr_array(a[None, :]), np.array([float(2 * rng.integers(-3, 3) + 1)]), Zero(1))
        size = np.full(n, 6.0)
        form = StandardForm("odd", (Block("x", (n,)),), _integers(rng, n), (row,), -size, size, np.ones(n, dtype=bool))
        return Case("odd", form, Truth.EMPTY, _MIXED)
    form = _linear(rng, truth, False)
    integer = rng.random(form.n) < 0.5
    return Case("mixed", form.replace(integer=integer), truth, _MIXED)


def _rows_added(rng: np.random.Generator) -> Case:
    """A hinge or 0-1 model with rows that leave no w, or one; or a variable that earns without end."""
    n = 4
    X = np.column_stack([np.ones(n), _integers(rng, n, 1)])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    whole = rng.random() < 0.4
    base: Model = mo.ZeroOneSVM(X, y, lam=1.0) if whole else mo.HingeSVM(X, y, lam=0.5)
    level = float(rng.integers(-3, 4)) / 4.0
    kind = int(rng.integers(3))
    solvers = ("scip",) if whole else ("clarabel", "osqp", "piqp", "highs")
    if kind == 0:
        gap = 2.0 ** -int(rng.integers(0, 12))
        model = base.with_constraint(lambda v: v.w[1] >= level + gap, lambda v: v.w[1] <= level)
        return Case("rows added", model, Truth.EMPTY, solvers)
    if kind == 1:
        model = base.with_constraint(lambda v: v.w[1] >= level / 64.0, lambda v: v.w[1] <= level / 64.0)
        return Case("rows added", model, Truth.OPTIMUM, solvers)
    import cvxpy as cp

    t = cp.Variable(name="t")
    earns = float(rng.integers(-2, 3))
    model = base.with_variables(t, cost=lambda v: earns * v.t).with_constraint(lambda v: v.t >= -1)
    truth = Truth.ENDLESS if earns < 0 else Truth.OPTIMUM
    return Case("variables added", model, truth, solvers)


FAMILIES = (_lp, _qp, _narrow, _ball, _cone, _mixed, _lp, _rows_added)


@lru_cache(maxsize=4096)
def case(number: int) -> Case:
    """The program of this number."""
    rng = np.random.default_rng([18, 2, number])
    return FAMILIES[number % len(FAMILIES)](rng)


def wrong(result: mo.Result, problem: Case) -> str:
    """Return what the result claims that is not so; empty where nothing is."""
    truth, status, text = problem.truth, result.status, result.evidence
    proved = "proved: " in text
    bound = float(result.sign * result.bound)
    if status is Status.OPTIMAL and truth is not Truth.OPTIMUM and not _within_tolerance(problem):
        return f"OPTIMAL at {result.objective!r}, and there is {truth.value}"
    if truth is Truth.ENDLESS and str(result.bound_kind) == "proved" and np.isfinite(bound):
        return f"bound {bound!r} called proved where there is no least value"
    if status is Status.INFEASIBLE:
        if truth is not Truth.EMPTY and proved:
            return f"INFEASIBLE called proved, and there is {truth.value}"
        if not proved and "claimed by the solver" not in text:
            return f"INFEASIBLE without a proof that is not called a claim: {text!r}"
    if status is Status.UNBOUNDED:
        if truth is not Truth.ENDLESS and proved:
            return f"UNBOUNDED called proved, and there is {truth.value}"
        if not proved and "claimed by the solver" not in text:
            return f"UNBOUNDED without a proof that is not called a claim: {text!r}"
    return ""


def _within_tolerance(problem: Case) -> bool:
    """An empty slab that is thinner than what tolerances of 1e-4 can see may be said to have a point."""
    return problem.truth is Truth.EMPTY and problem.name in ("narrow", "rows added")


def proof_is_lost(result: mo.Result, problem: Case) -> bool:
    """Return whether a true claim about a linear program without integers stays a claim: counted, not wrong."""
    linear = problem.name in ("linear", "narrow") and result.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    return linear and "proved: " not in result.evidence


def natural(number: int) -> tuple[str, str, mo.Result | None]:
    """(case and solver, what is wrong, the result) of one natural answer."""
    problem = case(number)
    solver = problem.solvers[(number // len(FAMILIES)) % len(problem.solvers)]
    result, fault = answered(problem.model, solver)
    return f"{number}: {problem.name} by {solver}", fault if result is None else wrong(result, problem), result


def lied(answer: Answer, form: StandardForm, rng: np.random.Generator) -> Answer:
    """The answer as a claim of one or the other kind, with its own evidence spoilt, evidence drawn, or none."""
    status = (Status.INFEASIBLE, Status.UNBOUNDED)[int(rng.integers(2))]
    size = 10.0 ** rng.integers(-12, 3)
    farkas, ray = answer.farkas, answer.ray
    if farkas is None or rng.random() < 0.4:
        drawn = {c.label: rng.normal(size=c.rows) for c in form.constraints}
        farkas = drawn if answer.multipliers is None or rng.random() < 0.5 else answer.multipliers
    if ray is None or rng.random() < 0.4:
        ray = form.split(rng.normal(size=form.n)) if answer.values is None or rng.random() < 0.5 else answer.values
    way = int(rng.integers(6))
    if way == 0:
        farkas, ray = None, None
    elif way == 1:
        farkas = {label: np.asarray(z) + size * rng.normal(size=np.shape(z)) for label, z in farkas.items()}
        ray = {label: np.asarray(d) + size * rng.normal(size=np.shape(d)) for label, d in ray.items()}
    elif way == 2:
        farkas, ray = {k: -np.asarray(z) for k, z in farkas.items()}, {k: -np.asarray(d) for k, d in ray.items()}
    elif way == 3:
        farkas, ray = {k: np.asarray(z) * size for k, z in farkas.items()}, {k: np.asarray(d) * size for k, d in ray.items()}
    elif way == 4:
        bad = (np.nan, np.inf, 1e300)[int(rng.integers(3))]
        farkas = {k: np.full(np.shape(z), bad) for k, z in farkas.items()}
        ray = {k: np.full(np.shape(d), bad) for k, d in ray.items()}
    values = answer.values if rng.random() < 0.5 else None
    return replace(answer, status=status, farkas=farkas, ray=ray, values=values)


def judged(number: int, answer: Answer, problem: Case, solver: str) -> str:
    """Return what is wrong with the judgement of one lie; empty where nothing is."""
    lie = lied(answer, problem.form, np.random.default_rng([number, 11]))
    result, fault = judgement(problem.model, solver, lie)
    if result is None:
        return fault
    if result.status is Status.OPTIMAL:
        return f"OPTIMAL of an answer that said {result.claim.status}"
    return wrong(result, problem)
