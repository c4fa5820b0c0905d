"""Compositions of all parts that `margin-bb` reads, and their proof logs, true and forged, beside rational optima.

`rational.draws` has the problems by their numbers: 504 consecutive ones hold every loss with every regulariser and restriction.
The laws:

- a bound called proved, and that of a valid log, is not above the optimum; what is called infeasible has no point;
- OPTIMAL stands at the optimum, its w is allowed and costs what is said, counted in rationals with no margin, zero or budget
  forgiven, and the gap of `margin-bb` is closed;
- a log that the solver wrote is valid, and says of an infeasible problem that nothing is feasible where the solver does;
- a log with a claim above the optimum is refused, whatever else is changed in it; nothing but our own errors escapes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attack_ramps import sealed
from families import tried
from rational.draws import Drawn, drawn
from rational.judged import answer_fault, closed_fault, counted_fault, report_fault

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.models.views import MarginProblem
from marginopt.solvers import Status
from marginopt.solvers.registry import solvers_that_read

#: Forgeries of each log; seconds of a solver; nodes, which its checker sees again for each forgery.
FORGERIES, SECONDS, NODES = 4, 20.0, 2000
#: Solvers beside `margin-bb`.
OTHERS = ("auto", "scip", "highs", "gurobi", "zero-one-bb", "clarabel")

Random = np.random.Generator
Records = list[dict[str, Any]]
Lie = Callable[[Records, Random], None]


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""

    def composition(rng: Random) -> str:
        return solved(number, rng)

    return tried((composition,), 13, number)


def solved(number: int, rng: Random) -> str:
    """Return what is wrong with an answer, or with a log or a forgery of it; empty where nothing is."""
    problem = drawn(number)
    optimum = problem.exact.optimum()
    if problem.model.view(MarginProblem) is None:
        return (
            "" if problem.model.convex or optimum is None else f"{problem}: not read: {problem.model.margin_reduction.obstacle}"
        )
    try:
        fault = _proved(problem, optimum, rng)
    except MarginoptError as error:
        if optimum is None and problem.unbounded:
            return ""  # without a point nothing bounds the search: it says so
        fault = f"refused with {type(error).__name__}, {error}; the truth is {optimum and float(optimum)}"
    return fault and f"{fault} ({problem}, {problem.model.X.shape})"


def counted(number: int, rng: Random) -> str:
    """Return what is wrong with the answer of one other solver that reads the problem, its w in rationals."""
    problem = drawn(number)
    able = ["auto", *(name for name in solvers_that_read(problem.model) if name in OTHERS)]
    optimum = problem.exact.optimum()
    name = able[int(rng.integers(len(able)))]
    result = mo.solve(problem.model, name, time_limit=SECONDS)
    examined = name == "auto" or (name == "scip" and not _inaccurate_by_scips_tolerance(result))
    fault = answer_fault(result, problem.exact, optimum) if examined else ""
    fault = fault or counted_fault(result, problem.exact)
    return fault and f"{name}: {fault}"


def _inaccurate_by_scips_tolerance(result: mo.Result) -> bool:
    """Return whether SCIP's bound misses the objective by its absolute tolerance (1e-8 a row) alone, and the result says so."""
    return result.status is Status.INACCURATE and 0.0 <= result.objective - result.bound <= 1e-7


def attack_counted(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it): the w of some solver's result is counted in rationals."""

    def counted_w(rng: Random) -> str:
        return counted(number, rng)

    return tried((counted_w,), 14, number)


def _proved(problem: Drawn, optimum: Fraction | None, rng: Random) -> str:
    """The engine, its log, and forgeries of it."""
    limit = NODES if rng.random() < 0.8 else int(rng.integers(1, 12))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.log"
        result = mo.solve(problem.model, "margin-bb", proof=str(path), node_limit=limit, time_limit=SECONDS)
        str(result)
        report = mo.check_proof(path, problem.model)
        fault = answer_fault(result, problem.exact, optimum) or report_fault(report, optimum, must=True)
        fault = fault or closed_fault(result, optimum) or _apart(result, report) or counted_fault(result, problem.exact)
        records = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
        for _ in range(FORGERIES if optimum is not None else 0):
            if not fault:
                lies = forged(records, optimum or Fraction(0), rng)
                fault = report_fault(mo.check_proof(sealed(path, lies), problem.model), optimum, must=False)
                fault = fault and f"{fault} (forged)"
    return fault


def _apart(result: mo.Result, report: mo.proofs.ProofReport) -> str:
    """The log of a solver that ended proves what the solver says, to a millionth."""
    if result.status.stopped:
        return ""
    if result.status.name == "INFEASIBLE":
        return "" if report.value == np.inf else f"infeasible; its log has a point of {report.value!r}"
    least = float(result.bound) - 2e-6 * abs(float(result.objective)) - 1e-9
    return "" if report.bound >= least else f"the log proves {report.bound!r}, the result {result.bound!r}"


