"""Options and starts of solvers: native options are checked by name and set, starts are read, unused ones are reported.

A *native option* is one of the solver's own, by its own name. It is passed through untouched if the solver has it; otherwise the
error names the nearest options that exist. A *common option* is one that `solve` takes for every solver (a field of `Options`). A
*block* is a labelled part of the form's variables x.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...errors import InputError, MarginoptWarning, near_names, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.program.form import StandardForm
from ..records import COMMON_OPTIONS, Options
from .parameter_types import annotations_of, check_plain
from .solver import Solver

A = TypeVar("A")


#: What other solvers and packages call a common option, in small letters without underscores.
_COMMON_OPTION_OF = {
    name: option
    for option, names in {
        "tol": "gap mipgap miprelgap relgap reltol relativegap optcr ratiogap epgap eps epsilon tolerance",
        "time_limit": "timelimit time timeout maxtime maxseconds seconds timelim tilim",
        "iteration_limit": "maxiter maxiters maxiterations iterationlimit",
        "node_limit": "nodes maxnodes nodelimit",
        "threads": "nthreads numthreads njobs nworkers",
        "log_file": "log logfile logpath",
        "verbose": "outputflag outlev display loglevel logtoconsole tee",
        "start": "warmstart mipstart initial x0",
        "seed": "randomseed randomstate",
    }.items()
    for name in names.split()
}


def check_native(solver: str, native: Mapping[str, Any], names_known: Iterable[str]) -> None:
    """Raise unless every native option is one that the solver knows.

    Raises
    ------
    InputError
        Names the option, the solver, and the nearest names that exist.
    """
    names = sorted(names_known)
    for option in native:
        if option not in names:
            known_options = (
                f"; it has {', '.join(names[:12])}" + (", ..." if len(names) > 12 else "") if names else "; it has none"
            )
            message = (
                f"{solver} has no option {short_text(option)}{near_misses(option, [*names, *COMMON_OPTIONS]) or known_options}"
            )
            raise InputError(message, name=option, allowed=names)


def near_misses(option: str, option_names: Iterable[str]) -> str:
    """Return the clause of a message that suggests the names nearest to an option; empty where none is near."""
    names = near_options(option, option_names)
    return f"; did you mean {' or '.join(names)}?" if names else ""


def near_options(option: str, option_names: Iterable[str]) -> list[str]:
    """Return at most three names that a misspelt option may stand for, the nearest first.

    Case and underscores count little, and of names that are paths (``limits/time``) the last part alone may be meant. What other
    solvers call a common option (``MIPGap``) stands for it.
    """
    names = sorted(option_names)
    matches = near_names(option, names)
    bare: dict[str, list[str]] = {}
    for name in names:
        # exempt (text): an option that a user misspelt
        for form in {_bare(name), _bare(name.rpartition("/")[2])}:
            bare.setdefault(form, []).append(name)
    for form in near_names(_bare(option), bare):
        matches += [name for name in bare[form][:2] if name not in matches]
    exact = [name for name in bare.get(_bare(option), ()) if name not in matches[:1]]
    nearest = [*exact[:2], *(name for name in matches if name not in exact[:2])]
    # exempt (text): an option that a user misspelt
    common = _COMMON_OPTION_OF.get(_bare(option.rpartition("/")[2]))
    if common in names:  # before all but the option itself in another spelling
        spellings = [name for name in nearest if _bare(name) == _bare(option)]
        nearest = list(dict.fromkeys([*spellings, common, *nearest]))
    return nearest[:3]


def _bare(name: str) -> str:
    return name.lower().replace("_", "")


def replace_parameters(algorithm: A, native: Mapping[str, Any]) -> A:
    """Return an algorithm, a frozen data class, with the parameters that ``native`` names replaced.

    Raises
    ------
    InputError
        There is no such parameter, or its value is of another type.
    """
    annotations = annotations_of(algorithm)
    name = algorithm.info.name if isinstance(algorithm, Solver) else type(algorithm).__name__
    check_native(name, native, annotations)
    for option, value in native.items():
        check_plain(option, value, annotations[option])
    return replace(algorithm, **native)  # type: ignore[type-var]


def set_native_options(
    solver: str, native: Mapping[str, Any], assign: Callable[[str, Any], None], refusal: type[Exception] = ValueError
) -> None:
    """Assign native options one by one; ``refusal`` is the solver's own error for a value that it rejects.

    Raises
    ------
    InputError
        The solver rejects a value; the message names the option, the value and the solver's reason.
    """
    for name, value in native.items():
        try:
            assign(name, value)
        except (TypeError, ValueError, OverflowError, KeyError, refusal) as error:
            raise InputError(f"{solver} does not take {name} = {short_text(value)}: {error}", name=name) from error


def set_block_option(form: StandardForm, options: Options, name: str, assign: Callable[[slice, FloatArray], None]) -> None:
    """Assign a native option that maps blocks to numbers, one for each variable or one for all.

    Parameters
    ----------
    form : StandardForm
    options : Options
    name : str
        The native option.
    assign : callable
        Function of a block's slice of x, and its numbers.

    Raises
    ------
    InputError
        The option is no mapping, names a block that the form does not have, or has numbers of another shape.
    """
    values = options.native.get(name, {})
    shapes = {block.label: block.shape for block in form.blocks}
    if not isinstance(values, Mapping) or any(k not in shapes or np.shape(v) not in ((), shapes[k]) for k, v in values.items()):
        blocks = ", ".join(f"{label} {shape}" for label, shape in shapes.items())
        raise InputError(
            f"{name} must map blocks to a number or an array of the block's shape; the blocks are {blocks}", name=name
        )
    for label, value in values.items():
        array = np.broadcast_to(np.asarray(value, dtype=np.float64), shapes[label])
        assign(form.slices[label], form.block(label).pack(array))


def start_point(form: StandardForm, options: Options) -> tuple[FloatArray | None, dict[str, Any]]:
    """Return the start x, for solvers that need every variable, and the note on it for the result's details.

    Raises
    ------
    InputError
        The start names a block that the form does not have, or has another shape.
    """
    if options.start is None:
        return None, {}
    indices, values = started_variables(form, options)
    if indices.size < form.n:
        missing = [block.label for block in form.blocks if not is_complete(options.start.get(block.label))]
        return None, warn_unused_start("this solver", f"it needs every variable; without some of {', '.join(missing)}")
    return values, {}


def is_complete(value: FloatArray | None) -> bool:
    """Return whether a block of a start has a value for each variable; missing ones are NaN."""
    return value is not None and not np.isnan(value).any()


def started_variables(form: StandardForm, options: Options) -> tuple[IntArray, FloatArray]:
    """Return the indices in x of the variables that a start has values for, and the values.

    Raises
    ------
    InputError
        The start names a block that the form does not have, or has another shape.
    """
    x = np.full(form.n, np.nan)
    for label, value in (options.start or {}).items():
        x[form.slices[label]] = form.block(label).pack(value)
    indices = np.flatnonzero(~np.isnan(x))
    return indices, x[indices]


def starts_linear_program(form: StandardForm, options: Options) -> bool:
    """Return whether the form is a linear program with a start, the only continuous start that simplex methods accept."""
    return not form.features and (options.start is not None or "dual_start" in options.native)


def dual_start(form: StandardForm, options: Options) -> FloatArray | None:
    """Return the multipliers of all rows that the native option ``dual_start`` maps constraints to; None without it.

    Raises
    ------
    InputError
        The option is no mapping, names a constraint that the form does not have, or has another shape; or the program is not
        linear.
    """
    start = options.native.get("dual_start")
    if start is None:
        return None
    sizes = {c.label: c.rows for c in form.constraints}
    if form.features or not isinstance(start, Mapping) or any(np.shape(z) != (sizes.get(k, -1),) for k, z in start.items()):
        raise InputError(
            "dual_start must map constraints of a linear program to one multiplier for each row; the constraints are "
            + ", ".join(f"{label} ({rows})" for label, rows in sizes.items()),
            name="dual_start",
        )
    z = [np.asarray(start.get(c.label, np.zeros(c.rows)), dtype=np.float64) for c in form.constraints]
    return np.concatenate([np.zeros(0), *z])


def warn_unused_start(solver: str, reason: str) -> dict[str, str]:
    """Warn that a start is not used, and return the note on it for the result's details."""
    warnings.warn(MarginoptWarning(f"start is not used: {solver}: {reason}", name="start"), stacklevel=2)
    return {"start": f"not used: {reason}"}


def ignored_options_note(options: Options, supported: frozenset[str]) -> dict[str, Any]:
    """Return the note, for the result's details, on common options that were given and that the solver cannot obey."""
    names = ("time_limit", "threads", "iteration_limit", "node_limit", "memory_limit", "callback", "start")
    ignored = [name for name in names if getattr(options, name) is not None and name not in supported]
    return {"options_not_taken": ignored} if ignored else {}
