"""The abstract solver: one record of what it reads and gives, and one method that returns its answer.

Two kinds: a `Backend` hands a standard form to an off-the-shelf solver, an `Algorithm` (`solvers.interface.algorithm`) is
hand-written, reads a structural view of the model and runs on the shared driver. Neither judges itself: the
answer's certificate is recomputed outside (`solvers.certification.certificate`).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..certification.result import Result
from ..records.answer import Answer
from ..records.licence import OPEN, Licence
from ..records.options import Options
from ..records.rank import Purpose
from .kept_model import Kept

__all__ = ["Gives", "Solver", "SolverInfo"]


class Gives(enum.Enum):
    """An ability of a solver, or an output beyond a primal point."""

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
    reaches : float, optional
        Relative gap that it can be held to on small problems, where that is not the usual one: 1e-4 for a first-order method,
        else 1e-6.
    rank : mapping of Purpose to int
        Where ``auto`` may take it, the smallest rank first; nowhere by default.
    takes_over : callable, optional
        Whether ``auto`` takes it for a view before solvers of the form, which would take long (algorithms with a rank for models
        without a form).
    extra : str
        Extra of marginopt that installs it; empty where the base install does.
    time_limit_caveat : str
        What of it does not look at the time limit, where that may take long; empty where nothing does.
    uninterruptible_seconds : callable, optional
        About how many seconds a call on a form holds Python's lock without a look at the time limit (backends): where that is
        beyond the limit, the call runs in a process of its own, which is ended. Nothing where it never is long.
    threads_of : str
        Module of a library that may wait for its threads in a forked process, which does not have them: there the call runs in a
        process of its own. Empty where it does not wait (backends).
    integrality : tuple of str and float
        The native option, where it has one, that says how far from an integer is what it takes for one, and our setting of it
        (backends that read integers).
    reference : str
        Where the method is described.
    implementation : str
        "package.module:Class" of what carries it out, where the record stands apart from it
        (`solvers.interface.deferred_import`).
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
    reaches: float | None = None
    rank: Mapping[Purpose, int] = field(default_factory=dict, hash=False)
    takes_over: Callable[[Any], bool] | None = None
    extra: str = ""
    time_limit_caveat: str = ""
    uninterruptible_seconds: Callable[[StandardForm], float] | None = None
    threads_of: str = ""
    integrality: tuple[str, float] = ("", 1e-6)
    reference: str = ""
    implementation: str = ""

    def unread(self, model: Model) -> str | None:
        """Why an algorithm with this record cannot read the model: it has none of the views. None where it can."""
        if any(model.view(kind) is not None for kind in self.views):
            return None
        needed = " or ".join(view.__name__ for view in self.views)
        why = model.no_view_reason
        return f"it reads the structural view {needed}, which {model.name} does not have" + (f" ({why})" if why else "")


class Solver(ABC):
    """A solver: its record and how to run it."""

    info: ClassVar[SolverInfo]
    #: Whether it reads the standard form; others read a structural view of the model.
    reads_form: ClassVar[bool] = False

    def licence(self) -> Licence:
        """State of the licence, probed without a model; open solvers need none."""
        return OPEN

    def takes_over(self, model: Model) -> bool:
        """Return whether ``auto`` takes it before solvers of the form, by its record's rule on the view."""
        rule = self.info.takes_over
        for kind in self.info.views if rule is not None else ():
            view: object = model.view(kind)
            if view is not None and rule is not None and rule(view):
                return True
        return False

    @abstractmethod
    def obstacle(self, model: Model) -> str | None:
        """Why this solver cannot read the model, in a sentence without its name; None where it can."""

    @abstractmethod
    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Solve and return the answer.

        ``kept`` holds what a solver keeps between the calls of one path, for those that update their own model.
        """

    @property
    def starting(self) -> Solver:
        """Itself as what finds a first point: without limits of size that are there for the search."""
        return self

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order in which a path solves its values: as given, unless the solver gains by another one."""
        return range(len(values))

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Native options by which the next problem of a path uses those solved before; none by default."""
        return {}
