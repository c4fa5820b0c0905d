"""The one answer that backends and algorithms give alike; a result holds it, judged."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import WriteError
from ...models.arrays import FloatArray
from ...models.model import Model
from .status import Status
from .trace import Trace

__all__ = ["Answer", "Update", "UpdateKind"]


class UpdateKind(enum.Enum):
    """The use of an earlier, related problem that a solver kept; the value is its message."""

    BUILT = "built"
    UPDATED = "updated in place"
    REBUILT = "rebuilt"
    STARTED = "started from earlier results"
    CLOSED = "closed by earlier results"


@dataclass(frozen=True)
class Update:
    """The kind of an update, and what was updated or why it was not."""

    kind: UpdateKind
    what: str = ""

    @classmethod
    def read(cls, text: str) -> Update:
        """Read the record from the text that ``str`` gives, as stored results hold it."""
        kind, _, what = text.partition(": ")
        return cls(UpdateKind(kind), what)

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}" if self.what else self.kind.value


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a solver before certification. All values in the form's minimisation sense.

    A backend fills in all that it knows, for the (bridged) form that it was given; an algorithm gives its point, its bound and
    what is peculiar to it, and the driver adds status, objective, iterations, trace and times.

    Parameters
    ----------
    status : Status
        The solver's claim in our vocabulary.
    native_status : str
        The solver's own word.
    values : mapping of label to array, optional
        Primal point by block of the form; None where there is none.
    multipliers : mapping of label to array, optional
        z_k by constraint, by the signs of `models.program.form`: in the dual cone (free for equalities), and
        P x + q = Σ F_k'z_k + ζ.
    reduced : ndarray (n,), optional
        ζ, the bounds' multipliers; None counts as zeros where multipliers are given (a solver whose bounds were rows).
    objective, bound : float, optional
        As claimed by the solver.
    proved : bool
        Whether ``bound`` is proved by the solver's own arithmetic on valid dual points, rather than claimed.
    root_bound : float, optional
        The bound of a tree search before its first branching.
    farkas : mapping of label to array, optional
        Multipliers by constraint that prove infeasibility (`solvers.certification.rays`).
    ray : mapping of label to array, optional
        Direction by block that proves unboundedness.
    stationarity : float, optional
        First-order residual of a nonconvex problem, where the algorithm measures one.
    nodes, iterations : int, optional
    trace : Trace
    history : sequence of mapping
        What an algorithm of outer iterations saw in each of them.
    build_seconds, solve_seconds : float
        Time of translating and loading the model, and of solving.
    compile_seconds : float
        Time of compiling loops, once for a machine, most of it before the solving began.
    version : str
        The solver's; ours where it is empty.
    bridges : tuple of str
        The reformulations between the form and what the solver read, in order.
    update : Update, optional
        What was done with what was kept of an earlier problem of one path.
    polished : str
        How the point was improved after the solver had ended; empty where it was not.
    optimised_parameters : mapping of name to value
        What the solver determined beside the form's variables: parameters of the model that it moved (γ or P of a minimax
        model), weights of objectives.
    model : Model, optional
        The model at the parameters that were moved: point, multipliers and certificate are that one's.
    same_problem : bool
        Whether ``model`` states the given problem with other constants (a big-M from the point found), so that its bounds are the
        given one's; else it is an inner problem, whose bound bounds nothing else.
    write_error : WriteError, optional
        Why a file that the run was to write (a proof log) is not there: ``solve`` raises it, with the result.
    bound_caveat : str
        On whose word the bound rests beside this process's, in words for the evidence; empty where on nobody's.
    details : mapping
        Anything else worth showing. For people: no code reads it.
    """

    status: Status = Status.FAILED
    native_status: str = ""
    values: Mapping[str, FloatArray] | None = None
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    proved: bool = False
    root_bound: float | None = None
    farkas: Mapping[str, FloatArray] | None = None
    ray: Mapping[str, FloatArray] | None = None
    stationarity: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    trace: Trace = field(default_factory=Trace)
    history: Sequence[Mapping[str, Any]] = ()
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    compile_seconds: float = 0.0
    version: str = ""
    bridges: tuple[str, ...] = ()
    update: Update | None = None
    polished: str = ""
    optimised_parameters: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None
    same_problem: bool = False
    write_error: WriteError | None = None
    bound_caveat: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> str:
        """The time of each part, in words."""
        compiling = f"{self.compile_seconds:.3g} s compiling (once for a machine), " if self.compile_seconds >= 0.01 else ""
        return f"{compiling}{self.build_seconds:.3g} s building, {self.solve_seconds:.3g} s solving"
