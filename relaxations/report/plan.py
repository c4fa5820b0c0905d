"""The plan of a gap report: the arguments of `gap_report`, parsed into problems, relaxations and solvers, and its tasks.

Dimensions are instance × λ × (relaxation, or exact solver × encoding × M × seed), and sweeps over M and κ: λ is the cost of a
margin violation, M the big-M constants, κ the share of points that may violate their margin in place of λ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from ...errors import DataError, InputError, UnsupportedModelError, count_text, short_text
from ...instances.naming import InstanceName
from ...models.arrays import FloatArray, as_array, as_positive
from ...models.formulations.zero_one import Encoding
from ...models.model import Model, as_model
from ...models.program.form import StandardForm
from ...solvers.interface.native_options import near_misses
from ...solvers.records import COMMON_OPTIONS, Options
from ...solvers.registry import SolverLike, SolverSpec, choose_solver, resolve_solver, resolve_solvers, solver_list
from ..bounds.big_m import BigM, MSource
from ..margin_reduction import as_margin
from ..reduction import Reduction, without_warnings
from ..registry import bounding_relaxations, default_relaxations, reduction_of
from .cells import LamChoice
from .exact_tasks import ExactTask, ModelExactTask
from .lam_choice import LamChoiceTask
from .problems import HeldOut, InstanceData, InstanceProblem, ModelOfLam, ModelProblem, ReportInstance, ReportProblem
from .runner import CellStore, digest
from .tasks import HeuristicTask, KappaTask, ModelTask, RelaxationTask, SolverTask

#: A problem that a report takes: data for the 0-1 problem, a model, a function that states one at λ, or replicates.
ProblemLike: TypeAlias = (
    InstanceData
    | Model
    | StandardForm
    | ModelProblem
    | ModelOfLam
    | Callable[[float], Model]
    | Sequence[Model]
    | Sequence[InstanceData]
)
#: Time limit of each solve in seconds, if none is given: a report of five instances then takes minutes.
_SECONDS = 30.0
_ENCODINGS: tuple[Encoding, ...] = ("bigm", "indicator", "strengthened")


def parse_relaxations(relaxations: Sequence[Reduction[Any] | str] | str) -> tuple[Reduction[Any], ...]:
    """Return the reductions of relaxations given by name or as objects."""
    if not isinstance(relaxations, Iterable):
        raise InputError(
            f"relaxations must be a list of relaxations, objects or names; got {type(relaxations).__name__}", name="relaxations"
        )
    return tuple(reduction_of(one) for one in ([relaxations] if isinstance(relaxations, str) else relaxations))


def split_instances_and_models(
    problems: Sequence[ProblemLike] | Mapping[str, ProblemLike],
) -> tuple[tuple[InstanceData, ...], tuple[ModelProblem | ModelOfLam, ...]]:
    """Return the instances, and the models under the names of a mapping, or their own; `InputError` for names that repeat."""
    if not isinstance(problems, Mapping | Iterable):
        raise InputError(f"a report takes a list or a mapping of problems: put the {type(problems).__name__} in a list")
    named_problems: list[tuple[str, ProblemLike]] = (
        list(problems.items()) if isinstance(problems, Mapping) else [("", problem) for problem in problems]
    )
    instances: list[InstanceData] = []
    models: list[ModelProblem | ModelOfLam] = []
    for name, problem in named_problems:
        data = _named_instances(str(name), problem)
        instances += data
        models += [] if data else _stated(str(name), problem)
    names = [*(data.name for data in instances), *(model.name for model in models)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated or not names:
        fault = f"{short_text(repeated[0])} is the name of {names.count(repeated[0])}" if repeated else "it is empty"
        raise InputError(
            f"instances must be a non-empty list of instances with different names, or of models: {fault}; a mapping "
            "{name: instance or model} gives names, {name: [replicates]} one to a family",
            name="instances",
        )
    return tuple(instances), tuple(models)


def _is_instance(problem: object) -> TypeGuard[InstanceData]:
    return isinstance(problem, InstanceData) and not isinstance(problem, Model)


def _named_instances(name: str, problem: object) -> list[InstanceData]:
    """Return an instance, or replicates as one family, under a name of a mapping; empty where the problem is a model."""
    if _is_instance(problem):
        return [problem if name in ("", problem.name) else ReportInstance.named(problem, name)]
    if name and isinstance(problem, Sequence) and problem and all(_is_instance(one) for one in problem):
        return [ReportInstance.named(one, f"{name}[{k}]", name) for k, one in enumerate(problem, 1)]
    return []


def _stated(name: str, problem: object) -> list[ModelProblem | ModelOfLam]:
    """Return the problems of a model, of replicates of one, or of a function of λ, under a name."""
    if isinstance(problem, ModelProblem | ModelOfLam):
        return [problem]
    if isinstance(problem, Model | StandardForm):
        model = as_model(problem)
        return [ModelProblem.of(name or model.name, model)]
    if name and callable(problem):
        return [ModelOfLam(InstanceName(name, "", {}, {}), problem)]
    if name and isinstance(problem, Sequence) and problem and all(isinstance(one, Model | StandardForm) for one in problem):
        return [ModelProblem.of(f"{name}[{k}]", as_model(one), name) for k, one in enumerate(problem, 1)]
    unnamed = ", and lists only as {name: [replicates]}" if isinstance(problem, Sequence) and not isinstance(problem, str) else ""
    raise InputError(f"a report takes instances, formulations and forms{unnamed}; got {type(problem).__name__}", name="problems")


def _with_incumbent(problem: ModelProblem, reduction: Reduction[Any], w: FloatArray | None) -> ModelProblem:
    """Return the problem with the known classifier passed to the model, if the relaxation needs one."""
    return problem if w is None else replace(problem, model=reduction.with_incumbent(problem.model, w))


def resolve_auto(item: SolverSpec, model: Model, options: Options) -> SolverSpec:
    """Return the solver that auto picks for a model; auto itself if no solver reads it, which the solver's cell then reports."""
    try:
        return item.with_solver(choose_solver(model, options)[0])
    except UnsupportedModelError:
        return item


