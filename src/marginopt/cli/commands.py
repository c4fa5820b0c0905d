"""The commands on one problem: inspect, solve, compare, certify, prove, audit, and verify a proof log."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..compilation import warm_up as compile_ahead
from ..errors import DataError, ExportError, InputError, TooLargeError, UnsupportedModelError, WriteError
from ..files import check_target
from ..instances import Instance, catalogue
from ..models import Model, StandardForm
from ..models.arrays import FloatArray
from ..models.export.file_formats import read_form
from ..models.formulations import all_formulations
from ..reading import is_program
from ..solvers import (
    Comparison,
    Result,
    Status,
    compare as run_compare,
    conflict,
    load_result,
    read_solution,
    solve as run_solve,
    write_solution,
)
from ..solvers.certification.point_check import PointCheck, check_point
from ..solvers.result_checks import certified_anew
from . import NOT_SOLVED, SOLVED
from .data_options import load_instance, model_from_arguments, refuse_options_of_data
from .parsing import comma_separated, print_message
from .screen import print_answer, print_answer_by, print_table, print_text


def data(a: argparse.Namespace) -> int:
    """List the catalogue of data sets, or print the figures of one set."""
    if a.name is None:
        entries = catalogue()
        rows = [(entry.name, _summary(entry)) for entry in entries]
        print_answer_by(a, [asdict(entry) for entry in entries], lambda: print_table(("data set", "summary"), rows))
        return SOLVED
    instance = load_instance(a.name, a)
    shown = instance.display()
    record = {"name": instance.name, "source": instance.source, **_sizes(instance)}
    print_answer_by(a, record, lambda: print_table(("", ""), [("data set", shown.title), *shown.facts]))
    return SOLVED


def inspect(a: argparse.Namespace) -> int:
    """Print the mathematics of a formulation on data, and its standard form (or why it has none)."""
    if a.data is None:
        return _inspect_file(a)
    model = model_from_arguments(a)
    if a.why:
        _print_conflict(_form(model), a)
        return SOLVED
    if a.latex and not a.json:
        print(model.latex())
        return SOLVED
    form = _form(model)
    facts: dict[str, Any] = {"model": model.name, "statement": str(model), "latex": model.latex()}
    if isinstance(form, StandardForm):
        features = sorted(f.value for f in form.features)
        facts |= {"variables": form.n, "rows": form.rows, "features": features, "bytes": form.bytes}
    else:
        facts["no_form"] = form
    print_answer(a, facts, f"{model}\n\n{form}")
    return SOLVED


def _inspect_file(a: argparse.Namespace) -> int:
    """Print the program in a file."""
    program = _named_program(a, "inspect")
    if a.why:
        _print_conflict(program, a)
        return SOLVED
    record = {"model": program.name, "variables": program.n, "rows": program.rows}
    print_answer(a, record | ({"latex": program.latex()} if a.latex else {}), program.latex() if a.latex else program)
    return SOLVED


def _named_program(a: argparse.Namespace, command: str) -> StandardForm:
    """Return the form of a formulation on data, or the program in a file that stands in place of both.

    Raises
    ------
    InputError
        A formulation without data or without a form, a file of data, or options that a program's file does not take.
    """
    name = a.model
    if a.data is not None:
        form = _form(model_from_arguments(a))
        if isinstance(form, str):
            raise InputError(f"{command} needs a standard form: {form}")
        return form
    if name in all_formulations() and not Path(name).exists():
        raise InputError(f"{name} is a formulation; name the data after it: marginopt {command} {name} DATA", name=name)
    if not is_program(Path(name)):
        raise InputError(
            f"{name} is no program's file; name the formulation before data: marginopt {command} FORMULATION {name}", name=name
        )
    refuse_options_of_data(a)
    return read_form(name)


def _stated_model(a: argparse.Namespace, command: str) -> Model | StandardForm:
    """Return the formulation on data, or the program of the file that stands in place of both."""
    return model_from_arguments(a) if a.data is not None else _named_program(a, command)


def dual(a: argparse.Namespace) -> int:
    """Print the Lagrangian dual of a formulation on data or of a program's file, or write it."""
    primal = _named_program(a, "dual")
    program = (primal.relaxed() if a.relaxed else primal).dual()
    if a.out is not None:
        check_target(a.out, "--out: the dual")
        program.write(a.out)
    record = {"program": program.name, "variables": program.n, "rows": program.rows, "file": a.out}
    print_answer(a, record, program if a.out is None else f"wrote {a.out}: {program.n} variables, {program.rows} rows")
    return SOLVED


def conflict_rows(a: argparse.Namespace) -> int:
    """Print rows of a program that exclude each other: 0 where there are some, 1 where the program has a point."""
    return SOLVED if _print_conflict(_named_program(a, "conflict"), a) else NOT_SOLVED


def _form(model: Model) -> StandardForm | str:
    try:
        return model.form
    except (TooLargeError, UnsupportedModelError) as error:
        return str(error)