# -- forgeries ---------------------------------------------------------------------------------------------------------------


def forged(records: Records, optimum: Fraction, rng: Random) -> Records:
    """The log with a claim above the optimum, or of nothing feasible, no incumbent that would be below it, and other lies."""
    records = json.loads(json.dumps(records))
    claim = records[-1]
    claim["bound"] = float(optimum) * (1.0 + 10.0 ** rng.uniform(-12, 1)) + (1e-9 if optimum == 0 else 0.0)
    claim["w"] = claim["combination"] = None
    claim.pop("infeasible", None)
    if rng.random() < 0.2:
        claim["bound"], claim["infeasible"] = None, True
    for _ in range(int(rng.integers(0, 4))):
        LIES[int(rng.integers(len(LIES)))](records, rng)
    return records


def _node(records: Records, rng: Random) -> dict[str, Any]:
    """Any node; where none is left, the claim."""
    return records[int(rng.integers(1, max(2, len(records) - 1)))]


def _entry(records: Records, rng: Random) -> dict[str, Any]:
    """Any round, if possible one with a relaxation."""
    rounds = [entry for record in records[1:-1] for entry in record.get("rounds", [])]
    rich = [entry for entry in rounds if "alpha" in entry] or rounds
    return rich[int(rng.integers(len(rich)))] if rich else {"pairs": []}


def _dropped(records: Records, rng: Random) -> None:
    if len(records) > 2:
        del records[int(rng.integers(1, len(records) - 1))]


def _number(records: Records, rng: Random) -> None:
    """Any number of a node, or of the coordinates, is another."""
    held: Any = records[0]["T"] if rng.random() < 0.1 else records
    key: Any = int(rng.integers(len(held))) if held is not records else int(rng.integers(1, max(2, len(records) - 1)))
    while isinstance(held[key], dict | list) and held[key]:
        held = held[key]
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        key = keys[int(rng.integers(len(keys)))]
    if isinstance(held[key], int | float):
        others = (0, -1, 1, 2, 1e300, float("nan"), float("inf"), *(held[key] * by for by in (10.0, 0.1, -1.0, 1.0 + 1e-9)))
        held[key] = others[int(rng.integers(len(others)))]


def _cut(records: Records, rng: Random) -> None:
    records[0]["cut"] = (0.0, 1e-300, 1e300, -1.0, None)[int(rng.integers(5))]
    _entry(records, rng)["cut"] = (0.0, -1.0)[int(rng.integers(2))]


def _paid_again(records: Records, rng: Random) -> None:
    entry, count = _entry(records, rng), len(records[0]["A"])
    more = rng.permutation(count + sum(len(b["points"]) for b in records[0]["budgets"]))
    entry["pairs"] = [*entry["pairs"], *entry["pairs"], more[: more.size // 2 * 2].tolist()]


def _steep(records: Records, rng: Random) -> None:
    """Any slopes, multipliers, prices of budgets and envelopes."""
    header, entry = records[0], _entry(records, rng)
    terms = len(header["A"]) + sum(len(b["points"]) for b in header["budgets"])
    size, p = float(10.0 ** rng.uniform(-2, 6)), len(header["lower"])
    demands = len(header["rows"]) + len(header["A"])
    entry["alpha"] = [[i, size * float(rng.random())] for i in range(terms)]
    entry["rows"] = [[r, size * float(rng.random())] for r in range(demands) if rng.random() < 0.5]
    entry["theta"] = (size * rng.random(len(header["budgets"]))).tolist()
    entry["support"] = (size * rng.normal(size=p)).tolist()
    entry["p"] = (10.0 ** rng.uniform(-1, 3) * rng.normal(size=p)).tolist()


def _sharp(records: Records, rng: Random) -> None:
    """A box that is a point, or nothing; any spending."""
    entry, p = _entry(records, rng), len(records[0]["lower"])
    at = rng.normal(size=p)
    entry["box"] = [at.tolist(), (at - float(rng.integers(2))).tolist()]
    entry["spend"] = float(10.0 ** rng.uniform(-9, 9)) * (1 if rng.random() < 0.5 else -1)


def _split(records: Records, rng: Random) -> None:
    record, p = _node(records, rng), len(records[0]["lower"])
    record.pop("support", None)
    if record.pop("split", None) is None or rng.random() < 0.5:
        record["split"] = [int(rng.integers(-1, p + 1)), float(rng.choice([-1.0, 0.0, 0.5, 1.0, rng.normal()]))]


def _marked(records: Records, rng: Random) -> None:
    record, p = _node(records, rng), len(records[0]["lower"])
    record.pop("split", None)
    if record.pop("support", None) is None or rng.random() < 0.5:
        record["support"] = int(rng.integers(-1, p + 1))


LIES: tuple[Lie, ...] = (
    _dropped, _number, _number, _number, _cut, _paid_again, _steep, _steep, _sharp, _split, _marked,
)  # fmt: skip
