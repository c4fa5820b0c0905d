# exempt (text): files of results
"""Files of results (one npz of arrays and JSON, no pickle), and solution files of other solvers, certified when read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, WriteError, short_text
from ..files import (
    READ_ERRORS,
    describe_read_error,
    parse_json,
    read_arrays,
    replace_control_characters,
    write_arrays,
    write_text,
)
from ..models.export.lp import plain_names
from ..models.export.solution_files import WRITTEN_BY, FilePoint, names_in_file, read_point
from ..models.model import Model, as_model
from ..models.program.form import StandardForm
from .certification.certificate import Certificate
from .certification.result import SAVE, Result
from .interface.solver import OPEN_LICENCE
from .judgement import judge
from .records import Answer, Options, Status, Trace, TraceRow, Update
from .result_checks import NamedSolver, recertify

#: Version of the stored layout, the only one that is read.
RESULT_VERSION = 2
#: Fields that are mappings of label to array, of the result and of its answer.
_JUDGED, _SAID = ("values", "reduced"), ("multipliers", "farkas", "ray")
#: Plain fields of the result; below, those of the answer: numbers that may be missing, times, and all plain ones.
_PLAIN = ("model", "solver", "evidence", "ray_residual", "picked", "licence", "maximise")
_OPTIONAL = ("objective", "bound", "root_bound", "stationarity", "nodes", "iterations")
_TIMES = ("build_seconds", "solve_seconds", "compile_seconds")
_SAID_PLAIN = ("native_status", *_OPTIONAL, *_TIMES, "proved", "version", "bridges", "polished")
#: Relative gap of an optimum if a file does not state it: the loosest that a solver has by default.
_LOOSEST = 1e-3
_TRACE = ("iteration", "seconds", "objective", "bound", "active", "columns")
#: Largest number of results that a file may hold: a larger one is damage.
_MOST_RESULTS = 10**6


def save_result(result: Result, path: str | Path) -> Path:
    """Write a result to ``path`` (a missing suffix .npz is added) and return the path.

    The stored point is the certified one, not the solver's own before it was completed and polished. Parameters that the solver
    optimised are stored, the model at these parameters is not.

    Parameters
    ----------
    result : Result
        The result to store.
    path : str or Path
        The file.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    WriteError
        The file cannot be written.
    """
    return write_arrays(_npz(path), _arrays(result))


SAVE.implemented_by(save_result)


def save_results(path: str | Path, kind: str, header: Mapping[str, Any], results: Sequence[Result | None]) -> Path:
    """Write several results (None for a missing one) and a header to one file of a kind, such as "path"; return its path."""
    meta = {"format": f"marginopt {kind}", "format_version": RESULT_VERSION, "said": _plain(header)}
    meta["held"] = [k for k, result in enumerate(results) if result is not None]
    meta["count"] = len(results)
    arrays: dict[str, Any] = {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)}
    for k, result in enumerate(results):
        if result is not None:
            arrays |= {f"{k}/{name}": value for name, value in _arrays(result).items()}
    return write_arrays(_npz(path), arrays)


def load_results(
    path: str | Path, kind: str, model: Callable[[Mapping[str, Any], int], Model | StandardForm | None]
) -> tuple[dict[str, Any], list[Result | None]]:
    """Read header and results that `save_results` wrote; ``model(header, k)`` gives the model of the k-th result, or None.

    Each result is certified anew from its model; without one its claims are as stored.

    Raises
    ------
    DataError
        No such file, of another kind, or one of another model.
    """
    with data_error_context(path, kind):
        arrays = read_arrays(_given(path), f"a stored marginopt {kind}")
        meta = _meta(arrays)
        if meta["format"] != f"marginopt {kind}":
            raise DataError(f"it is a {meta['format']}, not a stored {kind}")
        count, header = meta["count"], dict(meta["said"])
        if not 0 < count <= _MOST_RESULTS:
            raise DataError(f"it holds {count} results")
        results: list[Result | None] = [None] * count
        for k in meta["held"]:
            start = f"{k}/"
            results[k] = _result({name.removeprefix(start): v for name, v in arrays.items() if name.startswith(start)})
        return header, [None if r is None else _judged(r, path, model(header, k)) for k, r in enumerate(results)]


@contextmanager
def data_error_context(path: str | Path, kind: str) -> Iterator[None]:
    """Translate errors that a file's content raises in the ``with`` block into a DataError that names the file."""
    try:
        yield
    except DataError as error:
        raise DataError(str(error), name=error.name, file=path) from error
    except READ_ERRORS as error:
        raise DataError(f"{path} is not a stored marginopt {kind}: {describe_read_error(error)}", file=path) from error


