"""Problems in disguise: the same optimum from other data, odd limits and starts, logs and results of another problem.

A composition of `rational.draws` is restated so that its rational optimum stays: rows of weight zero beside its own, a row's
cost shared by its copies, rows in another order, columns with another sign, points and labels both turned. It is solved with odd
tolerances, limits, starts; its logs are cut and read beside other data, its results stored and read again. The laws:

- no bound called proved, and none of a valid log, is above the optimum; OPTIMAL stands at it; w costs what is said;
- whatever a limit or a start is, the point that is handed out costs what is stated, and a limit of nothing is kept;
- a log or a result of other data is refused, or all that it states is true of them.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from families import Family, tried
from rational.draws import Drawn, drawn
from rational.judged import answer_fault, counted_fault, report_fault

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.solvers.registry import solvers_that_read

Random = np.random.Generator
#: Solvers, seconds of one, and how much longer than a limit of nothing building and judging may take.
SOLVERS, SECONDS, LATE = ("auto", "margin-bb", "scip", "highs", "gurobi", "clarabel"), 10.0, 8.0
#: Restrictions that name no point by its place or class.
_OF_COEFFICIENTS = ("none", "nonzero", "rows", "fixed")


def _drawn(rng: Random) -> Drawn:
    """A composition whose restrictions are of coefficients alone."""
    while True:
        problem = drawn(int(rng.integers(2**40)))
        if problem.kinds["restriction"] in _OF_COEFFICIENTS and problem.kinds["loss"] != "misclassified":
            return problem


# -- the same optimum --------------------------------------------------------------------------------------------------


def _zero_rows(model: mo.Margin, rng: Random) -> mo.Margin:
    """Points that cost nothing, some of them far away or of a class alone."""
    X, size = np.asarray(model.X), 10.0 ** float(rng.choice([0, 3, 8]))
    more = rng.integers(-8, 9, (int(rng.integers(1, 4)), X.shape[1])) / 4.0 * size
    if model.intercept == "free":
        more[:, 0] = 1.0
    y = np.full(len(more), float(rng.choice([-1.0, 1.0])))
    costs = np.append(np.broadcast_to(model.sample_weight, len(X)), np.zeros(len(more)))
    return replace(model, X=np.vstack([X, more]), y=np.append(model.y, y), sample_weight=costs)


def _copies(model: mo.Margin, rng: Random) -> mo.Margin:
    """A row's cost is shared by itself and a copy, or by its mirror image of the other class."""
    X, costs = np.asarray(model.X), np.array(np.broadcast_to(model.sample_weight, len(model.y)))
    k, side = int(rng.integers(len(X))), -1.0 if model.intercept != "free" and rng.random() < 0.5 else 1.0
    costs[k] *= 0.5
    return replace(
        model, X=np.vstack([X, side * X[k]]), y=np.append(model.y, side * model.y[k]), sample_weight=np.append(costs, costs[k])
    )


def _reordered(model: mo.Margin, rng: Random) -> mo.Margin:
    order = rng.permutation(len(model.y))
    costs = np.broadcast_to(model.sample_weight, len(model.y))[order]
    return replace(model, X=np.asarray(model.X)[order], y=model.y[order], sample_weight=costs)


def _typed(model: mo.Margin, rng: Random) -> mo.Margin:
    """The same numbers in another array; quarters are floats of 32 bits."""
    X = np.asarray(model.X)
    kinds: tuple[Callable[[], Any], ...] = (lambda: X.astype(np.float32), lambda: np.asfortranarray(X), lambda: X.tolist())
    return replace(model, X=kinds[int(rng.integers(len(kinds)))]())


def _sparse(model: mo.Margin, rng: Random) -> mo.Margin:
    """The same numbers in a sparse matrix, by columns now and then."""
    X = sp.csr_array(np.asarray(model.X))
    return replace(model, X=X.tocsc() if rng.random() < 0.3 else X)


DISGUISES = (_zero_rows, _copies, _reordered, _typed)


def _disguised(problem: Drawn, rng: Random) -> mo.Margin:
    model = problem.model
    for _ in range(int(rng.integers(1, 4))):
        model = DISGUISES[int(rng.integers(len(DISGUISES)))](model, rng)
    return _sparse(model, rng) if rng.random() < 0.2 else model


def _able(model: mo.Margin, rng: Random) -> str:
    return str(rng.choice(["auto", *(name for name in solvers_that_read(model) if name in SOLVERS)]))


def _fault(problem: Drawn, result: mo.Result, optimum: Fraction | None) -> str:
    """Return the fault of a result, of any solver; a bound of a continuous solver may be a claim."""
    str(result)
    of_ours = result.solver in ("margin-bb", "scip", "zero-one-bb") or not problem.model.convex
    fault = answer_fault(result, problem.exact, optimum) if of_ours and not _cautious(result, optimum) else ""
    if not fault and optimum is not None and result.bound_kind == "proved" and math.isfinite(result.bound):
        fault = (
            f"bound {result.bound!r} called proved above {float(optimum)!r}" if Fraction(float(result.bound)) > optimum else ""
        )
    return fault or counted_fault(result, problem.exact)


def _cautious(result: mo.Result, optimum: Fraction | None) -> bool:
    """Return whether the optimum is called inaccurate beside points so far away that their M is beyond a solver's integers."""
    far = float(np.abs(np.asarray(result.original_model.X)).max()) > 1e6
    return (
        far
        and optimum is not None
        and result.status is mo.Status.INACCURATE
        and math.isfinite(result.objective)
        and abs(Fraction(float(result.objective)) - optimum) <= Fraction(1, 10**9) * max(abs(optimum), 1)
    )


