"""Models, compositions, changes, sources and estimators on small odd data in every kind of array, beside a second answer.

Data are small multiples of 1/2, times a power of ten now and then: duplicates, constant columns, one class, one point, no
feature, weights of zero. They come as lists, read-only, strided, float32, whole numbers, sparse with explicit zeros, pandas:

- a bound that is called proved is not above the optimum, nor above a point that another solver found;
- OPTIMAL stands at the optimum, to the tolerance; INFEASIBLE and UNBOUNDED of such models are not called proved;
- what is given is not written to; nothing but our own errors escapes; a limit of two seconds is kept.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import attack_answers as exact
import numpy as np
import scipy.sparse as sp

import marginopt as mo
from marginopt import margin
from marginopt.errors import MarginoptError
from marginopt.models import StandardForm
from marginopt.solvers import Status

#: Relative difference from the truth at which OPTIMAL is called wrong, and seconds of the limit that every solve is given.
WRONG, LIMIT = 1e-4, 2.0
#: Systems of equations up to which the optimum is found in rational arithmetic: faces of the set, times the choices of integers.
_SYSTEMS = 600


@dataclass
class Given:
    """Points as they are handed over, and as they are."""

    X: Any
    y: Any
    plain: np.ndarray
    labels: np.ndarray
    original: list[Any] = field(default_factory=list)

    def untouched(self) -> bool:
        """Return whether nothing was written to what was handed over."""
        return _bytes(self.X) == self.original[0] and _bytes(self.y) == self.original[1]


def _bytes(value: Any) -> Any:
    if sp.issparse(value):
        return value.data.tobytes(), value.indices.tobytes(), value.indptr.tobytes()
    if isinstance(value, list):
        return repr(value)
    return np.asarray(value).tobytes()


def _strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros(tuple(2 * k for k in a.shape))
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def _read_only(a: np.ndarray) -> np.ndarray:
    b = a.copy()
    b.flags.writeable = False
    return b


def _sparse(a: np.ndarray) -> Any:
    """Every entry is stored, zeros too."""
    n, p = a.shape
    return sp.csr_array((a.ravel().copy(), np.tile(np.arange(p), n), np.arange(0, n * p + 1, p)), shape=(n, p))


def _frame(a: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(a) if a.ndim == 2 else pd.Series(a)


def _whole(a: np.ndarray) -> np.ndarray:
    return a.astype(np.int32) if (a == np.rint(a)).all() and np.abs(a).max(initial=0.0) < 2e9 else a


KINDS: tuple[Callable[[np.ndarray], Any], ...] = (
    lambda a: a, _read_only, _strided, np.asfortranarray, _whole, lambda a: a.tolist(), _frame,
    lambda a: a.astype(np.float32) if np.abs(a).max(initial=0.0) < 1e30 else a,
    lambda a: a[::-1][::-1],
)  # fmt: skip


def drawn(rng: np.random.Generator, n: int, p: int, *, ones: bool = True, whole: bool = False) -> Given:
    """Points and labels, odd in some way, in some kind of array."""
    X = rng.integers(-3, 4, (n, p)).astype(np.float64) if whole else rng.integers(-6, 7, (n, p)) / 2.0
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    oddity = int(rng.integers(12))
    if oddity == 0 and n > 1:
        X[1:] = X[0]
    elif oddity == 1 and p:
        X[:, 0] = 2.0
    elif oddity == 2:
        y[:] = 1.0
    elif oddity == 3 and n > 1:
        X[-1], y[-1] = X[0], -y[0]
    elif oddity == 4:
        X[:] = 0.0
    elif oddity == 5 and not whole:
        X *= (1e-150, 1e150, 5e-324, 1e-8, 1e8, 1e15)[int(rng.integers(6))]
    elif oddity == 6 and X.size and rng.random() < 0.3:
        X.flat[int(rng.integers(X.size))] = (np.nan, np.inf, -np.inf)[int(rng.integers(3))]
    plain = np.column_stack([np.ones(n), X]) if ones else X
    sparse = rng.random() < 0.15
    with np.errstate(all="ignore"):
        vector = _sparse(plain) if sparse else KINDS[int(rng.integers(len(KINDS)))](plain)
        labels = KINDS[int(rng.integers(len(KINDS)))](y)
    if isinstance(vector, np.ndarray) and vector.dtype == np.float32:
        plain = vector.astype(np.float64)
    return Given(vector, labels, plain, y, [_bytes(vector), _bytes(labels)])


# -- truths -------------------------------------------------------------------------------------------------------------


def small(form: StandardForm) -> bool:
    """Return whether the optimum of a form is found in rational arithmetic soon."""
    linear = all(c.cone.symbol in ("Zero", "Nonnegative") for c in form.constraints)
    rows = form.rows + int(np.isfinite(form.lower).sum() + np.isfinite(form.upper).sum())
    whole = form.integer
    boxed = bool(np.isfinite(form.lower[whole]).all() and np.isfinite(form.upper[whole]).all())
    if not linear or not boxed:
        return False
    choices, free = float(np.prod((form.upper - form.lower)[whole] + 1.0)), int(form.n - whole.sum())
    sides = rows - 2 * int(whole.sum())
    return choices * sum(math.comb(sides, k) for k in range(free + 1)) <= _SYSTEMS


def scoring_truth(model: mo.ScoringSystem, problem: Given, weights: np.ndarray) -> Fraction:
    """Every system of points, counted in fractions; prices and bounds as the model states them."""
    price, size = model.prices
    (low, high), t = model.intercept_bounds, Fraction(model.threshold)
    d, most = problem.plain.shape[1] - 1, model.max_features
    rows = [[Fraction(v) for v in row[1:]] for row in problem.plain.tolist()]
    best = None
    for rho in itertools.product(*(range(a, b + 1) for a, b in zip(*model.coefficients, strict=True))):
        used = sum(r != 0 for r in rho)
        if most is not None and used > most:
            continue
        scores = [sum((r * x for r, x in zip(rho, row, strict=True)), Fraction(0)) for row in rows]
        direct = price * used + size * sum(map(abs, rho))
        for b in range(low, high + 1):
            wrong = [int(label) * (b + s) < t for label, s in zip(problem.labels, scores, strict=True)]
            value = direct + sum((Fraction(c) for c, w in zip(weights.tolist(), wrong, strict=True) if w), Fraction(0))
            best = value if best is None or value < best else best
    assert best is not None and d >= 0
    return best


def compared(result: mo.Result, truth: Fraction | None, other: mo.Result | None = None) -> str:
    """Return what the result claims that the truth, or another solver's point, does not allow; empty where nothing is."""
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED) and "proved: " in result.evidence and truth is not None:
        return f"{result.status} called proved, and an optimum exists"
    bound, proved = float(result.sign * result.bound), str(result.bound_kind) == "proved"
    if truth is not None:
        if proved and np.isfinite(bound) and Fraction(bound) > truth:
            return f"bound {bound!r} called proved above the truth {float(truth)!r}"
        if result.status is Status.OPTIMAL and exact.ZERO_OPTIMUM not in result.evidence:
            value = Fraction(float(result.sign * result.objective))
            if value > truth + Fraction(WRONG) * max(abs(truth), Fraction(1, 10**9)):
                return f"OPTIMAL at {float(value)!r}, the truth is {float(truth)!r}"
    if other is not None and other.certificate is not None and other.certificate.feasible(1e-9) and _has_whole_integers(other):
        point = float(other.sign * other.objective)
        # the point may violate its rows by 1e-9, and multipliers of a hundred make 1e-7 of that
        if proved and bound > point + 1e-7 * max(1.0, abs(point), other.certificate.scale):
            return f"bound {bound!r} called proved above {point!r}, a point of {other.solver}"
    return ""


