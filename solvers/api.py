"""``solve`` and ``compare`` as users call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from ..errors import InputError, MarginoptError
from ..models.bare_form import as_model
from ..models.model import Model
from ..models.program.form import StandardForm
from .certification.result import Result
from .compare import Comparison, ComparisonRow, Comparisons
from .interface.native_options import near_misses
from .parallel import Cluster, choose_executor
from .records.options import COMMON, Options
from .solve import solve_problem
from .solver_spec import SolverLike, SolverSpec, resolve_all

__all__ = ["compare", "solve"]


def solve(model: Model | StandardForm, solver: SolverLike = "auto", options: Options | None = None, **overrides: Any) -> Result:
    """Solve a formulation and recompute the certificate of the answer.

    Parameters
    ----------
    model : Model or StandardForm
    solver : str, Solver or pair
        A name of ``marginopt.solvers()``, a solver object, either of them with its options, ``("smo", {"tol": 1e-9})``, or
        ``"auto"``.
    options : Options, optional
        Common options, kept for several calls; keywords prevail over them.
    **overrides
        Common options: ``time_limit``, ``tol``, ``threads``, ``seed``, ``iteration_limit``, ``node_limit``, ``memory_limit``,
        ``verbose``, ``progress``, ``start``, ``callback`` (see `marginopt.solvers.Options`). All others are the solver's own
        options by its own names, passed through untouched; an unknown one is an error.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Unknown solver, option or value.
    UnsupportedModelError
        The solver cannot read the model; the message says what is missing and which solvers can.
    MissingPackageError, LicenceError
        The solver is not installed, or its licence does not cover the model.
    WriteError
        A proof log that was asked for could not be written (a full disk); its ``result`` is what the search had found by then.
    """
    return solve_problem(model, solver, Options.of(options, **overrides))


@overload
def compare(
    model: Model | StandardForm,
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparison: ...


@overload
def compare(
    model: Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm],
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparisons: ...


def compare(
    model: Model | StandardForm | Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm],
    solvers: Sequence[SolverLike],
    options: Options | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    **overrides: Any,
) -> Comparison | Comparisons:
    """Solve one model or several by several solvers, one after the other (or as ``jobs`` says), under the same limits.

    A solver that cannot take the model (unknown feature, missing package or licence) becomes a row with its reason.

    Parameters
    ----------
    model : Model or StandardForm, a sequence of them, or a mapping of names to them
        Of several models the answer is a `Comparisons`, which `performance_profile` takes.
    solvers : sequence
        As for `solve`; ``["smo", ("smo", {"precision": "double"}), MyBackend()]``. Rows have distinct labels.
    jobs : int, optional
        Solvers at a time, by joblib; -1 for all cores. Where it is not given, one, or what an enclosing
        ``joblib.parallel_config`` says. Solvers that share a machine slow each other down: compare times one after the other.
    cluster : distributed.Client or str, optional
        A Dask cluster (a client, or its scheduler's address), or "ray" for the Ray cluster of this session.
    options, **overrides
        Common options, for every solver; its own go with it in its pair.

    Raises
    ------
    InputError
        No solvers or no models were named, a name does not exist, or an option is none of the common ones.
    """
    specs = resolve_all(solvers)  # a misspelt name is an error of the call, not a row
    chosen = Options.of(options, **overrides)
    for option in chosen.native:
        others = near_misses(option, COMMON) or "; pair it with its solver: (name, {option: value})"
        raise InputError(f"compare gives the same options to every solver, and {option!r} is none that all have{others}")
    several = isinstance(model, Sequence | Mapping)
    stated = _named_models(model) if isinstance(model, Sequence | Mapping) else {"": as_model(model)}
    with choose_executor(jobs, cluster) as team:
        rows = team.all(_row, [(one, item, chosen) for one in stated.values() for item in specs])
    count = len(specs)
    tables = {
        name: Comparison(name or one.name, tuple(rows[k * count : (k + 1) * count]))
        for k, (name, one) in enumerate(stated.items())
    }
    return Comparisons(tables) if several else tables[""]


def _named_models(models: Sequence[Model | StandardForm] | Mapping[str, Model | StandardForm]) -> dict[str, Model]:
    """Return the models by name; those of a sequence by their own, numbered where it is taken."""
    if not models:
        raise InputError("compare needs a model, one at least")
    if isinstance(models, Mapping):
        return {str(name): as_model(model) for name, model in models.items()}
    stated = [as_model(model) for model in models]
    names = [model.name for model in stated]
    return {
        name if names.count(name) == 1 else f"{name} {k}": model
        for k, (name, model) in enumerate(zip(names, stated, strict=True), 1)
    }


def _row(task: tuple[Model, SolverSpec, Options], threads: int | None) -> ComparisonRow:
    """One solver's result, or the reason why there is none."""
    model, item, options = task
    try:
        return ComparisonRow(item.label, solve_problem(model, item, options.sharing(threads)), "")
    except MarginoptError as error:
        return ComparisonRow(item.label, None, str(error))