def parse_exact(solvers: SolverLike | Sequence[SolverLike] | None) -> tuple[SolverSpec, ...]:
    """Return the exact solvers; `InputError` if one sets its own seed or start, which are the report's."""
    listed = [] if solvers is None else solver_list(solvers)
    specs = resolve_solvers(listed) if listed else ()
    for item in specs:
        for option, advice in (("seed", "give seeds=[...]"), ("start", "every solver starts from the heuristic's classifier")):
            if option in item.native_options:
                raise InputError(
                    f"{item.label}: the report itself sets {short_text(option)} of its exact solvers; {advice}", name=option
                )
    return specs


def parse_limits(base: Options | None, overrides: Mapping[str, Any]) -> Options:
    """Return the options of every solve of a report, 30 seconds without a time limit; `InputError` for a solver's own option."""
    options = Options.of(base, **overrides)
    if options.native:
        name = next(iter(options.native))
        allowed = COMMON_OPTIONS - {"start", "callback", "progress", "verbose", "iteration_limit"}
        raise InputError(
            f"a report has no option {short_text(name)}{near_misses(name, allowed)}; a solver's own goes with the solver: "
            f"exact=('scip', {{{short_text(name)}: ...}})",
            name=name,
        )
    for name in ("start", "callback"):
        if getattr(options, name) is not None:
            raise InputError(
                f"{name} is for one solve; every solver of a report starts from the heuristic's classifier", name=name
            )
    return replace(options, time_limit=_SECONDS) if options.time_limit is None else options


