"""Claims of mixed-integer solvers beside an independent search of points, and liars' claims beside the points of the model."""

from __future__ import annotations

import numpy as np
from rational.draws import drawn

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.models.model import as_model
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import Answer, Options, Status
from marginopt.solvers.registry import get_solver

#: Mixed-integer solvers by turns, and scales of the data, at which absolute tolerances count.
SOLVERS = ("scip", "gurobi", "highs")
SCALES = (1.0, 1.0, 1e-3, 1e-5, 1e3, 1e6)
#: Points that are drawn, and by how much of its objective an optimum may be missed.
_DRAWN, _MISSED = 300, 1e-5


def attack(number: int) -> tuple[str, str]:
    """One composition: what a solver claims of it beside drawn points; then a worse point that is called optimal."""
    case, rng = drawn(number), np.random.default_rng([46, number])
    scale, name = SCALES[number % len(SCALES)], SOLVERS[number % len(SOLVERS)]
    what = f"{number}: {case} at {scale:g} by {name}"
    model = case.model if scale == 1.0 else _scaled(case.model, scale)
    if model is None or get_solver(name).obstacle(model) is not None or not get_solver(name).licence().usable:
        model, name = case.model, "scip"
    try:
        result = mo.solve(model, name, time_limit=2)
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - what is not ours is the fault that is looked for
        return what, f"{type(error).__name__}: {error}"
    return what, _beside(model, result, rng)


def _scaled(model: mo.Margin, scale: float) -> mo.Margin | None:
    """Return the model with scaled rows; None where those are refused, or need bounds of the margins for their form."""
    try:
        scaled = model.replace("X", np.asarray(model.X) * scale)
        return scaled if scaled.form.n else None
    except MarginoptError:
        return None


def _beside(model: mo.Margin, result: mo.Result, rng: np.random.Generator) -> str:
    """The fault: a drawn point that the claim excludes, or a lie that is not found out; empty where there is none."""
    form = model.form
    here = form.slices["w"]
    low, high = form.lower[here], form.upper[here]
    claimed = result.certificate.objective if result.status is Status.OPTIMAL and result.certificate is not None else np.inf
    centre = np.asarray(result.values["w"]) if result.values else np.zeros(low.size)
    size = 1e-3 + np.abs(centre)
    for _ in range(_DRAWN if result.status in (Status.OPTIMAL, Status.INFEASIBLE) else 0):
        w = np.clip(centre + rng.normal(size=low.size) * size * 10.0 ** rng.uniform(-3, 2), low, high)
        certificate = mo.certify(model, model.complete({"w": w}))
        exact = certificate.primal_residual == 0.0 and not certificate.integrality
        if exact and result.status is Status.INFEASIBLE:
            return f"infeasible: a point costs {certificate.objective:.8g}"
        if exact and certificate.objective + certificate.error < claimed - _MISSED * abs(claimed):
            return f"optimum: {claimed:.8g} is claimed, and a point costs {certificate.objective:.8g}"
    return _lie(model, result, rng) if result.status is Status.OPTIMAL else ""


def _lie(model: mo.Margin, result: mo.Result, rng: np.random.Generator) -> str:
    """A point that costs twice as much, called optimal; the model's own multiples of it show that it is not."""
    assert result.certificate is not None
    w, least = np.asarray(result.values["w"]), result.certificate.objective
    far = model.complete({"w": np.clip(w * rng.uniform(3, 30), model.form.lower[: w.size], model.form.upper[: w.size])})
    certificate = mo.certify(model, far)
    if not certificate.feasible(1e-12) or certificate.objective <= 2.0 * abs(least) + 1e-6 or model.domain.integer:
        return ""
    answer = Answer(Status.OPTIMAL, "a lie", values=far, objective=certificate.objective, bound=certificate.objective)
    judged = judge(as_model(model), get_solver("scip"), answer, Options(), OPEN_LICENCE)
    lie = f"lie: {certificate.objective:.8g} is believed, and {least:.8g} is the optimum"
    return lie if judged.status is Status.OPTIMAL else ""
