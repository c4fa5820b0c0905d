"""What a solver is: one record of what it reads and gives, and one method that returns its raw answer.

Two kinds: a `Backend` hands a standard form to an off-the-shelf solver, an `Algorithm` (`solvers.interface.algorithm`) is
hand-written, reads a structural view of the model and runs on the shared driver. Neither judges itself: the raw
answer's certificate is recomputed outside (`solvers.judging.certificate`).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...models.arrays import FloatArray
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..records.licence import OPEN, Licence
from ..records.options import Options
from ..records.status import Status
from ..records.trace import Trace

__all__ = ["Gives", "Problem", "RawSolution", "Solver", "SolverInfo"]


class Gives(enum.Enum):
    """What a solver can give or do beyond a primal point."""

    DUALS = "multipliers"
    BOUND = "bound"
    TRACE = "trace"
    WARM_START = "warm start"
    UPDATES = "in-place updates"
    INTERRUPT = "incumbent when interrupted"


@dataclass(frozen=True)
class SolverInfo:
    """The record of one solver.

    Parameters
    ----------
    name : str
        By which users ask for it.
    summary : str
        One line: what method.
    package : str
        Distribution that brings it (``pip install`` name); empty for our own.
    module : str
        Module whose presence means that it is installed; empty for our own.
    reads : frozenset of Feature
        Features of a form that it reads natively (backends).
    forbids : tuple of frozenset of Feature
        Combinations that it does not take together (MIQP for HiGHS).
    views : tuple of type
        Structural views that it reads (algorithms); the first that the model has is taken.
    bounds : bool
        Whether it takes bounds on variables; else they become rows.
    gives : frozenset of Gives
    tolerance : float
        Relative gap asked for by default.
    first_order : bool
        Whether the accuracy to expect is that of a first-order method.
    extra : str
        Extra of marginopt that installs it; empty where the base install does.
    reference : str
        Where the method is described.
    """

    name: str
    summary: str
    package: str = ""
    module: str = ""
    reads: frozenset[Feature] = frozenset()
    forbids: tuple[frozenset[Feature], ...] = ()
    views: tuple[type, ...] = ()
    bounds: bool = True
    gives: frozenset[Gives] = frozenset()
    tolerance: float = 1e-6
    first_order: bool = False
    extra: str = ""
    reference: str = ""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be solved: a model, or a form without one."""

    model: Model | None
    form_: StandardForm | None = None

    @property
    def form(self) -> StandardForm:
        """The standard form; built on the first use."""
        if self.form_ is not None:
            return self.form_
        assert self.model is not None
        return self.model.form

    @property
    def name(self) -> str:
        """Name for tables."""
        return self.model.name if self.model is not None else self.form.name


@dataclass(frozen=True, eq=False)
class RawSolution:
    """A solver's own answer, before it is judged. Everything in the form's minimisation sense.

    Parameters
    ----------
    status : Status
        The solver's claim in our vocabulary.
    native_status : str
        The solver's own word.
    values : mapping of label to array, optional
        Primal point by block; None where there is none.
    multipliers : mapping of label to array, optional
        z_k by constraint, in the sign convention of `models.program.form`.
    reduced : ndarray, optional
        ζ, the bounds' multipliers (n,).
    objective, bound : float, optional
        As claimed by the solver.
    proved : bool
        Whether ``bound`` is proved by the solver's own arithmetic on valid dual points (our exact solver), rather than claimed.
    nodes, iterations : int, optional
    build_seconds, solve_seconds : float
    version : str
    model : Model, optional
        The model that the point belongs to, where the algorithm moved a parameter of the one that was given (γ in a minimax
        model): the certificate is that model's.
    details : mapping
        Anything worth keeping: what ``auto`` picked, columns computed, a ray that proves infeasibility under ``"farkas"``.
    """

    status: Status
    native_status: str
    values: Mapping[str, FloatArray] | None = None
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    proved: bool = False
    nodes: int | None = None
    iterations: int | None = None
    trace: Trace = field(default_factory=Trace)
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    version: str = ""
    model: Model | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Solver(ABC):
    """A solver: its record and how to run it."""

    info: ClassVar[SolverInfo]

    def licence(self) -> Licence:
        """State of the licence, probed without a model; open solvers need none."""
        return OPEN

    @abstractmethod
    def obstacle(self, problem: Problem) -> str | None:
        """Why this solver cannot read the problem, in a sentence without its name; None where it can."""

    @abstractmethod
    def run(self, problem: Problem, options: Options) -> RawSolution:
        """Solve and return the raw answer."""
