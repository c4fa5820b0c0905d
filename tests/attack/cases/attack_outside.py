"""Programs that gurobipy holds, files of the VIPR writer read by a checker, audits of scikit-learn's machines.

The truth of a program is `attack_answers.exact_optimum`, that of a machine the rational optimum of its dual on data in whole
numbers; a file proves what a checker that was written from the format's text finds in it.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attack_answers as answers
import numpy as np
import scipy.sparse as sp
from attack_doors import WILD
from families import Family, tried
from vipr_checker import WrongCertificateError, check

import marginopt as mo
from marginopt.models.program.cones import Nonnegative, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.exact import vipr_tree as relaxation
from marginopt.solvers.rational import solve_linear

LIMIT = 2.0


def _pick(rng: np.random.Generator, what: Any) -> Any:
    return what[int(rng.integers(len(what)))]


def _whole(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.integers(-3, 4, shape).astype(np.float64)


def drawn(rng: np.random.Generator, curved: bool, low: float = -2.0, high: float = 2.0) -> StandardForm:
    """A program in a box with whole numbers times a power of two: rows of every sense, some integers, min or max."""
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    scale = 2.0 ** int(rng.integers(-14, 15))
    R, sides = _whole(rng, (n, n)), rng.integers(-2, 3, m).astype(np.float64)
    rows = tuple(
        Constraint(
            f"row{i}", sp.csr_array(_whole(rng, (1, n))), -sides[i : i + 1], _pick(rng, (Nonnegative, Nonnegative, Zero))(1)
        )
        for i in range(m)
    )
    P = Quadratic(matrix=scale * (R.T @ R)) if curved else None
    integer = rng.random(n) < _pick(rng, (0.0, 0.5, 1.0))
    return StandardForm(
        "drawn", (Block("x", (n,)),), scale * _whole(rng, (n,)), rows, np.full(n, low), np.full(n, high), integer, P
    )


# -- gurobipy -------------------------------------------------------------------------------------------------------


def gurobi(rng: np.random.Generator) -> str:
    """A program put into gurobipy by hand, minimised or (signs turned) maximised, some with oddities; the optimum is rational."""
    import gurobipy as gp

    form, sign, wild = drawn(rng, bool(rng.random() < 0.5)), _pick(rng, (1.0, -1.0)), rng.random() < 0.3
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as m:
        kinds = [gp.GRB.INTEGER if whole else gp.GRB.CONTINUOUS for whole in form.integer]
        x = m.addMVar(form.n, lb=form.lower, ub=form.upper, vtype=kinds, name="x")
        square = 0.0 if form.quadratic is None else sign * 0.5 * (x @ form.quadratic.csc.toarray() @ x)
        m.setObjective(square + sign * (form.q @ x), gp.GRB.MINIMIZE if sign > 0 else gp.GRB.MAXIMIZE)
        for c in form.constraints:
            left = c.F.toarray()[0] @ x
            m.addConstr(left == -c.g[0] if isinstance(c.cone, Zero) else left >= -c.g[0])
        try:
            _pick(rng, _ODDITIES)(m, x, float(_pick(rng, WILD))) if wild else None
            m.update()
        except (gp.GurobiError, ValueError, TypeError, AttributeError):  # Gurobi's own refusal
            return ""
        result = mo.solve(mo.from_gurobi(m), _pick(rng, ("auto", "scip", "gurobi")), time_limit=LIMIT)
        str(result)
        result.into(m) if rng.random() < 0.3 else None
    if wild:
        return ""
    truth, sizes = answers.exact_optimum(form)
    return answers.wrong(result, answers.Case("gurobi", form, truth, (), *sizes))


def _sos(m: Any, x: Any, value: float) -> None:
    m.addSOS(1, x.tolist())


_ODDITIES: tuple[Callable[[Any, Any, float], Any], ...] = (
    _sos,
    lambda m, x, value: m.setAttr("ObjCon", value),
    lambda m, x, value: x[0].setAttr("LB", value),
    lambda m, x, value: x[0].setAttr("UB", value),
    lambda m, x, value: x[0].setAttr("Obj", value),
    lambda m, x, value: x[0].setAttr("VType", "S"),
    lambda m, x, value: m.addConstr(x @ x <= 1.0),
    lambda m, x, value: m.addConstr(x @ x >= 1.0),
    lambda m, x, value: m.addConstr(x @ x == 1.0),
    lambda m, x, value: m.addConstr(x[0] * x[-1] >= 1.0),
    lambda m, x, value: m.addConstr(x.sum() <= value),
    lambda m, x, value: m.addConstr(value * x[0] >= 1.0),
    lambda m, x, value: m.setObjective(x[0] * x[-1] * value),
    lambda m, x, value: m.remove(m.getVars()),
    lambda m, x, value: m.setObjectiveN(x[0], 1),
)


# -- VIPR -----------------------------------------------------------------------------------------------------------


def vipr(rng: np.random.Generator) -> str:
    """Mixed-integer programs proved; half of the time the relaxations' points, multipliers and emptiness are lies."""
    form = drawn(rng, curved=False, low=float(_pick(rng, (-2.0, 0.0))))
    held = relaxation.RelaxationSolver.solve
    share = _pick(rng, (0.0, 0.3, 1.0))
    try:
        relaxation.RelaxationSolver.solve = lambda self, low, high: _lie(held(self, low, high), rng, share)  # type: ignore[method-assign]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.vipr"
            certificate = mo.proofs.write_vipr(form, path, time_limit=LIMIT, node_limit=200)
            str(certificate)
            proved = check(path)
    except WrongCertificateError as error:
        return f"a file that proves nothing: {error}"
    finally:
        relaxation.RelaxationSolver.solve = held  # type: ignore[method-assign]
    truth, _ = answers.exact_optimum(form)
    if proved.infeasible != (certificate.bound is None) or (proved.lower is not None and proved.lower != certificate.bound):
        return f"the file proves {proved}, {certificate} was said"
    if truth is None:
        return "" if certificate.value is None else f"a point of value {certificate.value} in an empty set"
    if certificate.bound is None or certificate.bound > truth:
        return f"bound {certificate.bound} above the truth {truth}"
    if certificate.value is not None and certificate.value < truth:
        return f"value {certificate.value} below the truth {truth}"
    away = float((truth - certificate.bound) / max(1, abs(truth)))
    # a point whose thirds must meet an equation exactly is not looked for: then there is no value; another is
    # moved to where it meets all rows exactly
    right = away <= 1e-9 and (certificate.value is None or certificate.gap <= 1e-6)
    return "" if share or right else f"{certificate} without any lie, the truth is {truth}"


