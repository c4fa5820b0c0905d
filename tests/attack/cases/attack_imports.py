"""Random programs in the languages of CVXPY, Pyomo, gurobipy, HiGHS and SciPy, solved there and here.

Those of CVXPY are DCP expressions as people write them: losses of margins with ``multiply``, maxima, absolute values, norms,
quadratic forms, sums, indices, parameters. CVXPY solves them by Clarabel, which takes no bounds of variables. Those of the others
are linear and convex quadratic programs, some with integers, solved by Gurobi from the package's own model; HiGHS and SciPy
(`attack_matrices`) solve theirs. Ours come through `from_cvxpy`, `from_pyomo`, `from_gurobi`, `from_highs`, `from_scipy`:

- an optimum is the same; infeasible is infeasible; a bound that is called proved is not above theirs;
- the import agrees with its source, which evaluates its own expressions;
- the answer goes back and is there what it is here; values that the variables had before change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attack_matrices as matrices
import numpy as np

import marginopt as mo
from marginopt.solvers import Status

#: Relative difference between the two optima that is a fault.
WRONG = 1e-4
PACKAGES = ("cvxpy", "pyomo", "gurobipy", "highspy", "scipy")


def attack(number: int, package: str) -> tuple[str, str]:
    """Return the name of a program, and its fault; empty where there is none."""
    rng = np.random.default_rng([number, PACKAGES.index(package)])
    name, truth, imported, back = _BUILD[package](rng)
    try:
        form = imported()
        result = mo.solve(form, time_limit=matrices.LIMIT)
        fault = compared(result, truth) or back(result)
    except Exception as error:  # noqa: BLE001 - nothing may escape: neither a foreign exception nor a refusal of ours
        fault = f"{type(error).__name__}: {error}"
    return f"{number}: {package}, {name}", fault


def compared(result: Any, truth: float) -> str:
    """Say how a result contradicts the other optimum, in the package's sense.

    ``inf``: there is no point; ``-inf``: no least (greatest) value; NaN: unknown.
    """
    if math.isnan(truth):
        return ""
    if "evaluates the program that was imported otherwise" in result.evidence:
        return f"the import disagrees: {result.evidence}"
    if math.isinf(truth):
        lacking, false = ("point", Status.UNBOUNDED) if truth > 0 else ("least value", Status.INFEASIBLE)
        claims = result.status in (Status.OPTIMAL, false)
        return f"{result.status.value} at {result.objective}: the program has no {lacking}" if claims else ""
    if result.status is Status.UNBOUNDED and result.evidence.startswith("proved"):
        return ""  # an exact ray from an exact point: the other optimum is none
    if result.status is Status.UNBOUNDED:
        return f"unbounded ({result.evidence}): the optimum is {truth}"
    allowed = WRONG * max(1.0, abs(truth))
    if result.status is Status.INFEASIBLE:
        return f"infeasible ({result.evidence}): {truth} is attained"
    if result.bound_kind == "proved" and result.sign * (result.bound - truth) > allowed:
        return f"bound {result.bound} is proved: {truth} is attained"
    if result.status is Status.OPTIMAL and abs(result.objective - truth) > allowed:
        return f"optimal at {result.objective}: there {truth}"
    return ""


# -- CVXPY --------------------------------------------------------------------------------------------------------------


def _affine(rng: np.random.Generator, cp: Any, x: Any, size: int) -> tuple[str, Any]:
    """A vector of affine expressions, most of them of a kind that people write for margins."""
    n = x.shape[0]
    A, b, y = rng.normal(size=(size, n)).round(2), rng.normal(size=size).round(2), rng.choice([-1.0, 1.0], size=size)
    kind = rng.choice(["margins", "margins", "margins", "affine", "parameter", "indices", "shift"])
    if kind == "margins":
        return "margins", cp.multiply(y, A @ x + (b if rng.random() < 0.5 else 0.0))
    if kind == "parameter":
        p = cp.Parameter(size, value=rng.normal(size=size).round(2))
        return "parameter", cp.multiply(p, A @ x) if rng.random() < 0.5 else A @ x + p
    if kind == "indices":
        return "indices", cp.hstack([x[int(i)] * float(v) for i, v in zip(rng.integers(0, n, size), b, strict=True)])
    if kind == "shift":
        return "shift", A @ (x - rng.normal(size=n).round(2))
    return "affine", A @ x + b


def _atom(rng: np.random.Generator, cp: Any, x: Any) -> tuple[str, Any]:
    """A convex scalar."""
    size = int(rng.integers(2, 6))
    inner, v = _affine(rng, cp, x, size)
    kind = str(
        rng.choice(["hinge", "hinge", "maximum", "abs", "norm1", "norm2", "inf", "squares", "form", "huber", "max", "square"])
    )
    if kind == "hinge":
        return f"hinge of {inner}", cp.sum(cp.pos(1 - v))
    if kind == "maximum":
        return f"maximum of {inner}", cp.sum(cp.maximum(0.3 * v, v - 0.5, -0.2))
    if kind == "abs":
        return f"abs of {inner}", cp.sum(cp.abs(v - 1))
    if kind == "norm1":
        return f"norm1 of {inner}", cp.norm(v, 1)
    if kind == "norm2":
        return f"norm2 of {inner}", cp.norm(v, 2)
    if kind == "inf":
        return f"norm inf of {inner}", cp.norm(v, "inf")
    if kind == "squares":
        return f"squares of {inner}", cp.sum_squares(v)
    if kind == "form":
        R = rng.normal(size=(size, size)).round(1)
        return f"quad_form of {inner}", cp.quad_form(v, cp.psd_wrap(R.T @ R))
    if kind == "huber":
        return f"huber of {inner}", cp.sum(cp.huber(cp.pos(1 - v), 0.5))
    if kind == "square":
        return f"squared hinge of {inner}", cp.sum(cp.square(cp.pos(1 - v)))
    return f"max of {inner}", cp.max(v)


def _variable(rng: np.random.Generator, cp: Any) -> Any:
    n = int(rng.integers(2, 5))
    kind = rng.choice(["free", "free", "free", "nonneg", "bounds", "nonpos"])
    extra: dict[str, Any] = {"nonneg": {"nonneg": True}, "nonpos": {"nonpos": True}, "bounds": {"bounds": [-2.0, 1.5]}}.get(
        kind, {}
    )
    return cp.Variable(n, name="x", **extra)


def _cvxpy(rng: np.random.Generator) -> tuple[str, float, Callable[[], Any], Callable[[Any], str]]:
    import cvxpy as cp

    x = _variable(rng, cp)
    names, terms = zip(*(_atom(rng, cp, x) for _ in range(int(rng.integers(1, 4)))), strict=True)
    cost = sum(float(rng.uniform(0.2, 2.0)) * term for term in terms) + float(rng.uniform(0.05, 0.5)) * cp.sum_squares(x)
    rows = []
    for _ in range(int(rng.integers(0, 3))):
        inner, term = _atom(rng, cp, x)
        names = (*names, f"{inner} as a row")
        rows.append(term <= float(rng.uniform(0.2, 8.0)))
    if rng.random() < 0.2:
        rows.append(cp.sum(x) == 0.5)
    problem = cp.Problem(cp.Maximize(-cost) if rng.random() < 0.3 else cp.Minimize(cost), rows)
    truth = _by_clarabel(problem)
    if rng.random() < 0.5:
        x.value = None

    def back(result: Any) -> str:
        before = result.status
        status = result.into(problem)
        if (
            before is Status.OPTIMAL
            and status == "optimal"
            and abs(problem.value - result.objective) > WRONG * max(1.0, abs(truth))
        ):
            return f"value {problem.value} there: {result.objective} here"
        return ""

    return ", ".join(names), truth, lambda: mo.from_cvxpy(problem), back


def _by_clarabel(problem: Any) -> float:
    """CVXPY's optimum; infinite where there is no point, NaN where it is not sure."""
    import cvxpy as cp

    try:
        problem.solve(solver="CLARABEL")
    except cp.error.SolverError:
        return math.nan
    if problem.status == "optimal":
        return float(problem.value)
    return math.inf if problem.status == "infeasible" else math.nan