def parse_encodings(labels: str | Sequence[str]) -> tuple[Encoding, ...]:
    """Return the encodings of exact solves in their usual order; `InputError` for an unknown or a repeated one."""
    names = [labels] if isinstance(labels, str) else list(labels)
    encodings = tuple(e for e in _ENCODINGS if e in names)
    if not names or len(encodings) != len(names):
        raise InputError(f"encodings must be different ones of {', '.join(_ENCODINGS)}; they are {names}", name="encodings")
    return encodings


def parse_lams(lams: float | str | Sequence[float]) -> tuple[float, ...]:
    """Return the values of λ in the given order; an empty tuple for "auto"."""
    if isinstance(lams, str):
        if lams != "auto":
            raise InputError(f"lam must be a number > 0, a list of them, or 'auto'; it is {short_text(lams)}", name="lam")
        return ()
    values = np.atleast_1d(as_array(lams, "lam"))
    if values.ndim != 1 or not values.size:
        raise InputError(f"lam must be a number > 0 or a list of them; it has shape {values.shape}", name="lam")
    return tuple(as_positive(value, "lam") for value in values.tolist())


def parse_held_out(
    held_out: float | Mapping[str, Any] | None,
    instances: tuple[InstanceData, ...],
    models: Sequence[ModelProblem | ModelOfLam],
    seed: int,
) -> tuple[tuple[InstanceData, ...], dict[str, HeldOut]]:
    """Return the instances without their held-out part, and the held-out points by the name of the problem.

    Raises
    ------
    InputError
        A fraction beside models, whose points are fixed; a name of no problem; a model without classes; other columns.
    """
    if held_out is None:
        return instances, {}
    if not isinstance(held_out, Mapping):
        if models:
            raise InputError(
                f"{models[0].name} has its points already: give held_out={{{short_text(models[0].name)}: instance}} "
                "in place of a part",
                name="held_out",
            )
        parts = [ReportInstance.training_part(data, held_out, seed) for data in instances]
        return tuple(part for part, _ in parts), {part.name: test for part, test in parts}
    columns: dict[str, int | None] = {data.name: data.X.shape[1] for data in instances}
    for model in models:
        composed = None if isinstance(model, ModelOfLam) else as_margin(model.model.original_model)
        if composed is not None and not composed.loss.reads_class_labels:
            raise InputError(f"held_out counts errors of classes, and {model.name} has none", name="held_out")
        columns[model.name] = None if composed is None else composed.X.shape[1]
    tests = {}
    for name, data in held_out.items():
        if name not in columns or not isinstance(data, InstanceData):
            raise InputError(
                f"held_out maps names of problems ({', '.join(columns)}) to instances; "
                f"got {short_text(name)}: {type(data).__name__}",
                name="held_out",
            )
        if columns[name] not in (None, data.X.shape[1]):
            raise InputError(
                f"the points held out for {name} have {count_text(data.X.shape[1], 'column')}; the problem has {columns[name]}",
                name="held_out",
            )
        tests[name] = HeldOut(data.X, np.asarray(data.y), f"{count_text(data.X.shape[0], 'point')}, {data.name}")
    return instances, tests


def _refuse_unread(arguments: Mapping[str, bool]) -> None:
    """Raise InputError for the first argument of `gap_report` that is given, where no problem of the report reads it."""
    for name, is_given in arguments.items():
        if is_given:
            readers = "instances and functions of λ alone, {name: lambda lam: model}" if name == "lam" else "instances alone"
            raise InputError(f"{name} is for {readers}: a model is taken as it is stated, so leave {name} out", name=name)


def parse_kappas(kappa: float | Sequence[float] | None) -> tuple[float, ...]:
    """Return the values of κ in ascending order, each once; `InputError` for one outside [0, 1]."""
    values = np.atleast_1d(as_array([] if kappa is None else kappa, "kappa"))
    if values.ndim != 1 or not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise InputError(f"kappa must be parts of the points in [0, 1]; they are {short_text(values.tolist())}", name="kappa")
    return tuple(np.unique(values).tolist())