# -- families: (what, what is wrong) -----------------------------------------------------------------------------------


def _has_whole_integers(result: mo.Result) -> bool:
    """Return whether the integers of a result's point are whole: data of 1e15 make a unit of an error of 1e-15."""
    return result.certificate is not None and result.certificate.integrality in (None, 0.0)


def _solved(model: mo.Model | StandardForm, solver: str) -> mo.Result:
    begin = time.process_time()
    result = mo.solve(model, solver, time_limit=LIMIT)
    spent = time.process_time() - begin - result.answer.compile_seconds
    assert spent <= 1.1 * LIMIT + 0.5, f"hangs: {spent:.1f} s by {solver}"
    return result


def _both(model: mo.Model, first: str, second: str, form: StandardForm | None = None) -> str:
    """The first solver's claim beside the exact optimum where that is to be had, else beside the second solver's point."""
    form = model.form if form is None else form
    result = _solved(model, first)
    str(result)
    if small(form) and result.status is not Status.UNBOUNDED:  # the least of stationary points is no truth of those
        return compared(result, exact.exact_optimum(form)[0])
    return compared(result, None, _solved(model, second))


def _pick(rng: np.random.Generator, *what: Any) -> Any:
    return what[int(rng.integers(len(what)))]


def scoring(rng: np.random.Generator) -> tuple[str, str]:
    """`ScoringSystem` by its own solver and by mixed-integer ones, beside every system of points."""
    g = drawn(rng, int(rng.integers(1, 6)), int(rng.integers(0, 3)), whole=bool(rng.random() < 0.6))
    weights = rng.integers(0, 3, g.labels.size).astype(float) if rng.random() < 0.3 else np.ones(g.labels.size)
    solver = _pick(rng, "supports-bb", "supports-bb", "auto", "scip", "highs")
    what = f"scoring by {solver}"
    model = mo.ScoringSystem(
        g.X, g.y, coefficients=(-2, 2), C0=_pick(rng, 0.0, 0.01, 0.3, 1e-9, 1e9), max_features=_pick(rng, None, None, 0, 1),
        sample_weight=weights, epsilon=_pick(rng, 0.001, 1.0, 1e-12), intercept_range=_pick(rng, None, (-3, 3), (2, 2)),
    )  # fmt: skip
    fault = ""
    if model.intercept_bounds[1] - model.intercept_bounds[0] <= 80:
        fault = compared(_solved(model, solver), scoring_truth(model, g, weights))
    else:
        str(_solved(model, solver))
    return what, fault or _written(g)