def checked_text(value: object) -> str:
    """Return a field of a file that must be text; raise DataError for another type."""
    if not isinstance(value, str):
        raise DataError(f"a value is of another kind than the layout has there: {short_text(value)}")
    return value


def _meta(arrays: dict[str, Any]) -> dict[str, Any]:
    """Take the record out of the arrays of a file."""
    return dict(replace_control_characters(parse_json(bytes(arrays.pop("meta")).decode())))


def _npz(path: str | Path) -> Path:
    target = Path(path)
    if not target.name:
        raise WriteError(f"{short_text(str(path))} is a folder; a file's name is needed")
    return target if target.suffix == ".npz" else target.with_name(target.name + ".npz")


def _given(path: str | Path) -> Path:
    file = Path(path)
    return file if file.exists() or not file.name else _npz(file)  # the name with the suffix that writing adds


def _arrays(result: Result) -> dict[str, Any]:
    answer = result.answer
    parts = {part: getattr(result, part) for part in _JUDGED} | {part: getattr(answer, part) for part in _SAID}
    stored_parts = {part: content for part, content in parts.items() if content is not None}
    arrays: dict[str, Any] = {
        f"{part}/{label}": np.asarray(value) for part, content in stored_parts.items() for label, value in content.items()
    }
    arrays |= {f"trace/{name}": answer.trace.column(name) for name in _TRACE}
    meta = {
        "format": "marginopt result",
        "format_version": RESULT_VERSION,
        **{name: getattr(result, name) for name in _PLAIN},
        "ray_proved": result.ray_proved,
        "status": result.status.name,
        "certificate": None if result.certificate is None else asdict(result.certificate),
        "options": dict(result.options),
        "summary": dict(result.summary),
        "answer": {
            **{name: getattr(answer, name) for name in _SAID_PLAIN},
            "status": answer.status.name,
            "update": None if answer.update is None else str(answer.update),
            "history": _plain(answer.history),
            "moved": _plain(answer.optimised_parameters),
            "details": _plain(answer.details),
            "proof": answer.proof,
        },
        "steps": [row.step for row in answer.trace],
        "parts": list(stored_parts),
        "digest": result.digest,
        "tol": result.tol,
        "about": dict(result.model_description),
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    return arrays


def load_result(path: str | Path, model: Model | StandardForm | None = None) -> Result:
    """Read a result that `save_result` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    model : Model or StandardForm, optional
        The model that was solved. If it is given, the claims of the file are certified anew from it. Without it they are as
        stored, which ``unverified`` of the result says: a file can be edited.

    Returns
    -------
    Result
        The result with a certificate recomputed from ``model``; without a model with the file's claims alone.

    Raises
    ------
    DataError
        No such file, not a stored result, one of another layout (`RESULT_VERSION`), or of other data or parameters than the
        model's.
    """
    with data_error_context(path, "result"):
        return _judged(_result(read_arrays(_given(path), "a stored marginopt result")), path, model)


def _judged(result: Result, path: str | Path, model: Model | StandardForm | None) -> Result:
    """Return the result certified anew with a model; without one marked as not verified."""
    if model is None:
        return replace(result, unverified=f"claims as stored in {Path(path).name}, not verified: give load_result the model")
    try:
        return recertify(result, model, str(path))
    except READ_ERRORS as error:  # labels fit, but a stored parameter is none of the model
        raise DataError(
            f"{path} holds what the model cannot be certified with: {describe_read_error(error)}", name="model", file=path
        ) from error


def _result(arrays: dict[str, Any]) -> Result:
    meta = _meta(arrays)
    if meta.get("format_version") != RESULT_VERSION:
        raise DataError(f"it has layout {meta.get('format_version')}; this version reads {RESULT_VERSION}")
    parts = {part: _part(arrays, part) for part in meta["parts"]}
    answer_fields, certificate = meta["answer"], meta["certificate"]
    fields: dict[str, Any] = {name: answer_fields[name] for name in _SAID_PLAIN} | {
        part: parts[part] for part in _SAID if part in parts
    }
    _check_kinds(meta, answer_fields)
    answer = Answer(
        **{**fields, "bridges": tuple(str(bridge) for bridge in answer_fields["bridges"])},
        proof=str(answer_fields.get("proof", "")),
        status=Status[answer_fields["status"]],
        values=parts.get("values") or None,
        trace=_trace(arrays, meta["steps"]),
        update=None if answer_fields["update"] is None else Update.read(answer_fields["update"]),
        history=list(answer_fields["history"]),
        optimised_parameters=dict(answer_fields["moved"]),
        details=dict(answer_fields["details"]),
    )
    return Result(
        **{name: meta[name] for name in _PLAIN},
        ray_proved=meta.get("ray_proved", False),
        status=Status[meta["status"]],
        answer=answer,
        certificate=None if certificate is None else _certificate(certificate),
        values=parts.get("values", {}),
        reduced=parts.get("reduced"),
        options=dict(meta["options"]),
        summary={str(name): float(value) for name, value in meta["summary"].items()},
        digest=str(meta["digest"]),
        model_description={str(name): str(value) for name, value in meta["about"].items()},
        tol=float(meta.get("tol", _LOOSEST)),
    )


def _certificate(stored: Mapping[str, Any]) -> Certificate:
    """Return a stored certificate, its numbers checked."""
    words = ("argument", "condition", "derived")
    fields: dict[str, Any] = {
        name: value if value is None or name in words else float(value) for name, value in stored.items() if name != "violations"
    }
    absent = ("integrality", "dual_residual", "complementarity", "unmet", "stated_objective")
    if any(value is None and name not in absent for name, value in fields.items()):
        raise DataError("a number of the certificate is missing")
    if not all(isinstance(fields.get(name, ""), str) for name in words):
        raise DataError("the certificate's argument must be text")
    return Certificate(violations={str(label): float(v) for label, v in stored["violations"].items()}, **fields)


def _check_kinds(meta: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Raise DataError for a value of another kind than the layout has: a file may have been edited."""
    kinds: dict[type | tuple[type, ...], tuple[Any, ...]] = {
        str: (
            *(meta[name] for name in _PLAIN if name not in ("ray_residual", "maximise")),
            result["native_status"],
            result["version"],
        ),
        bool: (meta["maximise"], meta.get("ray_proved", False), result["proved"]),
        (int, float): (
            *(value for value in (meta["ray_residual"], *(result[name] for name in _OPTIONAL)) if value is not None),
            *(result[name] for name in _TIMES),
        ),
        dict: (meta["options"], meta["summary"], result["moved"], result["details"], *result["history"]),
    }
    for kind, values in kinds.items():
        for value in values:
            if not isinstance(value, kind) or (kind == (int, float) and not _is_number(value)):
                raise DataError(f"a value is of another kind than the layout has there: {short_text(value)}")


def _is_number(value: object) -> bool:
    """Return whether a value is a number of double precision: JSON's whole numbers may be larger, and a bool is none."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63)


def _part(arrays: Mapping[str, Any], part: str) -> dict[str, Any]:
    return {name.removeprefix(f"{part}/"): value for name, value in arrays.items() if name.startswith(f"{part}/")}


def _trace(arrays: Mapping[str, Any], steps: list[str]) -> Trace:
    columns = {name: arrays[f"trace/{name}"] for name in _TRACE}
    return Trace(
        tuple(
            TraceRow(
                int(columns["iteration"][k]),
                float(columns["seconds"][k]),
                float(columns["objective"][k]),
                float(columns["bound"][k]),
                int(columns["active"][k]),
                int(columns["columns"][k]),
                step,
            )
            for k, step in enumerate(steps)
        )
    )


def _plain(value: Any) -> Any:
    """Return details as JSON values: arrays become lists, and objects that JSON does not have become text."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


#: Status by words of the solvers' files, the more particular words first.
_WORDS = (
    ("infeasible or unbounded", Status.FAILED),
    ("inf_or_unbd", Status.FAILED),
    ("primal_infeasible_cer", Status.INFEASIBLE),
    ("dual_infeasible_cer", Status.UNBOUNDED),
    ("primal_infeasible", Status.INFEASIBLE),
    ("infeasible", Status.INFEASIBLE),
    ("unbounded", Status.UNBOUNDED),
    ("optimal", Status.OPTIMAL),
    ("solved", Status.OPTIMAL),
    ("time limit", Status.TIME_LIMIT),
    ("stopped on time", Status.TIME_LIMIT),
    ("iteration limit", Status.ITERATION_LIMIT),
    ("stopped on iterations", Status.ITERATION_LIMIT),
    ("node limit", Status.NODE_LIMIT),
    ("stopped on nodes", Status.NODE_LIMIT),
    ("gap limit", Status.OPTIMAL),
)


def read_solution(model: Model | StandardForm, path: str | Path, *, tol: float | None = None) -> Result:
    """Read a solver's solution file and certify its claims from the model; the point is not improved.

    Parameters
    ----------
    model : Model or StandardForm
        The model that the solver was given, by `Model.write` or ``to_gurobi``, ``to_mosek``, ...
    path : str or path
        The file: Gurobi ``.sol``, SCIP ``.sol``, HiGHS solution files (style 0), CPLEX ``.sol``, CBC's, MOSEK ``.sol .bas .int``,
        AMPL ``.sol`` (beside the ``.nl`` file that it belongs to), MIPLIB's, or a name and a number a line; the number may be a
        fraction p/q, which is rounded to double precision. The kind follows from the content.
    tol : float, optional
        Relative gap up to which an optimum counts as supported; by default 1e-6.

    Returns
    -------
    Result
        ``solver`` is the solver that wrote the file, "unknown" if the file does not name it. The status is the file's claim,
        lowered if the certificate does not support it; a file without a claim (Gurobi's) counts as interrupted, unless its gap
        is closed. Multipliers of a claim of infeasibility are in ``farkas``, checked as its proof.

    Raises
    ------
    DataError
        No such file, of no known kind, or not a solution of this model.
    """
    problem = as_model(model)
    point = read_point(problem.form, path)
    status = _claimed(point)
    ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
    ignored = {"variables_not_ours": point.unknown_variables} if point.unknown_variables else {}
    raw = Answer(
        status=status,
        native_status=point.status_text or "the file says nothing of how the solve ended",
        values=None if point.x is None or ray else problem.form.split(point.x),
        multipliers=None if ray else point.multipliers,
        reduced=None if ray else point.reduced,
        objective=point.objective,
        bound=point.bound,
        version="(from a file)",
        farkas=point.multipliers if status is Status.INFEASIBLE else None,
        details={"file": Path(path).name, **ignored},
    )
    result = judge(problem, NamedSolver(point.solver, "its solution file"), raw, Options(tol=tol), OPEN_LICENCE, as_given=True)
    return replace(result, licence="")


def write_solution(
    model: Model | StandardForm, values: Mapping[str, object], path: str | Path, *, program: str | Path | None = None
) -> Path:
    """Write a point as a solution file of Gurobi's kind, a name and a number a line, and return the path.

    Gurobi takes it as a start, SCIP reads it as a solution, and so does `read_solution`.

    Parameters
    ----------
    model : Model or StandardForm
    values : mapping of name to array or number
        The point by block (``result.values``), or by the names of single variables.
    path : str or Path
        The file.
    program : str or Path, optional
        The program's file that the solution is for: variables have the names of that file, such as ``x[1]`` or ``e.2``. By
        default variables have the names of the file that `Model.write` makes, ``x_1`` and ``v_e_2``, which every reader takes.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        Names that the program does not have, or variables without a value.
    WriteError
        The file cannot be written.
    """
    problem = as_model(model)
    form = problem.form
    x = form.join(problem.complete(form.read_values(values, "values")))
    value = form.objective(x) * (-1.0 if form.maximise else 1.0)
    lines = [f"{WRITTEN_BY}: a point of {form.name}", f"# Objective value = {value!r}"]
    names = plain_names(form.names()) if program is None else names_in_file(form, Path(program))
    lines += [f"{name} {number!r}" for name, number in zip(names, (x + 0.0).tolist(), strict=True)]
    return write_text(path, "\n".join(lines) + "\n")


def _claimed(point: FilePoint) -> Status:
    if not point.status_text:
        return Status.INTERRUPTED
    words = point.status_text.lower()
    statuses = [status for word, status in _WORDS if word in words]
    return statuses[0] if statuses else (Status.FAILED if point.x is None else Status.INTERRUPTED)
