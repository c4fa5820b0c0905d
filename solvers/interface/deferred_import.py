"""Solvers by their records: the module that carries one out, with its compiled loops, is imported when it is called."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...models.model import Model
from ..certification.result import Result
from ..records.answer import Answer
from ..records.options import Options
from .kept_model import Kept
from .solver import Solver, SolverInfo

__all__ = ["Deferred", "deferred", "implementations", "loaded"]


class Deferred(Solver):
    """A solver that is its record until it is called, or until a model has the view that it reads."""

    @property
    def solver(self) -> Solver:
        """The solver itself; its module is imported now."""
        return _solver(self.info.implementation)

    def obstacle(self, model: Model) -> str | None:
        """The record's reason where the model has no view of it; else the solver's own."""
        return self.info.unread(model) or self.solver.obstacle(model)

    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Run the solver, imported now."""
        return self.solver.run(model, options, kept)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """The solver's."""
        return self.solver.path_order(parameter, values)

    def carried_over(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """The solver's."""
        return self.solver.carried_over(solved)


def deferred(info: SolverInfo) -> Solver:
    """The solver of a record that names its implementation, ``"package.module:Class"``."""
    kind = type("Deferred", (Deferred,), {"info": info, "__module__": __name__})
    solver: Solver = kind()
    return solver


def loaded(solver: Solver) -> Solver:
    """The solver itself where it stands for one."""
    return solver.solver if isinstance(solver, Deferred) else solver


def implementations(package: str, records: Iterable[SolverInfo], *others: str) -> Callable[[str], Any]:
    """``__getattr__`` of a package whose classes stand in its records, and of other names by their paths."""
    paths = [*(info.implementation for info in records), *others]
    homes = {path.rpartition(":")[2]: path for path in paths}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return pkgutil.resolve_name(homes[name])

    return get


@functools.cache
def _solver(implementation: str) -> Solver:
    solver: Solver = pkgutil.resolve_name(implementation)()
    return solver