def solve(a: argparse.Namespace) -> int:
    """Solve one formulation by one solver."""
    native = native_options(a.set) | ({} if a.proof is None else {"proof": a.proof})
    for path, description in ((a.save, "--save: the result"), (a.proof, "--proof: the log")):
        if path is not None:
            check_target(path, description)
    common = {"time_limit": a.time_limit, "tol": a.tol, "threads": a.threads, "seed": a.seed}
    model = _stated_model(a, "solve")
    try:
        result = run_solve(model, a.solver, progress=not (a.quiet or a.json), **common, **native)
    except WriteError as error:
        if isinstance(error.result, Result):  # the log is lost, not the result
            print_answer(a, result_record(error.result), error.result)
        raise
    record = result_record(result)
    if isinstance(model, StandardForm) and result.values:
        record["values"] = _values_by_name(model, result)
    failure = _save(model, result, a) if a.save else None  # before the screen, whose reader may leave
    print_answer(a, record, result)
    if isinstance(model, StandardForm) and result.values and not a.json:
        _print_values(record["values"])
    if failure is not None:
        raise WriteError(f"{failure}; the result stands above", result) from failure
    if a.save and a.save.endswith(".sol") and not result.values:
        print_message(f"marginopt: {a.save} is not written: there is no point")
    elif a.save and not a.json:
        print_text(f"wrote {a.save}")
    return SOLVED if result.solved else NOT_SOLVED


#: Variables of a program whose values the screen shows.
_SHOWN = 30


def _values_by_name(program: StandardForm, result: Result) -> dict[str, float]:
    return dict(zip(program.names(), (program.join(result.values) + 0.0).tolist(), strict=True))


def _print_values(values: Mapping[str, float]) -> None:
    """Print the variables that are not zero, the first ones of many."""
    rows = [(name, f"{value:.10g}") for name, value in values.items() if value]
    omitted = len(rows) - _SHOWN
    print()
    print_table(("variable", "value"), rows[:_SHOWN], right=(1,))
    if omitted > 0:
        print_text(f"and {omitted} more that are not zero; --save FILE.sol writes all of them")
    elif len(rows) < len(values):
        print_text(f"{'all others are' if rows else 'all are'} 0")


def _save(model: Model | StandardForm, result: Result, a: argparse.Namespace) -> WriteError | None:
    """Write the result, or its point as a solution file; return the error of a file that could not be written."""
    path: str = a.save
    try:
        if not path.endswith(".sol"):
            result.save(path)
        elif result.values:
            write_solution(model, result.values, path, program=a.model if a.data is None else None)
    except WriteError as error:
        return error
    return None


def native_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the native options of ``--set NAME=VALUE``, their values read as Python literals or else as text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--set takes NAME=VALUE; it is {text!r}")
        try:
            options[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            options[name.strip()] = value.strip()
    return options


def _print_conflict(form: StandardForm | str, a: argparse.Namespace) -> bool:
    """Print why a form has no point, and return True; or print that it has one."""
    if isinstance(form, str):
        raise InputError(f"--why needs a standard form: {form}")
    try:
        reason = conflict(form)
    except DataError:
        raise
    except InputError as error:
        print_answer(a, {"conflict": None, "message": str(error)}, str(error))
        return False
    print_answer(a, asdict(reason), reason)
    return True


def compare(a: argparse.Namespace) -> int:
    """Solve one formulation, or the program of a file, by several solvers."""
    names = comma_separated(a.solvers)
    table = run_compare(
        _stated_model(a, "compare"),
        names,
        time_limit=a.time_limit,
        tol=a.tol,
        threads=a.threads,
        seed=a.seed,
        progress=not a.quiet,
    )
    print_answer_by(a, table.records(), lambda: show_comparison(table))
    return SOLVED if any(r.conclusive for r in table.results.values()) else NOT_SOLVED


def warm_up(a: argparse.Namespace) -> int:
    """Compile what solvers would compile in their first runs."""
    seconds = compile_ahead(*a.solvers)
    rows = [(name, f"{value:.1f}") for name, value in seconds.items()]
    print_answer_by(a, seconds, lambda: print_table(("solver", "compiled s"), rows, right=(1,)))
    return SOLVED


def show_comparison(table: Comparison) -> None:
    """Print the table as wide as the screen; below it the reasons of solvers without a result."""
    names = ("solver", "status", "objective", "gap", "kind", "nodes", "solve s", "ratio")
    rows = table.cells(names)
    print_table(names, rows, right=(2, 3, 5, 6, 7), title=table.model)
    for note in table.notes:
        print_text(note)


def _sizes(instance: Instance) -> dict[str, Any]:
    labels, counts = np.unique(instance.y, return_counts=True)
    return {
        "n": int(instance.X.shape[0]),
        "p": int(instance.X.shape[1]),
        "classes": {f"{label:g}": int(count) for label, count in zip(labels, counts, strict=True)},
    }


def _summary(entry: Any) -> str:
    availability = "" if entry.available else "; not here"
    return f"{entry.n} x {entry.p}, {entry.classes} classes; {entry.source}{availability}"


def result_record(r: Result) -> dict[str, Any]:
    """Return the record of a result that ``--json`` prints."""
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
        "compile_seconds": r.compile_seconds,
        "summary": dict(r.summary),
        "values": {label: np.asarray(value).tolist() for label, value in r.values.items()},
    }