# -- Pyomo and gurobipy ---------------------------------------------------------------------------------------------------


class _Numbers:
    """A convex program with rows of three senses, ranges, some integers, some squares: what both languages write."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.n, self.m = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        self.A = np.where(rng.random((self.m, self.n)) < 0.7, rng.integers(-4, 5, (self.m, self.n)), 0).astype(float)
        inside = rng.integers(-2, 3, self.n).astype(float)
        away = np.where(rng.random() < 0.1, -6.0, rng.integers(0, 4, self.m))
        self.senses = rng.choice(["<", ">", "=", "range"], self.m, p=[0.4, 0.3, 0.15, 0.15])
        level = self.A @ inside
        self.low = np.where(self.senses == "<", -np.inf, np.where(self.senses == "=", level, level - away))
        self.high = np.where(self.senses == ">", np.inf, np.where(self.senses == "=", level, level + away))
        self.senses = np.where((self.senses == "range") & (self.low >= self.high), "=", self.senses)
        self.high = np.where(self.senses == "=", self.low, self.high)
        self.lower, self.upper = np.full(self.n, -3.0), np.full(self.n, 3.0)
        self.integer = rng.random(self.n) < (0.4 if rng.random() < 0.4 else 0.0)
        self.c, self.constant = rng.integers(-5, 6, self.n).astype(float), float(rng.integers(-3, 4))
        quadratic = rng.random() < 0.4 and not self.integer.any()
        R = rng.integers(-2, 3, (self.n, self.n)).astype(float) if quadratic else np.zeros((self.n, self.n))
        self.P = R.T @ R
        self.maximise = bool(rng.random() < 0.4)
        self.ball = float(rng.uniform(4, 20)) if rng.random() < 0.25 and not self.integer.any() else 0.0
        kinds = [f"{self.n} variables", *np.unique(self.senses).tolist()]
        self.name = " ".join(
            [*kinds, *["integers"] * bool(self.integer.any()), *["squares"] * quadratic, *["ball"] * bool(self.ball)]
        )

    def cost(self, x: Sequence[Any]) -> Any:
        """The objective as an expression; turned round where it is maximised."""
        sign = -1.0 if self.maximise else 1.0
        linear = sum(float(sign * v) * x[j] for j, v in enumerate(self.c)) + sign * self.constant
        pairs = [(i, j) for i in range(self.n) for j in range(self.n) if self.P[i, j]]
        return linear + sum((float(0.5 * sign * self.P[i, j]) * x[i] * x[j] for i, j in pairs), 0.0)

    def rows(self, x: Sequence[Any]) -> list[Any]:
        """A x, row by row; 0 x where a row has no terms."""
        return [sum(float(v) * x[j] for j, v in enumerate(row) if v or j == 0) for row in self.A]


def pyomo_model(rng: np.random.Generator) -> tuple[str, Any]:
    """Return a Pyomo model, whose objective is a named expression, and what is in it."""
    import pyomo.environ as pyo

    p = _Numbers(rng)
    m = pyo.ConcreteModel("random")
    m.I = pyo.RangeSet(0, p.n - 1)
    m.x = pyo.Var(m.I, bounds=(-3, 3), domain=lambda m, i: pyo.Integers if p.integer[i] else pyo.Reals)
    m.rows = pyo.ConstraintList()
    m.weight = pyo.Param(initialize=1.0, mutable=True)
    x = [m.x[i] for i in range(p.n)]
    for body, sense, low, high in zip(p.rows(x), p.senses, p.low.tolist(), p.high.tolist(), strict=True):
        m.rows.add(_stated(body, sense, low, high))
    if p.ball:
        m.ball = pyo.Constraint(expr=sum(v * v for v in x) * m.weight <= p.ball)
    m.cost = pyo.Expression(expr=p.cost(x))
    m.goal = pyo.Objective(expr=m.weight * m.cost, sense=pyo.maximize if p.maximise else pyo.minimize)
    return p.name, m


def _pyomo(rng: np.random.Generator) -> tuple[str, float, Callable[[], Any], Callable[[Any], str]]:
    import pyomo.environ as pyo

    name, m = pyomo_model(rng)
    truth = _by_pyomo(m)

    def back(result: Any) -> str:
        result.into(m)
        value = pyo.value(m.goal, exception=False)
        if result.status is Status.OPTIMAL and abs(value - result.objective) > WRONG * max(1.0, abs(truth)):
            return f"value {value} there: {result.objective} here"
        return ""

    return name, truth, lambda: mo.from_pyomo(m), back


def _stated(body: Any, sense: str, low: float, high: float) -> Any:
    """A row in Pyomo's language."""
    if sense == "range":
        return (low, body, high)
    return body == low if sense == "=" else body <= high if sense == "<" else body >= low


