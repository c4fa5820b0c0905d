"""Laws of a solver alone, on programs without a model: what has no solution is called by its name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..models.bare_form import BareForm
from ..models.program.cones import Feature, Nonnegative
from ..models.program.form import Block, Constraint, Quadratic, StandardForm
from ..solvers import solve
from ..solvers.interface.solver import Solver
from ..solvers.records.answer import Status
from .laws import Laws
from .verdict import Verdict, all_of, holds, not_applicable, violated

__all__ = ["PROGRAM_LAWS"]

PROGRAM_LAWS: Laws[Solver] = Laws()


@dataclass(frozen=True)
class _Programs:
    """Two variables with the rows F x + g ≥ 0, linear and quadratic, continuous and with integers."""

    F: list[list[float]]
    g: list[float]
    q: list[float]
    curvature: list[float]

    def forms(self) -> list[StandardForm]:
        """Each program that the rows and the objective make."""
        rows = Constraint("rows", sp.csr_array(np.array(self.F)), np.array(self.g), Nonnegative(len(self.g)))
        return [
            StandardForm(
                name=f"{'linear' if quadratic is None else 'quadratic'} program{' in integers' if integer else ''}",
                blocks=(Block("x", (2,)),),
                q=np.array(self.q),
                constraints=(rows,),
                lower=np.full(2, -np.inf),
                upper=np.full(2, np.inf),
                integer=np.array([integer, False]),
                quadratic=quadratic,
            )
            for quadratic in (None, Quadratic(matrix=np.diag(self.curvature)))
            for integer in (False, True)
        ]


#: x1 ≥ 1 and x1 ≤ 0; and x2 → ∞ at no cost, where the quadratic has no curvature.
_INFEASIBLE = _Programs([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [-1.0, 0.0, 0.0], [1.0, 1.0], [1.0, 1.0])
_UNBOUNDED = _Programs([[1.0, 0.0]], [0.0], [0.0, -1.0], [1.0, 0.0])


def _called(solver: Solver, programs: _Programs, status: Status) -> Verdict:
    """Every program that the solver reads ends with the status, or without a claim."""
    if solver.info.views:
        return not_applicable("it reads structural views, which a program without a model does not have")
    calls = []
    for form in programs.forms():
        if Feature.INTEGER in form.features and status is Status.UNBOUNDED:
            continue  # solvers of integer programs may presume bounds
        obstacle = solver.obstacle(BareForm(form))
        if obstacle is None:
            calls.append(_judged(solver, form, status))
    return all_of(calls) if calls else not_applicable("it reads no linear or quadratic program")


def _judged(solver: Solver, form: StandardForm, status: Status) -> Verdict:
    r = solve(form, solver, time_limit=20)
    if r.status is status:
        return holds(form.name)
    if r.solved or r.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return violated(f"{form.name} is called {r.status} ({r.claim.native_status})")
    return holds(f"{form.name}: {r.status}, which claims nothing")  # an honest answer, of an interface that passes on no reason


@PROGRAM_LAWS.law("infeasible programs")
def infeasible(solver: Solver) -> Verdict:
    """A program without a feasible point is called infeasible, or left without a claim; never solved."""
    return _called(solver, _INFEASIBLE, Status.INFEASIBLE)


@PROGRAM_LAWS.law("unbounded programs")
def unbounded(solver: Solver) -> Verdict:
    """A program whose objective falls for ever is called unbounded, or left without a claim; never solved."""
    return _called(solver, _UNBOUNDED, Status.UNBOUNDED)


@PROGRAM_LAWS.law("the record")
def record(solver: Solver) -> Verdict:
    """The record has a name in small letters, a summary and a reference or a package, and says what is read."""
    info = solver.info
    missing = [
        what
        for what, there in (
            ("a name in small letters", bool(info.name) and info.name == info.name.strip().lower()),
            ("a summary", bool(info.summary)),
            ("a reference or a package", bool(info.reference or info.package)),
            ("views or features that it reads", bool(info.views or info.reads) or bool(info.package)),
            ("a tolerance in (0, 1)", 0.0 < info.tolerance < 1.0),
        )
        if not there
    ]
    return violated(f"without {', '.join(missing)}") if missing else holds(info.summary)