def ramp(rng: np.random.Generator) -> tuple[str, str]:
    """`RampSVM` and ramps of other heights, by boxes and by mixed-integer solvers."""
    g = drawn(rng, int(rng.integers(1, 4)), int(rng.integers(0, 2)))
    first, second = _pick(rng, ("margin-bb", "scip"), ("auto", "margin-bb"), ("scip", "margin-bb"))
    lam = _pick(rng, 1.0, 0.1, 10.0, 1e-6, 1e6)
    model: mo.Model = mo.RampSVM(g.X, g.y, lam=lam) if rng.random() < 0.6 else mo.Margin(g.X, g.y, "ramp", sample_weight=lam)
    return f"ramp by {first}", _both(model, first, second) or _written(g)


def zero_one(rng: np.random.Generator) -> tuple[str, str]:
    """`ZeroOneSVM`, with kernels as well."""
    g = drawn(rng, int(rng.integers(1, 4)), int(rng.integers(0, 2)))
    first, second = _pick(rng, ("zero-one-bb", "scip"), ("auto", "scip"), ("scip", "zero-one-bb"))
    kernel = _pick(rng, None, None, mo.RBF(0.5), mo.Polynomial(2, 1.0, 1.0))
    lam = _pick(rng, 1.0, 0.1, 10.0, 1e-6, 1e6)
    if kernel is None:
        return f"0-1 by {first}", _both(mo.ZeroOneSVM(g.X, g.y, lam=lam), first, second) or _written(g)
    model = mo.Margin(g.X, g.y, "zero-one", sample_weight=lam, kernel=kernel)
    solver = _pick(rng, "auto", "scip")
    return f"0-1 with a kernel by {solver}", _both(model, solver, "scip") or _written(g)