def _lie(node: relaxation.NodeRelaxation, rng: np.random.Generator, share: float) -> relaxation.NodeRelaxation:
    if rng.random() >= share:
        return node
    size = 10.0 ** rng.integers(-12, 3)
    y = node.y + size * rng.normal(size=node.y.shape)
    x = None if node.x is None else node.x + size * rng.normal(size=node.x.shape)
    others = ((x, node.y), (node.x, y), (x, y), (None, y), (np.zeros(node.x.size) if node.x is not None else None, -node.y))
    return relaxation.NodeRelaxation(*others[int(rng.integers(len(others)))])


# -- audits ---------------------------------------------------------------------------------------------------------


def audits(rng: np.random.Generator) -> str:
    """Machines on whole numbers, far away, scaled, with ties; fitted well, badly, or with other numbers written into them."""
    from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

    n, scale = int(rng.integers(2, 5)), 2.0 ** int(rng.integers(-20, 21))
    X = scale * (rng.integers(-2, 3, (n, 2)) + _pick(rng, (0.0, 0.0, 2.0**20, 2.0**26)))
    y = np.where(rng.random(n) < 0.5, 1, 2)
    C, tol = float(10.0 ** rng.integers(-6, 7)), _pick(rng, (1e-12, 1e-3, 1.0))
    kernel = _pick(rng, ("linear", "linear", "rbf", "poly", "sigmoid"))
    values = {"tol": tol, "max_iter": int(_pick(rng, (1, 100, 10_000)))}
    more = {"kernel": kernel, "gamma": float(_pick(rng, (1.0, scale**-2))), **values}
    machines = (
        SVC(C=C, **more), NuSVC(nu=0.5, **more), OneClassSVM(nu=0.5, **more),
        LinearSVC(C=C, loss=_pick(rng, ("hinge", "squared_hinge")), **values),
    )  # fmt: skip
    machine, w = _pick(rng, machines), rng.integers(0, 3, n).astype(float)
    weighted = {"sample_weight": w} if rng.random() < 0.3 and isinstance(machine, SVC | LinearSVC) else {}
    try:
        machine.fit(X, y, **weighted)
    except ValueError:  # scikit-learn's own refusal: one class, a ν that cannot be
        return ""
    if rng.random() < 0.3:
        _spoil(machine, rng)
    report = mo.audit(machine, X, y, **weighted)
    str(report)
    if report.condition or not np.isfinite(report.bound) or not np.isfinite(report.value):
        return ""
    if report.bound > report.value:
        return f"bound {report.bound!r} above the value {report.value!r}"
    if kernel != "linear" and not isinstance(machine, LinearSVC):
        return ""
    truth = _machine_optimum(machine, X, np.where(y == 2, 1.0, -1.0), weighted.get("sample_weight", np.ones(n)))
    if truth is not None and Fraction(report.bound) > truth:
        return f"bound {report.bound!r} above the truth {float(truth)!r}"
    if truth is not None and Fraction(report.value) < truth:
        return f"value {report.value!r} below the truth {float(truth)!r}"
    return ""