def _by_pyomo(m: Any) -> float:
    """The optimum by Pyomo's own interface to Gurobi; infinite where there is no point, NaN where it is not sure."""
    import pyomo.environ as pyo
    from pyomo.opt import TerminationCondition

    answer = pyo.SolverFactory("gurobi_direct").solve(m, load_solutions=False)
    if answer.solver.termination_condition == TerminationCondition.optimal:
        m.solutions.load_from(answer)
        for v in m.x.values():  # a variable that occurs nowhere is not sent to a solver
            v.set_value(0.0 if v.value is None else v.value)
        return float(pyo.value(m.goal))
    return math.inf if answer.solver.termination_condition == TerminationCondition.infeasible else math.nan


def _gurobipy(rng: np.random.Generator) -> tuple[str, float, Callable[[], Any], Callable[[Any], str]]:
    import gurobipy as gp

    p = _Numbers(rng)
    m = gp.Model("random", env=matrices.environment())
    x = [m.addVar(lb=-3, ub=3, vtype="I" if p.integer[j] else "C", name=f"x[{j}]") for j in range(p.n)]
    for i, (body, sense, low, high) in enumerate(zip(p.rows(x), p.senses, p.low.tolist(), p.high.tolist(), strict=True)):
        if sense == "range":
            m.addRange(body, low, high, name=f"row[{i}]")
        else:
            m.addLConstr(body, sense, low if sense != "<" else high, name=f"row[{i}]")
    if p.ball:
        m.addConstr(gp.quicksum(v * v for v in x) <= p.ball, name="ball")
    m.setObjective(p.cost(x), gp.GRB.MAXIMIZE if p.maximise else gp.GRB.MINIMIZE)
    m.optimize()
    truth = m.ObjVal if m.Status == gp.GRB.OPTIMAL else math.inf if m.Status == gp.GRB.INFEASIBLE else math.nan

    def back(result: Any) -> str:
        result.into(m)
        return ""

    return p.name, truth, lambda: mo.from_gurobi(m), back


_BUILD = {
    "cvxpy": _cvxpy,
    "pyomo": _pyomo,
    "gurobipy": _gurobipy,
    "highspy": matrices.highspy,
    "scipy": matrices.scipy,
}
