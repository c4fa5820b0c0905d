"""The commands on one data set, problem, result or proof log, such as ``solve`` and ``certify``, and ``warm-up``.

The function of a command takes its parsed arguments, prints the answer and returns the exit code, 0 unless its docstring says
otherwise. `options` sets it as the command's ``run``.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..compilation import warm_up as compile_ahead
from ..errors import DataError, ExportError, InputError, TooLargeError, UnsupportedModelError, WriteError, count_text, short_text
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
from ..solvers.certification.point_check import check_point
from ..solvers.certification.result import BoundKind
from ..solvers.result_checks import recertify
from . import NOT_SOLVED, SOLVED
from .data_options import load_instance, model_from_arguments, refuse_options_of_data
from .parsing import comma_separated, print_message
from .screen import print_answer, print_answer_by, print_table, print_text


def data(args: argparse.Namespace) -> int:
    """List the catalogue of data sets, or print sizes, classes and source of one set."""
    if args.name is None:
        entries = catalogue()
        rows = [(entry.name, _summary(entry)) for entry in entries]
        print_answer_by(args, [asdict(entry) for entry in entries], lambda: print_table(("data set", "summary"), rows))
        return SOLVED
    instance = load_instance(args.name, args)
    shown = instance.display()
    record = {"name": instance.name, "source": instance.source, **_sizes(instance)}
    print_answer_by(args, record, lambda: print_table(("", ""), [("data set", shown.title), *shown.facts]))
    return SOLVED


def inspect(args: argparse.Namespace) -> int:
    """Print the mathematics of a formulation on data, and its standard form (or why it has none)."""
    if args.data is None:
        return _inspect_file(args)
    model = model_from_arguments(args)
    if args.why:
        _print_conflict(_form(model), args)
        return SOLVED
    if args.latex and not args.json:
        print(model.latex())
        return SOLVED
    form = _form(model)
    facts: dict[str, Any] = {"model": model.name, "statement": str(model), "latex": model.latex()}
    if isinstance(form, StandardForm):
        features = sorted(f.value for f in form.features)
        facts |= {"variables": form.n, "rows": form.rows, "features": features, "bytes": form.bytes}
    else:
        facts["no_form"] = form
    print_answer(args, facts, f"{model}\n\n{form}")
    return SOLVED


def _inspect_file(args: argparse.Namespace) -> int:
    """Print the program in a file."""
    program = _named_program(args, "inspect")
    if args.why:
        _print_conflict(program, args)
        return SOLVED
    record = {"model": program.name, "variables": program.n, "rows": program.rows}
    print_answer(args, record | ({"latex": program.latex()} if args.latex else {}), program.latex() if args.latex else program)
    return SOLVED


def _named_program(args: argparse.Namespace, command: str) -> StandardForm:
    """Return the form of a formulation on data, or the program in a file that stands in place of both.

    Raises
    ------
    InputError
        A formulation without data or without a form, a file of data, or options that a program's file does not take.
    """
    name = args.model
    if args.data is not None:
        form = _form(model_from_arguments(args))
        if isinstance(form, str):
            raise InputError(f"{command} needs a standard form: {form}")
        return form
    if name in all_formulations() and not Path(name).exists():
        raise InputError(f"{name} is a formulation; name the data after it: marginopt {command} {name} DATA", name=name)
    if not is_program(Path(name)):
        raise InputError(
            f"{name} is no program's file; name the formulation before data: marginopt {command} FORMULATION {name}", name=name
        )
    refuse_options_of_data(args)
    return read_form(name)


def _stated_model(args: argparse.Namespace, command: str) -> Model | StandardForm:
    """Return the formulation on data, or the program of the file that stands in place of both."""
    return model_from_arguments(args) if args.data is not None else _named_program(args, command)


def dual(args: argparse.Namespace) -> int:
    """Print the Lagrangian dual of a formulation on data or of a program's file, or write it."""
    primal = _named_program(args, "dual")
    program = (primal.relaxed() if args.relaxed else primal).dual()
    if args.out is not None:
        check_target(args.out, "--out: the dual")
        program.write(args.out)
    record = {"program": program.name, "variables": program.n, "rows": program.rows, "file": args.out}
    print_answer(
        args,
        record,
        program
        if args.out is None
        else f"wrote {args.out}: {count_text(program.n, 'variable')}, {count_text(program.rows, 'row')}",
    )
    return SOLVED


def conflict_rows(args: argparse.Namespace) -> int:
    """Print constraints of a program that cannot hold together: 0 if they are found, 1 if it has a feasible point."""
    return SOLVED if _print_conflict(_named_program(args, "conflict"), args) else NOT_SOLVED


def _form(model: Model) -> StandardForm | str:
    try:
        return model.form
    except (TooLargeError, UnsupportedModelError) as error:
        return str(error)