def _spoil(machine: Any, rng: np.random.Generator) -> None:
    """Other numbers in what the machine stores."""
    names = ("_dual_coef_", "dual_coef_", "intercept_", "_intercept_", "coef_", "offset_")
    name = _pick(rng, [name for name in names if name in vars(machine)])
    value = np.array(vars(machine)[name], dtype=np.float64)
    others = (value * rng.normal(size=value.shape), value * np.nan, value * 0.0, value + np.inf, -value, value * 1e200)
    setattr(machine, name, _pick(rng, others))


def _machine_optimum(machine: Any, X: Any, signs: Any, weights: Any) -> Fraction | None:
    """The optimum of a linear machine, from its dual, whose data are rational numbers."""
    from sklearn.svm import SVC, LinearSVC, OneClassSVM

    n = len(signs)
    if isinstance(machine, LinearSVC):
        c = machine.C * weights
        X = np.column_stack([X, np.ones(n)])
        A = signs[:, None] * X
        squared = machine.loss == "squared_hinge"
        if squared and (c == 0).any():
            return None
        P = _exact_products(A)
        if squared:
            for i in range(n):
                P[i][i] += 1 / (2 * Fraction(c[i]))
        return -_least(P, [Fraction(-1)] * n, [None if squared else Fraction(v) for v in c], [])
    if isinstance(machine, SVC):
        P = _exact_products(signs[:, None] * X)
        top, equation = [Fraction(v) for v in machine.C * weights], (list(map(Fraction, signs)), Fraction(0))
        return -_least(P, [Fraction(-1)] * n, top, [equation])
    one = isinstance(machine, OneClassSVM)
    computed = np.ones(n) if one else signs
    rows = [([Fraction(1)] * n, Fraction(machine.nu * n))] + ([] if one else [(list(map(Fraction, signs)), Fraction(0))])
    return -_least(_exact_products(computed[:, None] * X), [Fraction(0)] * n, [Fraction(1)] * n, rows)


def _exact_products(A: Any) -> list[list[Fraction]]:
    rows = [[Fraction(v) for v in row] for row in A.tolist()]
    return [[sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0)) for b in rows] for a in rows]


def _least(P: Any, q: Any, top: Any, rows: Any) -> Fraction:
    """min ½a'Pa + q'a over 0 ≤ a ≤ top on rows with equality: the least over all faces' stationary points."""
    n, best, zero = len(q), None, Fraction(0)
    for ends in itertools.product((0, 1, None), repeat=n):
        if any(end == 1 and t is None for end, t in zip(ends, top, strict=True)):
            continue
        held = [
            *rows,
            *(([Fraction(i == j) for i in range(n)], top[j] if ends[j] else zero) for j in range(n) if ends[j] is not None),
        ]
        system = [[*P[i], *(-row[i] for row, _ in held)] for i in range(n)]
        system += [[*row, *([zero] * len(held))] for row, _ in held]
        solution = solve_linear(system, [*(-v for v in q), *(side for _, side in held)])
        if solution is None or any(a < 0 or (t is not None and a > t) for a, t in zip(solution, top, strict=False)):
            continue
        a = solution[:n]
        value = sum((a[i] * (q[i] + sum((P[i][j] * a[j] for j in range(n)), Fraction(0)) / 2) for i in range(n)), Fraction(0))
        best = value if best is None else min(best, value)
    assert best is not None
    return best


FAMILIES: tuple[Family, ...] = (gurobi, vipr, audits)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 11, number)