def parse_seeds(seed_list: Sequence[int] | None, options: Options) -> tuple[int, ...]:
    """Return the seeds of exact solves, by default that of the options; `InputError` for repeated or negative ones."""
    if seed_list is not None and not isinstance(seed_list, Iterable):
        raise InputError(f"seeds must be a list of integers; it is {short_text(seed_list)}", name="seeds")
    seeds = [options.seed] if seed_list is None else list(seed_list)
    if not seeds or len(set(seeds)) != len(seeds):
        raise InputError(f"seeds must be different integers ≥ 0, one at least; they are {seeds}", name="seeds")
    return tuple(replace(options, seed=seed).seed for seed in seeds)


# exempt (text): a user's '100x zero'
_WORDS = re.compile(r"(?:([0-9.eE+-]+)\s*x\s*)?(zero|incumbent|stated)")


def parse_big_m(value: str | float) -> BigM:
    """Return the big-M relaxation whose constants a word or a number names.

    Parameters
    ----------
    value : str or float
        "incumbent" or "zero" (valid M, see `BigM`), "stated", the same with a factor ("100x zero"), or a number for every
        point, also as text.
    """
    if not isinstance(value, str):
        return BigM(value)
    match = _WORDS.fullmatch(value.strip())
    try:
        if match is None:
            return BigM(float(value))
        source: MSource = match[2]  # type: ignore[assignment]
        return BigM(source, factor=1.0 if match[1] is None else float(match[1]))
    except ValueError as error:
        raise InputError(
            f"big_m must be 'incumbent', 'zero', '100x zero' or a number > 0; it is {short_text(value)}", name="big_m"
        ) from error


#: The open solver of mixed-integer programs that ``exact="auto"`` runs besides the solver that auto picks.
_GENERIC_SOLVER = "scip"


