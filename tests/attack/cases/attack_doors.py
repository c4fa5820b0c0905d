"""Attacks on the other ways in: other libraries' problems, rows on disk, checkpoints, depths, proofs, reports, kernels of parts.

Whatever the numbers are (NaN, infinities, 1e308, empty, of other types and shapes, not convex), an answer or one of our own
errors comes back; depths and proved optima are right.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from families import Family, tried

import marginopt as mo
from marginopt import margin

WILD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e20, -1e25, 0.0)
ODD: tuple[Any, ...] = (None, "x", [], [[]], np.nan, 1j, True, (), {}, np.zeros((0, 0)), [None], [["a"]], object(), -1)
LIMIT = 2.0


def _pick(rng: np.random.Generator, what: Any) -> Any:
    return what[int(rng.integers(len(what)))]


def _wild(rng: np.random.Generator, shape: tuple[int, ...], share: float = 0.1) -> Any:
    """Small whole numbers, some of them wild, in an array or in lists."""
    a = rng.integers(-3, 4, shape).astype(np.float64)
    a = np.where(rng.random(shape) < share * (rng.random() < 0.6), rng.choice(WILD, shape), a)
    return a.tolist() if rng.random() < 0.2 else a


def _spoilt(rng: np.random.Generator, arguments: dict[str, Any], chance: float = 0.3) -> dict[str, Any]:
    """The arguments, now and then one of them replaced by something else."""
    if arguments and rng.random() < chance:
        arguments[_pick(rng, sorted(arguments))] = _pick(rng, ODD)
    return arguments


def _solved(form: Any) -> str:
    result = mo.solve(form, "auto", time_limit=LIMIT)
    str(result)
    return ""


def scipy(rng: np.random.Generator) -> str:
    """Arguments of ``linprog`` and ``milp``."""
    n, m = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    values = {"A_ub": _wild(rng, (m, n)), "b_ub": _wild(rng, (m,)), "bounds": _wild(rng, (n, 2), 0.4)}
    if rng.random() < 0.4:
        values |= {"A_eq": _wild(rng, (1, n)), "b_eq": _wild(rng, (1,)), "integrality": rng.integers(0, 4, n)}
    return _solved(mo.from_scipy(_wild(rng, (n,)), **_spoilt(rng, values)))


def cvxpy(rng: np.random.Generator) -> str:
    """Problems that are not convex, of constants that are wild, of no variable, unbounded and empty ones."""
    import cvxpy as cp

    n = int(rng.integers(1, 4))
    x = cp.Variable(n, integer=bool(rng.random() < 0.2))
    a, B = np.asarray(_wild(rng, (n,)), dtype=float), np.asarray(_wild(rng, (n, n)), dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            curved = (cp.sum_squares(B @ x) + a @ x, cp.sqrt(x[0]), cp.quad_form(x, B), cp.log_det(cp.diag(x)))
            objectives = (a @ x, cp.norm1(x), *curved)
            rows = [B @ x <= a, cp.norm(x) <= float(a[0]), x[0] * x[-1] >= 1, x >= a, cp.sum(x) == float(a[0])]
            problem = cp.Problem(_pick(rng, (cp.Minimize, cp.Maximize))(_pick(rng, objectives)), [_pick(rng, rows)])
        except Exception:  # noqa: BLE001 - CVXPY's own refusal of what it is given
            return ""
        return _solved(mo.from_cvxpy(problem))


def pyomo(rng: np.random.Generator) -> str:
    """Models with expressions that are not linear, no objective, several, empty."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    n = int(rng.integers(0, 3))
    low, high = (float(_pick(rng, (*WILD, 1.0))) for _ in range(2))
    try:
        model.x = pyo.Var(range(n), bounds=(None if low != low else low, None if high != high else high))
        terms = [float(_pick(rng, (*WILD, 1.0, 2.0))) * model.x[i] for i in range(n)]
        if rng.random() < 0.8:
            nonlinear = n > 0 and rng.random() < 0.3
            model.cost = pyo.Objective(expr=sum(terms) + (pyo.exp(model.x[0]) if nonlinear else 0.0))
        if n and rng.random() < 0.5:
            model.row = pyo.Constraint(expr=_pick(rng, (model.x[0] ** 2, sum(terms), model.x[0] * model.x[n - 1])) <= 1.0)
    except Exception:  # noqa: BLE001 - Pyomo's own refusal
        return ""
    return _solved(mo.from_pyomo(model))


