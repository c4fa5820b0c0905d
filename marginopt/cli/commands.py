"""What each command of the command line does."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..instances import Instance, catalogue, load, read
from ..models import RBF, ConicSVM, HingeSVM, L2SVMDual, Linear, MEBDual, Model, Polynomial, ZeroOneSVM
from ..models.kernels.kernels import Kernel
from ..solvers import Result, compare as run_compare, solve as run_solve, solvers as solver_table

__all__ = [
    "MODELS", "check_proof", "compare", "data", "inspect", "json_text", "named_instance", "prepared", "solve", "solvers",
]  # fmt: skip

SOLVED, NOT_SOLVED = 0, 1


def _kernel(a: argparse.Namespace) -> Kernel:
    """The kernel of the options; a rule chooses γ where none is given."""
    if a.kernel == "linear":
        return Linear()
    if a.kernel == "polynomial":
        return Polynomial(a.degree) if a.gamma is None else Polynomial(a.degree, a.gamma)
    return RBF() if a.gamma is None else RBF(a.gamma)


def _conic(d: Instance, a: argparse.Namespace) -> Model:
    lam = 1.0 if a.lam is None and a.kappa is None else a.lam
    return ConicSVM(d.X, d.y, lam=lam, kappa=a.kappa, kernel=None if a.kernel is None else _kernel(a))


#: The formulations by their names at the prompt.
MODELS: Mapping[str, Callable[[Instance, argparse.Namespace], Model]] = {
    "hinge": lambda d, a: HingeSVM(d.X, d.y, lam=1.0 if a.lam is None else a.lam),
    "zero-one": lambda d, a: ZeroOneSVM(d.X, d.y, lam=a.lam, M=a.M, intercept=a.intercept, kappa=a.kappa),
    "conic": _conic,
    "l2svm": lambda d, a: L2SVMDual(d.X, d.y, C=a.C, kernel=_kernel(a)),
    "meb": lambda d, a: MEBDual(d.X, kernel=_kernel(a)),
}
#: Formulations that are linear in X and want it prepared with an intercept column; the duals add k + 1 themselves.
_WITH_INTERCEPT = ("hinge", "zero-one", "conic")


def solvers(a: argparse.Namespace) -> int:
    """The table of solvers."""
    table = solver_table()
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
    """The mathematics of a formulation on data, and its standard form."""
    model = _model(a)
    if a.json:
        form = model.form
        print(json_text({
            "model": model.name, "statement": str(model), "latex": model.latex(), "variables": form.n, "rows": form.rows,
            "features": sorted(f.value for f in form.features), "bytes": form.bytes,
        }))  # fmt: skip
    elif a.latex:
        print(model.latex())
    else:
        print(model)
        print()
        print(model.form)
    return SOLVED


def solve(a: argparse.Namespace) -> int:
    """Solve one formulation by one solver."""
    native = {} if a.proof is None else {"proof": a.proof}
    result = run_solve(
        _model(a),
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
    found = verify(a.file)
    if a.json:
        print(json_text(asdict(found)))
    else:
        verdict = "proved" if found.valid else f"NOT proved: {found.message}"
        incumbent = "no incumbent" if found.value == float("inf") else f"incumbent {found.value:.12g}"
        print(f"lower bound {found.bound:.12g} {verdict}; {incumbent}; {found.nodes} nodes verified")
    return SOLVED if found.valid else NOT_SOLVED


def compare(a: argparse.Namespace) -> int:
    """Solve one formulation by several solvers."""
    names = [name.strip() for name in a.solvers.split(",") if name.strip()]
    table = run_compare(
        _model(a), names, time_limit=a.time_limit, tol=a.tol, threads=a.threads, seed=a.seed, progress=not a.quiet
    )
    print(json_text(table.records()) if a.json else table)
    return SOLVED if any(r.solved for r in table.results.values()) else NOT_SOLVED


def named_instance(name: str, a: argparse.Namespace) -> Instance:
    """A data set by catalogue name or file, with the sub-setting that was asked for; not prepared."""
    path = Path(name)
    label = int(a.label) if a.label is not None and a.label.lstrip("-").isdigit() else a.label
    if path.suffix or path.exists():
        instance = read(path, label=label)
    else:
        instance = load(name) if a.part is None else load(name, part=a.part)
    if a.pair is not None:
        instance = instance.pair(*(_class_of(instance, text) for text in a.pair))
    return instance if a.n is None else instance.subsample(a.n, rng=a.seed)


def _class_of(instance: Instance, text: str) -> Any:
    """The class label that a word on the command line stands for."""
    for value in instance.classes:
        if str(value) == text or (_is_number(text) and _is_number(str(value)) and float(value) == float(text)):
            return value
    raise InputError(f"--pair: {instance.name} has no class {text}; it has {', '.join(map(str, instance.classes))}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def prepared(instance: Instance, a: argparse.Namespace, *, intercept: bool) -> Instance:
    """Standardised, with a column of ones where wanted, unless ``--raw``."""
    return instance if a.raw else instance.prepared(standardise=True, intercept=intercept)


def _model(a: argparse.Namespace) -> Model:
    instance = prepared(
        named_instance(a.data, a), a, intercept=a.model in _WITH_INTERCEPT and not (a.model == "conic" and a.kernel)
    )
    return MODELS[a.model](instance, a)


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
