"""The solver's claim and every field of its answer, under the names that a result has for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...display import Displayed
from ...models.arrays import FloatArray
from ..records.answer import Answer, Update
from ..records.status import Status
from ..records.trace import Trace

__all__ = ["Claim", "SolverReport"]


@dataclass(frozen=True)
class Claim:
    """The solver's own claim, in the form's minimisation sense."""

    status: Status
    native_status: str
    objective: float | None = None
    bound: float | None = None
    proved: bool = False


class SolverReport(Displayed):
    """A result's answer, read; nothing here is judged.

    Attributes
    ----------
    answer : Answer
    ray_residual : float or None
    picked, evidence : str
        As in `Result`: what is shown with the answer's details.
    """

    answer: Answer
    ray_residual: float | None
    picked: str
    evidence: str

    @property
    def claim(self) -> Claim:
        """The solver's own claim, in the form's sense."""
        a = self.answer
        return Claim(a.status, a.native_status, a.objective, a.bound, a.proved)

    @property
    def version(self) -> str:
        """The solver's version."""
        return self.answer.version

    @property
    def multipliers(self) -> Mapping[str, FloatArray] | None:
        """z_k by constraint label, signs as in `models.program.form`."""
        return self.answer.multipliers

    @property
    def farkas(self) -> Mapping[str, FloatArray] | None:
        """Multipliers by constraint label that prove infeasibility; None where the solver gave none."""
        return self.answer.farkas

    @property
    def ray(self) -> Mapping[str, FloatArray] | None:
        """Direction by block that proves unboundedness; None where the solver gave none."""
        return self.answer.ray

    @property
    def root_bound(self) -> float | None:
        """The bound of a tree search before its first branching, in the form's sense, where the solver says it."""
        return self.answer.root_bound

    @property
    def stationarity(self) -> float | None:
        """First-order residual of a nonconvex problem, where the algorithm measures one."""
        return self.answer.stationarity

    @property
    def optimised_parameters(self) -> Mapping[str, Any]:
        """The parameters that the solver determined beside the variables: γ or P of a minimax model."""
        return self.answer.optimised_parameters

    @property
    def history(self) -> Sequence[Mapping[str, Any]]:
        """The records of an algorithm's outer iterations."""
        return self.answer.history

    @property
    def update(self) -> Update | None:
        """The solver's use of the problem before, on a path."""
        return self.answer.update

    @property
    def bridges(self) -> tuple[str, ...]:
        """The reformulations between the form and what the solver read."""
        return self.answer.bridges

    @property
    def nodes(self) -> int | None:
        """Nodes of a tree search."""
        return self.answer.nodes

    @property
    def iterations(self) -> int | None:
        """Iterations of the solver."""
        return self.answer.iterations

    @property
    def trace(self) -> Trace:
        """The history of the run: time, objective and bound of each step."""
        return self.answer.trace

    @property
    def build_seconds(self) -> float:
        """Time of translating and loading the model."""
        return self.answer.build_seconds

    @property
    def solve_seconds(self) -> float:
        """Time of solving."""
        return self.answer.solve_seconds

    @property
    def compile_seconds(self) -> float:
        """Time of compiling loops, once for a machine."""
        return self.answer.compile_seconds

    @property
    def details(self) -> dict[str, Any]:
        """Everything else worth showing, in one mapping for people: the solver's remarks, and the facts that have attributes."""
        a, residual = self.answer, self.ray_residual
        infeasible = a.status is Status.INFEASIBLE
        facts: dict[str, Any] = {
            "farkas": a.farkas,
            "farkas_residual": residual if infeasible else None,
            "ray": a.ray,
            "ray_residual": None if infeasible else residual,
            "root_bound": a.root_bound,
            "stationarity": a.stationarity,
            "steps": list(a.history) or None,
            "bridges": list(a.bridges) or None,
            "update": None if a.update is None else str(a.update),
            "polished": a.polished or None,
            "picked": self.picked or None,
            "evidence": self.evidence or None,
        }
        return {**a.details, **a.optimised_parameters, **{name: fact for name, fact in facts.items() if fact is not None}}