def highs(rng: np.random.Generator) -> str:
    """Models of HiGHS, and things that are none."""
    import highspy

    h = highspy.Highs()
    h.silent()
    n = int(rng.integers(0, 4))
    for _ in range(n):
        low, high, cost = (float(_pick(rng, (*WILD, 1.0, -1.0))) for _ in range(3))
        h.addVar(low, high)
        h.changeColCost(h.getNumCol() - 1, cost) if h.getNumCol() else None
    k = h.getNumCol()
    if k:
        h.addRow(float(_pick(rng, WILD)), 3.0, k, np.arange(k, dtype=np.int32), np.ones(k))
    return _solved(mo.from_highs(h if rng.random() < 0.9 else _pick(rng, ODD)))


def depth(rng: np.random.Generator) -> str:
    """Depths beside every direction of the plane; wild points."""
    n, d = int(rng.integers(0, 8)), int(rng.integers(0, 4))
    if rng.random() < 0.5:
        arguments = _spoilt(rng, {"X": _wild(rng, (n, d)), "z": _wild(rng, (d,))})
        mo.halfspace_depth(arguments["X"], arguments["z"], time_limit=LIMIT)
        return ""
    X, z = rng.integers(-2, 3, (n + 1, 2)), rng.integers(-2, 3, 2)
    rows = (X - z).tolist()
    normals = [(-b, a) for a, b in rows] + [(b, -a) for a, b in rows] + [(1, 0)]
    near = [(100 * u + s * p, 100 * v + s * q) for (u, v), (p, q), s in itertools.product(normals, rows, (-1, 1))]
    least = min(sum(u * a + v * b >= 0 for a, b in rows) for u, v in [*normals, *near] if (u, v) != (0, 0))
    result = mo.halfspace_depth(X, z).depth
    return "" if result == least else f"depth {result}, a direction has {least} points"


def vipr(rng: np.random.Generator) -> str:
    """Programs of any kind are proved, or refused; the optimum is that of enumeration."""
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    A, b, c = (rng.integers(low, 6, shape).astype(float) for low, shape in ((-3, (m, n)), (-2, (m,)), (-3, (n,))))
    wild = rng.random() < 0.4
    bounds = _wild(rng, (n, 2), 0.4) if wild else np.tile([-2.0, 2.0], (n, 1))
    form = mo.from_scipy(_wild(rng, (n,)) if wild else c, A_ub=A, b_ub=b, bounds=bounds, integrality=np.ones(n, dtype=int))
    with tempfile.TemporaryDirectory() as folder:
        proof = mo.proofs.write_vipr(form, Path(folder) / "p.vipr", time_limit=LIMIT, node_limit=2000)
        str(proof)
    if wild:
        return ""
    points = [v for v in itertools.product(range(-2, 3), repeat=n) if (A @ v <= b).all()]
    least = min((Fraction(float(c @ v)) for v in points), default=None)
    if least is not None and proof.bound is not None and Fraction(proof.bound) > least:
        return f"bound {proof.bound} above the optimum {least}"
    return ""