def disguised(rng: Random) -> str:
    """The optimum of the restated problem is that of the drawn one."""
    problem = _drawn(rng)
    model = _disguised(problem, rng)
    result = mo.solve(model, _able(model, rng), time_limit=SECONDS)
    fault = _fault(problem, result, problem.exact.optimum())
    return fault and f"{fault} ({problem} by {result.solver}, {len(model.y)} rows)"


# -- limits, tolerances, starts ----------------------------------------------------------------------------------------


def limited(rng: Random) -> str:
    """Limits of hardly anything, tolerances near rounding or of a half, points that are not feasible to start from."""
    problem = _drawn(rng)
    model, solver = _disguised(problem, rng), ""
    solver = _able(model, rng)
    options: dict[str, Any] = {"time_limit": float(rng.choice([1e-300, 1e-9, 0.01, 2.0]))}
    if rng.random() < 0.5:
        options["tol"] = float(rng.choice([1e-12, 1e-9, 1e-3, 0.5]))
    if rng.random() < 0.5:
        options["start"] = {"w": rng.normal(size=model.X.shape[1]) * 10.0 ** rng.uniform(-3, 6)}
    if solver == "margin-bb" and rng.random() < 0.5:
        options["node_limit"] = int(rng.integers(1, 4))
    begin = time.process_time()
    result = mo.solve(model, solver, **options)
    spent = time.process_time() - begin - result.answer.compile_seconds
    if spent > options["time_limit"] + LATE:
        return f"hangs for {spent:.1f} s of {options['time_limit']:g} ({problem} by {result.solver})"
    optimum = problem.exact.optimum()
    proved = optimum is not None and result.bound_kind == "proved" and math.isfinite(result.bound)
    if proved and Fraction(float(result.bound)) > optimum:  # type: ignore[operator]
        return f"bound {result.bound!r} called proved above {optimum!s} ({problem} by {result.solver}, {options})"
    if result.status is mo.Status.OPTIMAL and optimum is not None:
        value = Fraction(float(result.objective))
        if abs(value - optimum) > Fraction(result.tol) * abs(optimum) * 2 + abs(optimum) / 10**5 + Fraction(1, 10**8):
            return f"OPTIMAL at {float(value)!r}, the truth is {float(optimum)!r} ({problem} by {result.solver}, {options})"
    fault = "" if options.get("tol", 0.0) > 1e-5 else counted_fault(result, problem.exact)
    return fault and f"{fault} ({problem} by {result.solver}, {options})"


# -- logs and results of another problem -------------------------------------------------------------------------------


def logs(rng: Random) -> str:
    """A log cut anywhere, sealed as it was; a log beside data that differ in one number; a search that goes on."""
    problem, other = _drawn(rng), _drawn(rng)
    optimum = problem.exact.optimum()
    if optimum is None or "margin-bb" not in solvers_that_read(problem.model):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path, remaining = Path(folder) / "p.log", Path(folder) / "p.npz"
        checkpoint: dict[str, Any] = {"checkpoint": str(remaining)} if rng.random() < 0.4 else {}
        first = int(rng.integers(1, 5)) if checkpoint else 2000
        result = mo.solve(problem.model, "margin-bb", proof=str(path), node_limit=first, time_limit=SECONDS, **checkpoint)
        if checkpoint and remaining.exists():
            result = mo.solve(problem.model, "margin-bb", proof=str(path), time_limit=SECONDS, **checkpoint)
        fault = _fault(problem, result, optimum) or report_fault(mo.check_proof(path, problem.model), optimum, must=True)
        if fault:
            return f"{fault} ({problem}{', resumed' if checkpoint else ''})"
        report, strange = mo.check_proof(path, other.model), other.exact.optimum()
        fault = report_fault(report, strange, must=False) if report.valid else ""
        if fault:
            return f"of other data: {fault} ({problem} read as {other})"
        text = path.read_text()
        for _ in range(3):  # before its last character: a log whose last line break alone is missing is whole
            path.write_text(text[: int(rng.integers(len(text.rstrip())))] + ("\n" if rng.random() < 0.3 else ""))
            fault = report_fault(mo.check_proof(path, problem.model), optimum, must=False)
            if fault or mo.check_proof(path, problem.model).valid:
                return f"a log that was cut is valid: {fault} ({problem})"
    return ""


def stored(rng: Random) -> str:
    """A result stored and read: beside its model in another type of array, beside a model with one number changed."""
    problem = _drawn(rng)
    result = mo.solve(problem.model, _able(problem.model, rng), time_limit=SECONDS)
    if not result.values:
        return ""
    optimum = problem.exact.optimum()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.npz"
        result.save(path)
        try:
            again = mo.io.load_result(path, _typed(problem.model, rng))
        except MarginoptError as error:
            return f"cannot be read again: {error} ({problem} by {result.solver})"
        fault = _fault(problem, again, optimum) if not again.unverified else ""
        if fault or again.objective != result.objective:
            return f"read again: {fault or again.objective} beside {result.objective!r} ({problem} by {result.solver})"
        X = np.array(problem.model.X, dtype=np.float64)
        X[-1, -1] += float(rng.choice([0.25, 1e-9, 1e6]))
        try:
            mo.io.load_result(path, replace(problem.model, X=X))
        except MarginoptError:
            return ""
    return f"a result is taken for that of other data ({problem} by {result.solver})"


FAMILIES: tuple[Family, ...] = (disguised, limited, disguised, logs, limited, stored)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 26, number)
