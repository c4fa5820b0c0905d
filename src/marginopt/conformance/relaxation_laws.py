"""Laws of a relaxation: what its target proves, whatever the multipliers, and what comes back from it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from ..models.formulations.zero_one.model import ZeroOneSVM
from ..models.model import Model
from ..models.program.form import StandardForm
from ..relaxations import Direction, Relaxation, Relaxed, relax
from ..solvers import Options, certify
from .laws import Case, Laws, Verdict, all_of, at_most, holds, not_applicable, violated

__all__ = ["RELAXATION_LAWS", "Reduced"]

RELAXATION_LAWS: Laws[Reduced] = Laws()
_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Reduced:
    """A relaxation on a case of the 0-1 loss whose optimum is known."""

    relaxation: Relaxation
    case: Case

    @property
    def name(self) -> str:
        """Relaxation and case."""
        return f"{self.relaxation.name} / {self.case.name}"

    @property
    def original(self) -> ZeroOneSVM:
        """The 0-1 model, with its optimum as the incumbent that tightens M."""
        model = self.case.model
        assert isinstance(model, ZeroOneSVM) and self.case.optimum is not None
        return replace(model, upper_bound=self.case.optimum * (1.0 + 1e-9))

    @property
    def obstacle(self) -> str:
        """Return the reason why the relaxation does not take the case; empty where it does."""
        return self.relaxation.reduction.obstacle(self.original)

    @property
    def caveat(self) -> str:
        """Return the reason why its target need not bound the 0-1 optimum; empty where it does."""
        return self.relaxation.reduction.caveat(self.original)

    @property
    def optimum(self) -> float:
        """The known 0-1 optimum."""
        assert self.case.optimum is not None
        return self.case.optimum

    @cached_property
    def relaxed(self) -> Relaxed:
        """The target solved, and the ways back."""
        return relax(self.original, self.relaxation.reduction, options=Options(tol=_TOL, threads=1, time_limit=60))


def _above(what: str, value: float, optimum: float) -> Verdict:
    return at_most(f"{what} above the 0-1 optimum by", (value - optimum) / max(abs(optimum), 1.0), _TOL)


@RELAXATION_LAWS.law("refuses what it does not take")
def refuses(r: Reduced) -> Verdict:
    """A model that the relaxation does not take is refused, with the reason, before any work."""
    if not r.obstacle:
        return not_applicable("it takes the model")
    try:
        r.relaxation.reduction.apply(r.original)
    except UnsupportedModelError as error:
        return holds("it says why") if str(error) else violated("an error without words")
    return violated(f"applied in spite of: {r.obstacle}")


@RELAXATION_LAWS.law("bounds the optimum")
def bounds(r: Reduced) -> Verdict:
    """The target's optimum and its proved bound lie on the stated side of the known 0-1 optimum."""
    if r.caveat:
        return not_applicable(r.caveat)
    if not r.relaxed.result.solved:
        return violated(f"the target is not solved: {r.relaxed.result.status}")
    if r.relaxation.direction is Direction.INNER:
        return at_most("below the 0-1 optimum by", (r.optimum - r.relaxed.result.objective) / max(r.optimum, 1.0), _TOL)
    return _above("bound", r.relaxed.bound, r.optimum)


@RELAXATION_LAWS.law("lifts its dual")
def lifted(r: Reduced) -> Verdict:
    """The target's multipliers prove a bound of the 0-1 optimum that loses nothing of the target's."""
    if r.caveat:
        return not_applicable(r.caveat)
    bound = r.relaxed.lifted
    if bound is None:
        return violated("the target's solver gives no multipliers to lift")
    if not bound.argument:
        return violated("the lifted bound has no argument")
    value = r.relaxed.result.objective
    loss = at_most("lost on the way", (value - bound.value) / max(abs(value), 1.0), 10 * _TOL)
    return all_of([_above("lifted bound", bound.value, r.optimum), loss])


@RELAXATION_LAWS.law("lifts any multipliers")
def lifts_any(r: Reduced) -> Verdict:
    """Whatever the multipliers, what they prove does not exceed the 0-1 optimum."""
    if r.caveat:
        return not_applicable(r.caveat)
    target: Model | StandardForm = r.relaxation.reduction.apply(r.original)
    form = target.form if isinstance(target, Model) else target
    rng, worst = np.random.default_rng(0), -np.inf
    for scale in (1e-2, 1.0, 1e2):
        multipliers: dict[str, Any] = {c.label: scale * rng.normal(size=c.rows) for c in form.constraints}
        worst = max(worst, r.relaxation.reduction.lift_dual(r.original, multipliers).value)
    return _above("lifted bound", worst, r.optimum)


@RELAXATION_LAWS.law("recovers a point")
def recovered(r: Reduced) -> Verdict:
    """The point brought back is feasible for the 0-1 problem, and no better than its optimum."""
    if r.relaxed.values is None:
        return violated("no point comes back")
    feasible = at_most("violation", certify(r.original.form, r.relaxed.values).primal_residual, _TOL)
    better = (r.optimum - r.relaxed.objective) / max(abs(r.optimum), 1.0)
    return all_of([feasible, at_most("better than the optimum by", better, _TOL)])


@RELAXATION_LAWS.law("can be stored")
def can_be_stored(r: Reduced) -> Verdict:
    """Reports keep it by its name and hand it to other processes: it can be pickled, hashed and compared."""
    reduction = r.relaxation.reduction
    back = pickle.loads(pickle.dumps(reduction))
    if back != reduction or hash(back) != hash(reduction) or back.name != reduction.name:
        return violated("it is another one after pickling")
    return holds(f"'{reduction.name}'")