#: The relative gap at which `prove` has proved an optimum.
_CLOSED = 1e-6


def certify(a: argparse.Namespace) -> int:
    """Say whether a stored result or a solution file is feasible, and certify its claims anew from a program's file.

    Returns 0 where the point is feasible and no claim is contradicted, 1 otherwise. An integer program's file claims an optimum
    and has nothing to support it: that is said, and no contradiction.
    """
    program = _program(a.file, "certify")
    if a.solution.endswith(".npz"):  # its digest is that of the model, which a file of its program has not
        result = certified_anew(replace(load_result(a.solution), digest="", unverified=""), program, a.solution)
        point: Mapping[str, FloatArray] | str | None = result.values
    else:
        result = read_solution(program, a.solution)
        point = a.solution if result.answer.values else None  # the file's, whatever better point was found beside it
    verification = result.verify(program, exact=a.exact)
    check = check_point(program, point) if point else None
    record = result_record(result)
    if check is not None:
        misses = [asdict(miss) for miss in check.misses]
        record |= {"feasible": check.feasible, "misses": misses, "stated_objective": check.stated_objective}
        record["unknown_variables"] = check.unknown_variables
    parts = [] if check is None else [f"{check}{_stated_bound(result, check)}"]
    if check is None or _claims_more(result):
        parts += [str(result), str(verification)]
    print_answer(a, record, "\n\n".join(parts))
    integers = result.certificate is not None and result.certificate.integrality is not None
    silent = not _claims_more(result) or (integers and result.answer.bound is None)
    supported = result.solved or (check is not None and silent)
    confirmed = check is None or (check.feasible and not check.misstated)
    return SOLVED if confirmed and supported and verification.stands else NOT_SOLVED


def _claims_more(result: Result) -> bool:
    """Return whether a file claims more than a point: how the solve ended, or a bound."""
    return result.claim.status is not Status.INTERRUPTED or result.answer.bound is not None


def _stated_bound(result: Result, check: PointCheck) -> str:
    """Return the bound that the file states, as a line."""
    bound = result.answer.bound
    if bound is None:
        return "\n  no bound is stated"
    return f"\n  the file states the bound {-bound if check.sense == 'maximise' else bound:.12g}"


def prove(a: argparse.Namespace) -> int:
    """Write a VIPR certificate of a program's file: 0 where bound and value meet, or no point is proved to be there."""
    from ..solvers.exact.vipr_certificate import write_vipr

    program = _program(a.file, "prove")
    start = None if a.start is None else read_solution(program, a.start).values
    certificate = write_vipr(program, a.certificate, start=start, time_limit=a.time_limit)
    print_answer(a, {**asdict(certificate), "gap": certificate.gap}, certificate)
    return SOLVED if certificate.gap <= _CLOSED else NOT_SOLVED


def audit(a: argparse.Namespace) -> int:
    """Audit a model file on its training data: 0, or 1 where the gap is larger than ``--tol``."""
    from ..auditing import Audit, audit as audit_machine
    from ..auditing.conversion import training_rows

    X, y = training_rows(a.data)
    result = audit_machine(a.model, X, y, C=a.C, epsilon=a.epsilon, nu=a.nu)
    record = {**asdict(result), "gap": result.gap} if isinstance(result, Audit) else list(result.records())
    print_answer(a, record, result)
    return SOLVED if a.tol is None or result.gap <= a.tol else NOT_SOLVED


def _program(path: str, command: str) -> StandardForm:
    try:
        return read_form(path)
    except ExportError as error:
        raise InputError(f"{command} needs the file of a program, as model.write makes it: {error}") from error


def check_proof(a: argparse.Namespace) -> int:
    """Verify a proof log: 0 where it proves its bound, 1 where it does not."""
    from ..solvers.proofs import check_proof as verify

    if not Path(a.file).is_file():
        raise InputError(f"there is no file {a.file}; `marginopt solve {a.model} DATA --proof FILE` writes one")
    report = verify(a.file, None if a.data is None else model_from_arguments(a), jobs=a.jobs, cluster=a.cluster)
    print_answer(a, {**asdict(report), "gap": report.gap}, report)
    return SOLVED if report.valid else NOT_SOLVED


def proof_page(a: argparse.Namespace) -> int:
    """Write the page of a proof log: 0 once it is written, whatever the page says of the log."""
    from ..proof_page import write_proof_page

    out = f"{a.log.removesuffix('.gz').removesuffix('.jsonl')}.html" if a.out is None else a.out
    path = write_proof_page(a.log, out, title=a.title)
    print_answer(a, {"page": str(path)}, f"{path} verifies {a.log} in a browser, without a network")
    return SOLVED
