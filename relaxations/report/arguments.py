"""The arguments of a report as users give them: problems, solvers, encodings, κ and seeds, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, UnsupportedModelError
from ...models.arrays import as_array, as_positive
from ...models.bare_form import as_model
from ...models.formulations.zero_one.model import Encoding
from ...models.model import Model
from ...models.program.form import StandardForm
from ...solvers.interface.solver import near_misses
from ...solvers.records.options import COMMON, Options
from ...solvers.registry import SolverLike, SolverSpec, as_list, choose, resolve_all
from ..reduction import Reduction
from ..registry import reduction_of
from .cells.record import InstanceData
from .cells.subject import ModelSubject

__all__ = [
    "Problem", "parse_encodings", "parse_exact", "parse_kappas", "parse_lams", "parse_limits", "parse_relaxations", "parse_seeds",
    "resolve_auto", "split_instances_and_models",
]  # fmt: skip

#: What a report takes: data for the 0-1 problem, or a problem as it is stated, which may say of what family it is.
Problem: TypeAlias = InstanceData | Model | StandardForm | ModelSubject
#: Seconds for each solve where no limit is given.
_SECONDS = 30.0
_ENCODINGS: tuple[Encoding, ...] = ("bigm", "indicator", "strengthened")


def parse_relaxations(given: Sequence[Reduction[Any] | str] | str) -> tuple[Reduction[Any], ...]:
    """Relaxations by name or as objects."""
    if not isinstance(given, Iterable):
        raise InputError(f"relaxations must be a list of relaxations, objects or names; got {type(given).__name__}")
    return tuple(reduction_of(one) for one in ([given] if isinstance(given, str) else given))


def split_instances_and_models(
    problems: Sequence[Problem] | Mapping[str, Problem],
) -> tuple[tuple[InstanceData, ...], tuple[ModelSubject, ...]]:
    """Instances, and models under their names: those of a mapping, else the model's own."""
    if not isinstance(problems, Mapping | Iterable):
        raise InputError(f"a report takes a list or a mapping of problems: put the {type(problems).__name__} in a list")
    named_problems: list[tuple[str, Problem]] = (
        list(problems.items()) if isinstance(problems, Mapping) else [("", problem) for problem in problems]
    )
    instances: list[InstanceData] = []
    models: list[ModelSubject] = []
    for name, problem in named_problems:
        if isinstance(problem, Model | StandardForm):
            model = as_model(problem)
            models.append(ModelSubject.of(str(name) or model.name, model))
        elif isinstance(problem, ModelSubject):
            models.append(problem)
        elif not isinstance(problem, InstanceData):
            raise InputError(f"a report takes instances, formulations and forms; got {type(problem).__name__}")
        elif name not in ("", problem.name):
            raise InputError(f"an instance keeps its own name, which is {problem.name!r}; give instances in a list")
        else:
            instances.append(problem)
    names = [*(data.name for data in instances), *(model.name for model in models)]
    if not names or len(set(names)) != len(names):
        raise InputError(
            "instances must be a non-empty list of instances with different names, or of models, which a mapping "
            f"{{name: model}} names; they are {names}"
        )
    return tuple(instances), tuple(models)


def resolve_auto(item: SolverSpec, model: Model, options: Options) -> SolverSpec:
    """Return the solver that auto picks; auto itself where no solver reads the model, which its cell then says."""
    try:
        return item.resolved(choose(model, options)[0])
    except UnsupportedModelError:
        return item


def parse_exact(given: SolverLike | Sequence[SolverLike] | None) -> tuple[SolverSpec, ...]:
    """The exact solvers; seeds and starts are the report's."""
    listed = [] if given is None else as_list(given)
    specs = resolve_all(listed) if listed else ()
    for item in specs:
        for option, instead in (("seed", "give seeds=[...]"), ("start", "every solver starts from the heuristic's classifier")):
            if option in item.own:
                raise InputError(f"{item.label}: the report itself sets {option!r} of its exact solvers; {instead}")
    return specs


def parse_limits(given: Options | None, overrides: Mapping[str, Any]) -> Options:
    """The options of every solve of a report.

    Raises
    ------
    InputError
        One that is a solver's own, or for one solve alone.
    """
    options = Options.of(given, **overrides)
    if options.native:
        name = next(iter(options.native))
        known = COMMON - {"start", "callback", "progress", "verbose", "iteration_limit"}
        raise InputError(
            f"a report has no option {name!r}{near_misses(name, known)}; a solver's own goes with the solver: "
            f"exact=('scip', {{{name!r}: ...}})"
        )
    for name in ("start", "callback"):
        if getattr(options, name) is not None:
            raise InputError(f"{name} is for one solve; every solver of a report starts from the heuristic's classifier")
    return replace(options, time_limit=_SECONDS) if options.time_limit is None else options


def parse_encodings(given: str | Sequence[str]) -> tuple[Encoding, ...]:
    """The encodings of exact solves."""
    names = [given] if isinstance(given, str) else list(given)
    encodings = tuple(e for e in _ENCODINGS if e in names)
    if not names or len(encodings) != len(names):
        raise InputError(f"encodings must be different ones of {', '.join(_ENCODINGS)}; they are {names}")
    return encodings


def parse_lams(given: float | Sequence[float]) -> tuple[float, ...]:
    """The values of λ, as they come."""
    values = np.atleast_1d(as_array(given, "lam"))
    if values.ndim != 1 or not values.size:
        raise InputError(f"lam must be a number > 0 or a list of them; it has shape {values.shape}")
    return tuple(as_positive(value, "lam") for value in values.tolist())


def parse_kappas(given: float | Sequence[float] | None) -> tuple[float, ...]:
    """The values of κ, in order."""
    values = np.atleast_1d(as_array([] if given is None else given, "kappa"))
    if values.ndim != 1 or not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise InputError(f"kappa must be parts of the points in [0, 1]; they are {values.tolist()}")
    return tuple(np.unique(values).tolist())


def parse_seeds(given: Sequence[int] | None, options: Options) -> tuple[int, ...]:
    """The seeds of exact solves, by default that of the options."""
    if given is not None and not isinstance(given, Iterable):
        raise InputError(f"seeds must be a list of integers; it is {given!r}")
    seeds = [options.seed] if given is None else list(given)
    if not seeds or len(set(seeds)) != len(seeds):
        raise InputError(f"seeds must be different integers ≥ 0, one at least; they are {seeds}")
    return tuple(replace(options, seed=seed).seed for seed in seeds)