def solve(args: argparse.Namespace) -> int:
    """Solve a formulation on data, or the program of a file: 0 if it is solved, else 1."""
    native = native_options(args.set) | ({} if args.proof is None else {"proof": args.proof})
    for path, description in ((args.save, "--save: the result"), (args.proof, "--proof: the log")):
        if path is not None:
            check_target(path, description)
    common = {"time_limit": args.time_limit, "tol": args.tol, "threads": args.threads, "seed": args.seed}
    model = _stated_model(args, "solve")
    try:
        result = run_solve(model, args.solver, progress=not (args.quiet or args.json), **common, **native)
    except WriteError as error:
        if isinstance(error.result, Result):  # the log is lost, not the result
            print_answer(args, _result_record(error.result), error.result)
        raise
    record = _result_record(result)
    names = None if isinstance(model, StandardForm) else model.data_names
    record |= {} if names is None else {"classes": list(names.classes)}
    if isinstance(model, StandardForm) and result.values:
        record["values"] = _values_by_name(model, result)
    failure = _save(model, result, args) if args.save else None  # before the screen, whose reader may leave
    print_answer(args, record, result)
    if isinstance(model, StandardForm) and result.values and not args.json:
        _print_values(record["values"])
    if names is not None and names.classes and not args.json:
        print_text(f"  {names.class_note}")
    if failure is not None:
        raise WriteError(f"{failure}; the result stands above", result) from failure
    if args.save and args.save.endswith(".sol") and not result.values:
        print_message(f"marginopt: {args.save} is not written: there is no point")
    elif args.save and not args.json:
        print_text(f"wrote {args.save}")
    return SOLVED if result.solved else NOT_SOLVED


#: Number of variables whose values the screen shows.
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


def _save(model: Model | StandardForm, result: Result, args: argparse.Namespace) -> WriteError | None:
    """Write the result, or its point as a solution file; return the error of a file that could not be written."""
    path: str = args.save
    try:
        if not path.endswith(".sol"):
            result.save(path)
        elif result.values:
            write_solution(model, result.values, path, program=args.model if args.data is None else None)
    except WriteError as error:
        return error
    return None