def kernels(rng: np.random.Generator) -> str:
    """Compositions with a kernel, on odd data and parameters."""
    n = int(rng.integers(1, 7))
    X, y = np.asarray(_wild(rng, (n, 2), 0.05)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    sizes = (1e-9, 1.0, 1e9)
    kernel = _pick(rng, (mo.RBF(_pick(rng, sizes)), mo.Linear(), mo.Polynomial(2), np.asarray(_wild(rng, (n, n))), "x", 3))
    losses = (margin.Hinge(), margin.SquaredHinge(), margin.NuHinge(0.5), margin.ZeroOne(), margin.Ramp(2.0, 2.0), "ball")
    loss = _pick(rng, losses)
    values = {"regulariser": margin.SquaredNorm(_pick(rng, sizes)), "sample_weight": _pick(rng, (0.0, 1.0, 1e9))}
    return _solved(mo.Margin(X, y, loss, kernel=kernel, **_spoilt(rng, values)))


def reports(rng: np.random.Generator) -> str:
    """Gap reports and relaxations of wild models."""
    n = int(rng.integers(1, 6))
    X, y = np.asarray(_wild(rng, (n, 2), 0.1)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    model = _pick(rng, (mo.ZeroOneSVM, mo.RampSVM))(X, y, lam=_pick(rng, (1e-9, 1.0, 1e9)))
    if rng.random() < 0.5:
        problems = _pick(rng, ([model], [model], [model], {"a": model}, model))
        str(mo.gap_report(problems, **_spoilt(rng, {"time_limit": 1.0, "progress": False}, 0.1)))
        return ""
    import marginopt.relaxations as rx

    str(rx.relax(model, _pick(rng, (rx.Conic(), rx.Lagrangian(), "big-m", 3, None))))
    return ""


def rows_on_disk(rng: np.random.Generator) -> str:
    """Files of rows that are cut, spoilt, of other shapes and types; and what is solved on them."""
    n, p = int(rng.integers(0, 30)), int(rng.integers(0, 4))
    X, y = np.asarray(_wild(rng, (n, p), 0.02), dtype=float), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _pick(rng, ("a.npz", "a.svm", "a.npy", "a.parquet", "a.txt"))
        if path.suffix == ".npz":
            np.savez(path, X=X, y=y if rng.random() < 0.8 else X)
        elif path.suffix == ".npy":
            np.save(path, X if rng.random() < 0.8 else X.ravel())
        else:
            cells = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row in X.tolist()]
            path.write_text("\n".join(f"{label:g} {row}" for label, row in zip(y, cells, strict=True)))
        data = bytearray(path.read_bytes())
        if rng.random() < 0.5 and data:
            cut = int(rng.integers(len(data)))
            junk = bytes(rng.integers(0, 256, 3, dtype=np.uint8))
            data = data[:cut] if rng.random() < 0.5 else data[:cut] + junk + data[cut + 3 :]
            path.write_bytes(bytes(data))
        opened = mo.instances.open_rows(path, **_spoilt(rng, {"intercept": True}, 0.1))
        mo.solve(mo.HingeSVM(opened.X, opened.y, lam=1.0), "linear-newton", time_limit=LIMIT)
    return ""


def checkpoints(rng: np.random.Generator) -> str:
    """Checkpoints that are cut, edited, of another problem or none at all."""
    X = np.column_stack([np.ones(12), np.random.default_rng(0).normal(size=(12, 2))])
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.npz"
        mo.solve(mo.ZeroOneSVM(X, y, lam=1.0), "zero-one-bb", node_limit=3, checkpoint=str(path))
        data = bytearray(path.read_bytes()) if path.exists() else bytearray(b"x")
        how = int(rng.integers(4))
        at = int(rng.integers(len(data)))
        if how == 0:
            data = data[:at]
        elif how == 1:
            data[at] ^= 1 << int(rng.integers(8))
        elif how == 2:
            data = bytearray(rng.integers(0, 256, 100, dtype=np.uint8).tobytes())
        path.write_bytes(bytes(data))
        model = mo.ZeroOneSVM(X, y if how != 3 else -y * y, lam=1.0 if rng.random() < 0.5 else 1.0 + 1e-9)
        result = mo.solve(model, "zero-one-bb", checkpoint=str(path), time_limit=LIMIT)
    truth = mo.solve(model, "zero-one-bb", time_limit=LIMIT)
    if result.solved and abs(result.objective - truth.objective) > 1e-6 * (1 + abs(truth.objective)):
        return f"{result.objective!r} from a spoilt checkpoint, {truth.objective!r} without"
    return ""


FAMILIES: tuple[Family, ...] = (
    scipy, cvxpy, pyomo, highs, depth, vipr, kernels, reports, rows_on_disk, checkpoints,
)  # fmt: skip


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 5, number)