def composed(rng: np.random.Generator) -> tuple[str, str]:
    """Odd parts together."""
    g = drawn(rng, int(rng.integers(1, 4)), int(rng.integers(0, 3)))
    loss = _pick(rng, "hinge", "squared-hinge", "zero-one", "ramp", "epsilon-insensitive", "nu")
    regulariser = _pick(rng, "l2", "half-l2", "l1", "elastic-net", "l0", "none", margin.L0L1(0.5, 0.25))
    signs = margin.Signs((0,) + (1,) * (g.plain.shape[1] - 1))
    domain = _pick(rng, margin.Reals(), margin.Box(-2.0, 2.0), margin.Integers(-1, 1), signs)
    rules = _pick(rng, (), (), (margin.at_most(1).nonzero,), (margin.LinearRows(np.ones((1, g.plain.shape[1])), 0.5),))
    model = mo.Margin(
        g.X, g.y, loss, regulariser, domain=domain, subject_to=rules, intercept=_pick(rng, "penalised", "free"),
        sample_weight=_pick(rng, 1.0, 0.0, 1e-6, 1e6, rng.integers(0, 2, g.labels.size).astype(float)),
    )  # fmt: skip
    solver = "auto"
    return f"{loss}, {regulariser} by {solver}", _both(model, solver, "scip") or _written(g)


def classes(rng: np.random.Generator) -> tuple[str, str]:
    """`MulticlassSVM` by two solvers."""
    g = drawn(rng, int(rng.integers(3, 6)), int(rng.integers(1, 3)))
    y = np.arange(g.labels.size) % 3
    rng.shuffle(y)
    model = mo.MulticlassSVM(g.X, KINDS[int(rng.integers(6))](y.astype(float)), sample_weight=_pick(rng, 1.0, 1e-4, 1e4))
    first, second = _pick(rng, ("auto", "clarabel"), ("clarabel", "osqp"), ("piqp", "clarabel"), ("highs", "clarabel"))
    return f"several classes by {first}", _both(model, first, second) or _written(g)


def changed(rng: np.random.Generator) -> tuple[str, str]:
    """Variables fixed, rows added, integers relaxed; with w fixed the cost is a sum that anybody can do."""
    g = drawn(rng, int(rng.integers(1, 4)), 1)
    kind = int(rng.integers(4))
    base: mo.Model = mo.HingeSVM(g.X, g.y, lam=0.5) if kind < 3 else mo.ZeroOneSVM(g.X, g.y, lam=2.0)
    value = float(rng.integers(-8, 9)) / 4.0
    if kind == 0:
        model = base.with_fixed({"w": np.array([value, -value])})
    elif kind == 1:
        model = base.with_fixed({"w": np.array([value, np.nan])})
    elif kind == 2:
        model = base.with_constraint(lambda v: v.w[1] + v.w[0] >= value)
    else:
        model = _pick(rng, base.relaxed(), base.with_constraint(lambda v: v.w[1] >= abs(value) / 8.0))
    first, second = _pick(rng, ("auto", "clarabel"), ("highs", "clarabel")) if kind < 3 else ("auto", "scip")
    fault = _both(model, first, second)
    if not fault and kind == 0:
        result = _solved(model, "clarabel")
        margins = [int(c) * (Fraction(value) * (Fraction(a) - Fraction(b))) for c, (a, b) in zip(g.labels, g.plain, strict=True)]
        unit = Fraction(float(base.form.q[-1]))
        direct = unit * sum((max(1 - m, Fraction(0)) for m in margins), Fraction(0))
        rest = base.form.objective(base.form.join({"w": np.array([value, -value]), "xi": np.zeros(g.labels.size)}))
        fault = compared(result, None if np.isinf(rest) else direct + Fraction(float(rest)) * (1 + Fraction(1, 2**50)))
    return f"a change of kind {kind}", fault or _written(g)