def native_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the native options of ``--set NAME=VALUE``, their values read as Python literals or else as text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--set takes NAME=VALUE; it is {short_text(text)}")
        try:
            options[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            options[name.strip()] = value.strip()
    return options


def _print_conflict(form: StandardForm | str, args: argparse.Namespace) -> bool:
    """Print why a form has no point, and return True; or print that it has one."""
    if isinstance(form, str):
        raise InputError(f"--why needs a standard form: {form}")
    try:
        reason = conflict(form)
    except DataError:
        raise
    except InputError as error:
        print_answer(args, {"conflict": None, "message": str(error)}, str(error))
        return False
    print_answer(args, asdict(reason), reason)
    return True


def compare(args: argparse.Namespace) -> int:
    """Solve a formulation on data, or the program of a file, by several solvers: 0 if one of them solves it, else 1."""
    names = comma_separated(args.solvers)
    table = run_compare(
        _stated_model(args, "compare"),
        names,
        time_limit=args.time_limit,
        tol=args.tol,
        threads=args.threads,
        seed=args.seed,
        progress=not args.quiet,
    )
    print_answer_by(args, table.records(), lambda: _show_comparison(table))
    return SOLVED if any(r.conclusive for r in table.results.values()) else NOT_SOLVED


def warm_up(args: argparse.Namespace) -> int:
    """Compile the loops of solvers ahead of time, and print the seconds of each solver."""
    seconds = compile_ahead(*args.solvers)
    rows = [(name, f"{value:.1f}") for name, value in seconds.items()]
    print_answer_by(args, seconds, lambda: print_table(("solver", "compiled s"), rows, right=(1,)))
    return SOLVED


def _show_comparison(table: Comparison) -> None:
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
    return f"{entry.n} x {entry.p}, {count_text(entry.classes, 'class', 'classes')}; {entry.source}{availability}"


def _result_record(result: Result) -> dict[str, Any]:
    """Return the record of a result that ``--json`` prints."""
    certificate = result.certificate
    return {
        "model": result.model,
        "solver": result.solver,
        "version": result.version,
        "status": result.status.name,
        "solved": result.solved,
        "objective": result.objective,
        "bound": result.bound,
        "bound_kind": result.bound_kind,
        "gap": result.gap,
        "solver_says": result.claim.native_status,
        "primal_residual": None if certificate is None else certificate.primal_residual,
        "dual_residual": None if certificate is None else certificate.dual_residual,
        "nodes": result.nodes,
        "iterations": result.iterations,
        "build_seconds": result.build_seconds,
        "solve_seconds": result.solve_seconds,
        "compile_seconds": result.compile_seconds,
        "summary": dict(result.summary),
        "values": {label: np.asarray(value).tolist() for label, value in result.values.items()},
    }


#: The relative gap up to which bound and value of a certificate meet.
_CLOSED = 1e-6


def certify(args: argparse.Namespace) -> int:
    """Check the feasibility of a stored result or a solution file, and recompute its certificate from a program's file.

    Return 0 if the point is feasible and every claim (status, objective, bound) is supported, else 1. A solution file of an
    integer program may claim an optimum without a bound, which is then not required.
    """
    program = _program(args.file, "certify")
    if args.solution.endswith(".npz"):  # its digest is that of the model, which a file of its program has not
        result = recertify(replace(load_result(args.solution), digest="", unverified=""), program, args.solution)
        point: Mapping[str, FloatArray] | str | None = result.values
    else:
        result = read_solution(program, args.solution)
        point = args.solution if result.answer.values else None  # the file's, whatever better point was found beside it
    verification = result.verify(program, exact=args.exact)
    check = check_point(program, point) if point else None
    record = _result_record(result)
    if check is not None:
        violations = [asdict(violation) for violation in check.violations]
        record |= {"feasible": check.feasible, "misses": violations, "stated_objective": check.stated_objective}
        record["unknown_variables"] = check.unknown_variables
    parts = [] if check is None else [f"{check}{_bound_lines(result)}"]
    if check is None or _claims_more(result):
        parts += [str(result), str(verification)]
    print_answer(args, record, "\n\n".join(parts))
    integers = result.certificate is not None and result.certificate.integrality is not None
    silent = not _claims_more(result) or (integers and result.answer.bound is None)
    supported = result.solved or (check is not None and silent)
    confirmed = check is None or (check.feasible and not check.misstated)
    return SOLVED if confirmed and supported and verification.stands else NOT_SOLVED


def _claims_more(result: Result) -> bool:
    """Return whether a file claims more than a point: a status of the solve, or a bound."""
    return result.claim.status is not Status.INTERRUPTED or result.answer.bound is not None


def _bound_lines(result: Result) -> str:
    """Return the best bound with its kind, and the bound that the file states if that is another one, as lines."""
    bound, kind = result.best_bound
    lines = [] if kind == BoundKind.NONE.value else [f"bound {result.in_own_sense(bound):.12g} ({kind})"]
    stated_bound = result.answer.bound
    if stated_bound is not None and not np.isclose(stated_bound, bound, rtol=1e-9, atol=1e-9):
        lines.append(f"the file states the bound {result.in_own_sense(stated_bound):.12g}")
    return "".join(f"\n  {line}" for line in lines or ["no bound is stated"])


def prove(args: argparse.Namespace) -> int:
    """Solve a program's file and write the proof in the VIPR format (Cheung, Gleixner and Steffy, 2017).

    Return 0 if it proves infeasibility, or an optimum to a relative gap of at most 1e-6, else 1.
    """
    from ..solvers.exact.vipr_certificate import write_vipr

    program = _program(args.file, "prove")
    start = None if args.start is None else read_solution(program, args.start).values
    certificate = write_vipr(program, args.certificate, start=start, time_limit=args.time_limit)
    print_answer(args, {**asdict(certificate), "gap": certificate.gap}, certificate)
    return SOLVED if certificate.gap <= _CLOSED else NOT_SOLVED


def audit(args: argparse.Namespace) -> int:
    """Prove how far a machine (SVM or logistic regression), read from a file, is from the optimum on its training data.

    Return 0, or 1 if its relative gap is larger than ``--tol``.
    """
    from ..auditing import Audit, audit as audit_machine
    from ..auditing.conversion import training_rows

    X, y = training_rows(args.data)
    result = audit_machine(args.model, X, y, C=args.C, epsilon=args.epsilon, nu=args.nu)
    record = {**asdict(result), "gap": result.gap} if isinstance(result, Audit) else list(result.records())
    print_answer(args, record, result)
    return SOLVED if args.tol is None or result.gap <= args.tol else NOT_SOLVED


def _program(path: str, command: str) -> StandardForm:
    try:
        return read_form(path)
    except ExportError as error:
        raise InputError(f"{command} needs the file of a program, as model.write makes it: {error}") from error


def check_proof(args: argparse.Namespace) -> int:
    """Verify a proof log: 0 if it proves its bound, else 1."""
    from ..solvers.proofs import check_proof as verify

    if not Path(args.file).is_file():
        raise InputError(f"there is no file {args.file}; `marginopt solve {args.model} DATA --proof FILE` writes one")
    report = verify(args.file, None if args.data is None else model_from_arguments(args), jobs=args.jobs, cluster=args.cluster)
    print_answer(args, {**asdict(report), "gap": report.gap}, report)
    return SOLVED if report.valid else NOT_SOLVED


def proof_page(args: argparse.Namespace) -> int:
    """Write the page of a proof log: 0 once it is written, whatever the page says of the log."""
    from ..proof_page import write_proof_page

    out = f"{args.log.removesuffix('.gz').removesuffix('.jsonl')}.html" if args.out is None else args.out
    path = write_proof_page(args.log, out, title=args.title)
    print_answer(args, {"page": str(path)}, f"{path} verifies {args.log} in a browser, without a network")
    return SOLVED
