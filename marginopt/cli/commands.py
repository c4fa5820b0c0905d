"""What each command of the command line does."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, TooLargeError, UnsupportedModelError
from ..instances import Instance, catalogue
from ..models import Model, StandardForm
from ..models.formulations import all_formulations
from ..solvers import Result, compare as run_compare, solve as run_solve, solvers as solver_table
from .stating import named_instance, stated

__all__ = ["check_proof", "compare", "data", "formulations", "inspect", "json_text", "solve", "solvers"]

SOLVED, NOT_SOLVED = 0, 1


def solvers(a: argparse.Namespace) -> int:
    """The table of solvers."""
    table = solver_table()
    print(json_text(list(table.rows)) if a.json else table)
    return SOLVED


def formulations(a: argparse.Namespace) -> int:
    """The table of formulations."""
    table = all_formulations()
    print(json_text(list(table.rows)) if a.json else table)
    return SOLVED


def data(a: argparse.Namespace) -> int:
    """The catalogue, or the figures of one set."""
    if a.name is None:
        entries = catalogue()
        print(json_text([_entry(e) for e in entries]) if a.json else "\n".join(str(e) for e in entries))
        return SOLVED
    instance = named_instance(a.name, a)
    figures = {"name": instance.name, "source": instance.source, **_sizes(instance)}
    print(json_text(figures) if a.json else instance)
    return SOLVED


def inspect(a: argparse.Namespace) -> int:
    """The mathematics of a formulation on data, and its standard form (or why it has none)."""
    model = stated(a)
    if a.latex and not a.json:
        print(model.latex())
        return SOLVED
    form = _form(model)
    if a.json:
        said: dict[str, Any] = {"model": model.name, "statement": str(model), "latex": model.latex()}
        if isinstance(form, StandardForm):
            features = sorted(f.value for f in form.features)
            said |= {"variables": form.n, "rows": form.rows, "features": features, "bytes": form.bytes}
        else:
            said["no_form"] = form
        print(json_text(said))
    else:
        print(model)
        print()
        print(form)
    return SOLVED


def _form(model: Model) -> StandardForm | str:
    try:
        return model.form
    except (TooLargeError, UnsupportedModelError) as error:
        return str(error)


def solve(a: argparse.Namespace) -> int:
    """Solve one formulation by one solver."""
    native = {} if a.proof is None else {"proof": a.proof}
    result = run_solve(
        stated(a),
        a.solver,
        time_limit=a.time_limit,
        tol=a.tol,
        threads=a.threads,
        seed=a.seed,
        progress=not (a.quiet or a.json),
        **native,
    )
    print(json_text(_result(result)) if a.json else result)
    if a.save:
        result.save(a.save)
    return SOLVED if result.solved else NOT_SOLVED


def check_proof(a: argparse.Namespace) -> int:
    """Verify a proof log: 0 where it proves its bound, 1 where it does not."""
    from dataclasses import asdict

    from ..solvers.zero_one.check.checker import check_proof as verify

    if not Path(a.file).is_file():
        raise InputError(
            f"there is no file {a.file}; `marginopt solve zero-one DATA --solver zero-one-bb --proof FILE` writes one"
        )
    found = verify(a.file, None if a.data is None else stated(a))
    print(json_text({**asdict(found), "gap": found.gap}) if a.json else found)
    return SOLVED if found.valid else NOT_SOLVED


def compare(a: argparse.Namespace) -> int:
    """Solve one formulation by several solvers."""
    names = [name.strip() for name in a.solvers.split(",") if name.strip()]
    table = run_compare(
        stated(a), names, time_limit=a.time_limit, tol=a.tol, threads=a.threads, seed=a.seed, progress=not a.quiet
    )
    print(json_text(table.records()) if a.json else table)
    return SOLVED if any(r.solved for r in table.results.values()) else NOT_SOLVED


def _sizes(instance: Instance) -> dict[str, Any]:
    labels, counts = np.unique(instance.y, return_counts=True)
    return {
        "n": int(instance.X.shape[0]),
        "p": int(instance.X.shape[1]),
        "classes": {f"{label:g}": int(count) for label, count in zip(labels, counts, strict=True)},
    }


def _entry(entry: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(entry)


def _result(r: Result) -> dict[str, Any]:
    c = r.certificate
    return {
        "model": r.model,
        "solver": r.solver,
        "version": r.version,
        "status": r.status.name,
        "solved": r.solved,
        "objective": r.objective,
        "bound": r.bound,
        "bound_kind": r.bound_kind,
        "gap": r.gap,
        "solver_says": r.claim.native_status,
        "primal_residual": None if c is None else c.primal_residual,
        "dual_residual": None if c is None else c.dual_residual,
        "nodes": r.nodes,
        "iterations": r.iterations,
        "build_seconds": r.build_seconds,
        "solve_seconds": r.solve_seconds,
        "summary": dict(r.summary),
        "values": {label: np.asarray(value).tolist() for label, value in r.values.items()},
    }


def json_text(value: Any) -> str:
    """Strict JSON: infinities and NaN, for which it has no word, become null."""
    return json.dumps(_strict(value), indent=2, default=str, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