def sources(rng: np.random.Generator) -> tuple[str, str]:
    """The same linear or quadratic program from CVXPY, from SciPy and as it is."""
    model, _ = exact._lp(rng, float(10.0 ** rng.integers(-3, 4)))
    assert isinstance(model, StandardForm)
    form = model
    truth = exact.exact_optimum(form)[0]
    F, g = form.rows_matrix()
    if rng.random() < 0.5:
        import cvxpy as cp

        x = cp.Variable(2, integer=bool(form.integer.all()))
        whole = cp.Variable(integer=True)
        rows = [F.toarray() @ x + g >= 0, x >= form.lower, x <= form.upper]
        rows += [x[0] == whole] if form.integer[0] else []
        problem = cp.Problem(cp.Minimize(form.q @ x), rows)
        result = _solved(mo.from_cvxpy(problem), "auto")
        if result.values:
            result.into(problem)
            if problem.value is not None and abs(problem.value - result.objective) > 1e-6 * (1e-6 + abs(result.objective)):
                return "from CVXPY", f"value {problem.value!r} there, {result.objective!r} here"
        return "from CVXPY", compared(result, truth)
    bounds = np.column_stack([form.lower, form.upper])
    source = mo.from_scipy(form.q, A_ub=-F.toarray(), b_ub=g, bounds=bounds, integrality=form.integer.astype(int))
    return "from SciPy", compared(_solved(source, "auto"), truth)


def estimators(rng: np.random.Generator) -> tuple[str, str]:
    """Estimators on odd data: the scores are those of what they state, the objective is that of their problem."""
    g = drawn(rng, int(rng.integers(2, 8)), int(rng.integers(1, 3)), ones=False)
    kind = _pick(
        rng,
        mo.estimators.HingeSVC,
        mo.estimators.L2SVC,
        mo.estimators.ZeroOneSVC,
        mo.estimators.ConicSVC,
        mo.estimators.MarginClassifier,
        mo.estimators.MulticlassSVC,
    )
    model = kind() if kind is not mo.estimators.ZeroOneSVC else kind(time_limit=1.0)
    what = f"{kind.__name__} fitted"
    try:
        model.fit(g.X, g.y)
    except ValueError as error:
        if "Input X contains" in str(error) or "Input y contains" in str(error):  # scikit-learn's own check, which its tools want
            return what, ""
        raise
    predicted = model.predict(g.X)
    if not set(np.unique(predicted)) <= set(model.classes_.tolist()):
        return what, f"predicts {np.unique(predicted)}, the classes are {model.classes_}"
    if not np.isfinite(model.decision_function(g.X)).all():
        return what, "scores that are not finite"
    result = model.result_
    if isinstance(result, mo.Result) and result.certificate is not None:
        again = mo.certify(model.problem_, result.values)
        if abs(again.objective - result.objective) > 1e-9 * max(abs(result.objective), again.scale):
            return what, f"states {result.objective!r}, its values cost {again.objective!r}"
    return what, _written(g)


def _written(g: Given) -> str:
    return "" if g.untouched() else "what was given was written to"


FAMILIES = (scoring, ramp, zero_one, composed, classes, changed, sources, estimators)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    rng = np.random.default_rng([18, 4, number])
    family = FAMILIES[number % len(FAMILIES)]
    try:
        with np.errstate(all="ignore"):
            what, fault = family(rng)
    except MarginoptError:
        return f"{family.__name__}, {number}", ""
    except AssertionError as error:
        return f"{family.__name__}, {number}", str(error)[:200]
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return f"{family.__name__}, {number}", f"{type(error).__name__}: {str(error)[:200]}"
    return f"{what}, {number}", fault