@dataclass(frozen=True, eq=False)
class Plan:
    """The dimensions of a report: the arguments of `gap_report`, parsed.

    Parameters
    ----------
    instances, models : tuple
        Data of 0-1 problems, and models as stated.
    held_out : mapping of str to HeldOut
        Held-out points by the name of the problem.
    lams : tuple of float
        Values of λ for the instances and for functions of λ; empty if λ is chosen for each.
    relaxations, model_relaxations : tuple of Reduction, tuple or None
        Relaxations of the instances, and of the models; None for all that read a model and bound it.
    exact : tuple of SolverSpec
        Exact solvers.
    with_generic : bool
        Whether SCIP runs beside the solver that auto picks.
    encodings, constants : tuple of str, tuple of BigM
        Encodings of exact solves, and the sources of M of those that have one.
    kappas, seeds : tuple of float, tuple of int
        Values of κ; seeds of the exact solvers.
    proofs : bool
        Whether the stored results of exact solves contain their proof logs.
    solver : SolverSpec
        Solver of the relaxations.
    options : Options
        Options of every solve; the node limit is for the exact solvers alone.
    """

    instances: tuple[InstanceData, ...]
    models: tuple[ModelProblem | ModelOfLam, ...]
    held_out: Mapping[str, HeldOut]
    lams: tuple[float, ...]
    relaxations: tuple[Reduction[Any], ...]
    model_relaxations: tuple[Reduction[Any], ...] | None
    exact: tuple[SolverSpec, ...]
    with_generic: bool
    encodings: tuple[Encoding, ...]
    constants: tuple[BigM, ...]
    kappas: tuple[float, ...]
    seeds: tuple[int, ...]
    proofs: bool
    solver: SolverSpec
    options: Options

    # exempt (arguments): users give them by name
    @classmethod
    def of(
        cls,
        problems: Sequence[ProblemLike] | Mapping[str, ProblemLike],
        relaxations: Sequence[Reduction[Any] | str] | str | None,
        exact: SolverLike | Sequence[SolverLike] | None,
        lam: float | str | Sequence[float],
        encodings: str | Sequence[str],
        big_m: str | float | Sequence[str | float] | None,
        kappa: float | Sequence[float] | None,
        seeds: Sequence[int] | None,
        held_out: float | Mapping[str, InstanceData] | None,
        proofs: bool,
        solver: SolverLike,
        options: Options,
    ) -> Plan:
        """Return the plan of the arguments of `gap_report`, which the ``parse_`` functions check.

        ``problems`` becomes ``instances`` and ``models``, ``lam`` ``lams``, ``big_m`` ``constants``, ``kappa`` ``kappas``.
        """
        instances, models = split_instances_and_models(problems)
        instances, tests = parse_held_out(held_out, instances, models, options.seed)
        constants_list = (
            () if big_m is None else tuple(parse_big_m(m) for m in ([big_m] if isinstance(big_m, str | float | int) else big_m))
        )
        relaxation_list = None if relaxations is None else parse_relaxations(relaxations)
        chosen = list(default_relaxations() if relaxation_list is None else relaxation_list)
        chosen += [m for m in constants_list if m not in chosen]  # the sweep over M
        if len({r.name for r in chosen}) != len(chosen):
            raise InputError(f"relaxations must have different names; they are {[r.name for r in chosen]}", name="relaxations")
        lams, encoding_list, kappas = parse_lams(lam), parse_encodings(encodings), parse_kappas(kappa)
        if not instances:
            has_lam = any(isinstance(model, ModelOfLam) for model in models)
            _refuse_unread({
                "lam": lams != (1.0,) and not has_lam, "encodings": encoding_list != ("bigm",), "big_m": bool(constants_list),
                "kappa": bool(kappas),
            })  # fmt: skip
        return cls(
            instances=instances,
            models=models,
            held_out=tests,
            lams=lams,
            relaxations=tuple(chosen),
            model_relaxations=relaxation_list,
            exact=parse_exact(exact),
            with_generic=isinstance(exact, str) and resolve_solver(exact).auto,
            encodings=encoding_list,
            constants=constants_list or (BigM("incumbent"),),
            kappas=kappas,
            seeds=parse_seeds(seeds, options),
            proofs=proofs,
            solver=resolve_solver(solver),
            options=options,
        )

    @property
    def relaxation_options(self) -> Options:
        """Return the options without the node limit, which relaxations do not use."""
        return replace(self.options, node_limit=None)

    def lam_choice_tasks(self) -> list[LamChoiceTask]:
        """Return the tasks that choose λ, one for each instance and each function of λ; an empty list if λ is given."""
        if self.lams:
            return []
        functions: list[Callable[[float], ReportProblem]] = [partial(self._instance, data) for data in self.instances]
        functions += [partial(self._model, model) for model in self.models if isinstance(model, ModelOfLam)]
        with without_warnings():
            return [LamChoiceTask(function(1.0), self.relaxation_options, function) for function in functions]

    def heuristic_tasks(self, chosen: Sequence[LamChoice]) -> list[HeuristicTask]:
        """Return the first task of each instance at each λ; ``chosen`` are the chosen λ, if λ is not given."""
        lams = [[choice.lam] for choice in chosen] or [list(self.lams)] * len(self.instances)
        with without_warnings():
            return [
                HeuristicTask(self._instance(data, lam), self.relaxation_options)
                for data, values in zip(self.instances, lams, strict=False)
                for lam in values
            ]

    def model_tasks(self, chosen: Sequence[LamChoice]) -> list[ModelTask]:
        """Return the first task of each model; a function of λ gives one for each λ, by default those of ``chosen``."""
        remaining = iter(chosen[len(self.instances) :])
        problems: list[ModelProblem] = []
        for model in self.models:
            if isinstance(model, ModelOfLam):
                problems += [self._model(model, lam) for lam in self.lams or [next(remaining).lam]]
            else:
                problems.append(replace(model, held_out=self.held_out.get(model.name)))
        return [ModelTask(problem, self.relaxation_options) for problem in problems]

    def _instance(self, data: InstanceData, lam: float) -> InstanceProblem:
        return InstanceProblem.of(data, lam, self.held_out.get(data.name))

    def _model(self, model: ModelOfLam, lam: float) -> ModelProblem:
        return replace(model.problem_at(lam), held_out=self.held_out.get(model.name))

    def relaxation_tasks(self, tightened: InstanceProblem, w: FloatArray) -> list[RelaxationTask]:
        """Return a task for every relaxation of an instance at one λ, ``tightened`` by the heuristic's classifier w."""
        common = (tightened, self.relaxation_options, w)
        return [RelaxationTask(*common, reduction, self.solver) for reduction in self.relaxations]

    def exact_tasks(self, tightened: InstanceProblem, w: FloatArray) -> list[ExactTask]:
        """Return a task for every exact solver × encoding × M × seed of an instance at one λ, started from w."""
        return [
            ExactTask(tightened, replace(self.options, seed=seed), w, solver, self.proofs, encoding, m, self.solver)
            for solver in self._solvers(tightened.model)
            for encoding, m in self._variants(solver)
            for seed in self.seeds
        ]

    def kappa_tasks(self, problem: InstanceProblem, w: FloatArray) -> list[KappaTask]:
        """Return a task for each κ of an instance at the first λ; an empty list at other λ, since the κ form has no λ."""
        if self.lams and problem.lam != self.lams[0]:
            return []
        common = (problem, self.relaxation_options, w)
        return [KappaTask(*common, kappa, self.solver, bool(self.exact)) for kappa in self.kappas]

    def tasks_after_heuristic(self, first: HeuristicTask, w: FloatArray) -> list[SolverTask[Any]]:
        """Return the tasks of an instance after the heuristic, which found w; they share one model and its compiled form."""
        tightened = first.problem.with_incumbent(w)
        return [*self.relaxation_tasks(tightened, w), *self.exact_tasks(tightened, w), *self.kappa_tasks(first.problem, w)]

    def tasks_after_model(self, first: ModelTask, w: FloatArray | None) -> list[SolverTask[Any]]:
        """Return the tasks of a model after its first: each relaxation, each exact solver × seed; w is a known classifier."""
        problem, model = first.problem, first.problem.model
        relaxation_list = bounding_relaxations(model) if self.model_relaxations is None else self.model_relaxations
        relaxed = [
            RelaxationTask(_with_incumbent(problem, reduction, w), self.relaxation_options, w, reduction, self.solver)
            for reduction in relaxation_list
        ]
        exact = [
            ModelExactTask(problem, replace(self.options, seed=seed), w, solver, self.proofs)
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
        """Return the exact solvers of a model, each once: auto may pick one that is named as well."""
        specs = [resolve_auto(item, model, self.options) if item.auto else item for item in self.exact]
        if self.with_generic:
            specs.append(resolve_solver(_GENERIC_SOLVER))
        return list({item.label: item for item in specs}.values())

    def open_store(self, path: str | Path) -> CellStore:
        """Return the store of a path, after a check that every solver and model of the plan has a key.

        Raises
        ------
        DataError
            The file is no store, or its directory does not exist.
        InputError
            A model or a solver's parameter has no digest, such as a function.
        """
        for item in (self.solver, *self.exact):
            digest(item.key)
        for problem in self.models:
            try:
                digest((problem.problem_at(1.0) if isinstance(problem, ModelOfLam) else problem).key_parts)
            except DataError as error:
                raise InputError(f"{problem.name} has no key in a store: {error}; run the report without one") from error
        return CellStore(path)

    def record(self) -> dict[str, Any]:
        """Return the options in words, for the head of the report."""
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
        if self.held_out:
            record["held out"] = {name: test.description for name, test in self.held_out.items()}
        if not self.lams:
            record["lam"] = "auto"
        threads = "all" if self.options.threads is None else self.options.threads
        return {**record, "threads": threads, "start": "the heuristic's classifier"}
