"""The plan of a gap report: its dimensions, checked, and the tasks that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import DataError, InputError
from ...models.arrays import FloatArray
from ...models.formulations.zero_one.model import Encoding
from ...models.model import Model
from ...solvers.records.options import Options
from ...solvers.solver_spec import SolverLike, SolverSpec, resolve
from ..bounds.big_m import BigM
from ..reduction import Reduction, without_warnings
from ..registry import bounding, default_relaxations
from .arguments import (
    Problem,
    parse_encodings,
    parse_exact,
    parse_kappas,
    parse_lams,
    parse_relaxations,
    parse_seeds,
    resolve_auto,
    split_instances_and_models,
)
from .cells.exact import ExactTask
from .cells.heuristic import HeuristicTask
from .cells.kappa import KappaTask
from .cells.model_facts import StatedExactTask, StatedTask
from .cells.record import InstanceData
from .cells.relaxation import RelaxationTask
from .cells.subject import InstanceAt, ModelSubject
from .cells.task import Task
from .parse_big_m import constants
from .store import CellStore, digest

__all__ = ["Plan"]

#: The open solver of mixed-integer programs that ``exact="auto"`` puts beside whatever auto picks.
GENERIC = "scip"


@dataclass(frozen=True, eq=False)
class Plan:
    """The dimensions of a report.

    Parameters
    ----------
    instances : tuple of Instance
    models : tuple of Stated
    lams : tuple of float
        Of the instances; a model has its own.
    relaxations : tuple of Reduction
        Of the instances.
    asked : tuple of Reduction or None
        Of the models; None for all that read a model and bound it.
    exact : tuple of Asked
        The exact solvers; none for no exact solve.
    beside : bool
        Whether the generic open solver stands beside what auto picks.
    encodings : tuple of str
    constants : tuple of BigM
        M of the encodings that have one.
    kappas : tuple of float
    seeds : tuple of int
        Of the exact solvers.
    solver : Asked
        Of the relaxations.
    options : Options
        Of every solve; the node limit is the exact solvers' alone.
    """

    instances: tuple[InstanceData, ...]
    models: tuple[ModelSubject, ...]
    lams: tuple[float, ...]
    relaxations: tuple[Reduction[Any], ...]
    asked: tuple[Reduction[Any], ...] | None
    exact: tuple[SolverSpec, ...]
    beside: bool
    encodings: tuple[Encoding, ...]
    constants: tuple[BigM, ...]
    kappas: tuple[float, ...]
    seeds: tuple[int, ...]
    solver: SolverSpec
    options: Options

    @classmethod
    def of(
        cls,
        problems: Sequence[Problem] | Mapping[str, Problem],
        relaxations: Sequence[Reduction[Any] | str] | str | None,
        exact: SolverLike | Sequence[SolverLike] | None,
        lam: float | Sequence[float],
        encodings: str | Sequence[str],
        M: str | float | Sequence[str | float] | None,
        kappa: float | Sequence[float] | None,
        seeds: Sequence[int] | None,
        solver: SolverLike,
        options: Options,
    ) -> Plan:
        """The dimensions as `gap_report` takes them.

        Raises
        ------
        InputError
            No instances, names that repeat, an unknown solver or encoding, a λ, κ, M or seed out of range.
        """
        instances, models = split_instances_and_models(problems)
        given = () if M is None else tuple(constants(m) for m in ([M] if isinstance(M, str | float | int) else M))
        asked = None if relaxations is None else parse_relaxations(relaxations)
        chosen = list(default_relaxations() if asked is None else asked)
        chosen += [m for m in given if m not in chosen]  # the sweep over M
        if len({r.name for r in chosen}) != len(chosen):
            raise InputError(f"relaxations must have different names; they are {[r.name for r in chosen]}")
        return cls(
            instances=instances,
            models=models,
            lams=parse_lams(lam),
            relaxations=tuple(chosen),
            asked=asked,
            exact=parse_exact(exact),
            beside=isinstance(exact, str) and resolve(exact).auto,
            encodings=parse_encodings(encodings),
            constants=given or (BigM("incumbent"),),
            kappas=parse_kappas(kappa),
            seeds=parse_seeds(seeds, options),
            solver=resolve(solver),
            options=options,
        )

    @property
    def relaxation_options(self) -> Options:
        """A limit of nodes says nothing to a relaxation."""
        return replace(self.options, node_limit=None)

    def heuristics(self) -> list[HeuristicTask]:
        """The first tasks of the instances: one for each and λ."""
        with without_warnings():
            return [
                HeuristicTask(InstanceAt.of(data, lam), self.relaxation_options) for data in self.instances for lam in self.lams
            ]

    def stated(self) -> list[StatedTask]:
        """The first tasks of the models."""
        return [StatedTask(model, self.relaxation_options) for model in self.models]

    def relaxed(self, tight: InstanceAt, w: FloatArray) -> list[RelaxationTask]:
        """Every relaxation of one instance at one λ, with the M of the incumbent that its heuristic found."""
        common = (tight, self.relaxation_options, w)
        return [RelaxationTask(*common, reduction, self.solver) for reduction in self.relaxations]

    def solved(self, tight: InstanceAt, w: FloatArray) -> list[ExactTask]:
        """Every exact solver × encoding × M × seed."""
        return [
            ExactTask(tight, replace(self.options, seed=seed), w, solver, encoding, m, self.solver)
            for solver in self._solvers(tight.model)
            for encoding, m in self._variants(solver)
            for seed in self.seeds
        ]

    def swept(self, subject: InstanceAt, w: FloatArray) -> list[KappaTask]:
        """Every κ, once for an instance."""
        if subject.lam != self.lams[0]:
            return []
        common = (subject, self.relaxation_options, w)
        return [KappaTask(*common, kappa, self.solver, bool(self.exact)) for kappa in self.kappas]

    def after(self, first: HeuristicTask, w: FloatArray) -> list[Task[Any]]:
        """All that follows a heuristic; the tasks share one model, whose form is compiled once."""
        tight = first.subject.tightened(w)
        return [*self.relaxed(tight, w), *self.solved(tight, w), *self.swept(first.subject, w)]

    def after_stated(self, first: StatedTask, w: FloatArray | None) -> list[Task[Any]]:
        """Every relaxation that was asked for, or all that bound the model, and every exact solver × seed."""
        subject, model = first.subject, first.subject.model
        asked = bounding(model) if self.asked is None else self.asked
        relaxed = [RelaxationTask(subject, self.relaxation_options, w, reduction, self.solver) for reduction in asked]
        exact = [
            StatedExactTask(subject, replace(self.options, seed=seed), w, solver)
            for solver in self._solvers(model)
            for seed in self.seeds
        ]
        return [*relaxed, *exact]

    def _variants(self, solver: SolverSpec) -> Iterator[tuple[Encoding | None, BigM | None]]:
        if solver.solver is not None and not solver.solver.reads_form:  # reads the data, not the form
            yield None, None
            return
        for encoding in self.encodings:
            if encoding == "indicator":
                yield encoding, None
            else:
                yield from ((encoding, m) for m in self.constants)

    def _solvers(self, model: Model) -> list[SolverSpec]:
        """The exact solvers of a model, each once: auto may pick one that is asked for by name as well."""
        asked = [resolve_auto(item, model, self.options) if item.auto else item for item in self.exact]
        if self.beside:
            asked.append(resolve(GENERIC))
        return list({item.label: item for item in asked}.values())

    def open_store(self, path: str | Path) -> CellStore:
        """The store of the report.

        Raises
        ------
        DataError
            The file is no store.
        InputError
            A solver has no key in it (`Asked.key`).
        """
        for item in (self.solver, *self.exact):
            digest(item.key)
        for subject in self.models:
            try:
                digest(subject.parts)
            except DataError as error:
                raise InputError(f"{subject.name} has no key in a store: {error}; run the report without one") from error
        return CellStore(path)

    def record(self) -> dict[str, Any]:
        """The options in words, for the foot."""
        labels = [item.label for item in self.exact]
        exact = None if not labels else labels[0] if len(labels) == 1 else labels
        record: dict[str, Any] = {"exact": exact, "encodings": list(self.encodings)}
        record["M of the exact encodings"] = [m.source_name for m in self.constants]
        if self.kappas:
            record["kappa"] = list(self.kappas)
        record |= {"solver seeds": list(self.seeds), "relaxation solver": self.solver.label}
        record["time limit"] = self.options.time_limit
        if self.options.node_limit is not None:
            record["node limit"] = self.options.node_limit
        if self.options.memory_limit is not None:
            record["memory limit"] = self.options.memory_limit
        threads = "all" if self.options.threads is None else self.options.threads
        return {**record, "threads": threads, "start": "the heuristic's classifier"}
