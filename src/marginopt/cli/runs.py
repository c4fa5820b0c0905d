"""The commands of many runs: ``benchmark`` with its performance profile, ``export`` to files of other tools, ``reproduce``."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import re
import sys
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError, MarginoptError, count_text, short_text
from ..files import write_text, write_texts
from ..models import Model, StandardForm
from ..models.digest import fingerprint
from ..models.export.file_formats import file_formats, format_of, write_form
from ..models.program.bridges import EpigraphBridge
from ..models.program.cones import Feature
from ..performance import PerformanceProfile, performance_profile
from ..solvers import compare, solve
from ..solvers.compare import Comparison
from ..solvers.geometric_mean import NODES_SHIFT, SECONDS_SHIFT, shifted_geometric_mean
from ..solvers.registry import resolve_solver
from ..solvers.solve import solver_errors
from ..status_line import StatusLine
from . import NOT_SOLVED, SOLVED
from .data_options import models_from_arguments
from .parsing import Command, comma_separated
from .screen import json_text, output_folder, print_answer, print_answer_by, print_table, print_tables, print_text


def benchmark(args: argparse.Namespace) -> int:
    """Run every solver on every problem, and print results, profile and mean times: 0 if any run is solved, else 1."""
    names = comma_separated(args.solvers)
    if len(set(names)) < len(names) or not names:
        raise InputError(f"SOLVERS are different names separated by commas; they are {short_text(args.solvers)}")
    folder = None if args.out is None else output_folder(args.out, "--out")
    for name in names:
        resolve_solver(name)  # an unknown solver is an error before anything is solved
    problem_list = list(models_from_arguments(args))
    line = StatusLine()
    tables: dict[str, Comparison] = {}
    for k, (formulation, data, model) in enumerate(problem_list, 1):
        if not args.quiet:
            line.write_line(f"[{k}/{len(problem_list)}] {formulation} on {data}: {', '.join(names)}")
        tables[f"{formulation} on {data}"] = compare(
            model, names, time_limit=args.time_limit, tol=args.tol, threads=args.threads, seed=args.seed
        )
    profile = performance_profile(tables)
    records = [{"problem": name, **record} for name, table in tables.items() for record in table.records()]
    if folder is not None:
        _write_runs(folder, records, profile)
    print_answer_by(args, records, lambda: _show(names, tables, profile))
    return SOLVED if any(r.conclusive for table in tables.values() for r in table.results.values()) else NOT_SOLVED


def _show(names: list[str], tables: dict[str, Comparison], profile: PerformanceProfile) -> None:
    columns = ("solver", "status", "objective", "gap", "solve s")
    print_tables(columns, {name: table.cells(columns) for name, table in tables.items()}, right=(2, 3, 4))
    for name, table in tables.items():
        for note in table.notes_on(name):
            print_text(note)
    print()
    print(profile)
    means = []
    counted = all(r.nodes is not None for table in tables.values() for r in table.results.values())
    for solver in names:
        results = [table.results[solver] for table in tables.values() if solver in table.results]
        seconds = f"{shifted_geometric_mean([r.solve_seconds for r in results], SECONDS_SHIFT):.3g}" if results else ""
        nodes = f"{shifted_geometric_mean([r.nodes or 0 for r in results], NODES_SHIFT):.4g}" if results and counted else ""
        means.append((solver, f"{sum(r.conclusive for r in results)} of {len(tables)}", seconds, *([nodes] if counted else [])))
    print()
    heads = ["solver", "solved", f"mean s (shifted geometric, {SECONDS_SHIFT:g} s)"]
    heads += [f"mean nodes (shifted geometric, {NODES_SHIFT:g})"] if counted else []
    print_table(heads, means, right=range(1, len(heads)))


def _write_runs(folder: Path, records: list[dict[str, Any]], profile: PerformanceProfile) -> None:
    """Write the runs as CSV and JSON, the profile as SVG."""
    from ..drawing import figure_of, svg_of

    buffer = io.StringIO()
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    figure = figure_of(6.5, 3.6)
    profile.plot(figure.subplots())
    write_texts(
        {
            folder / "runs.csv": buffer.getvalue(),
            folder / "runs.json": json_text(records) + "\n",
            folder / "profile.svg": svg_of(figure),
        }
    )


# ``marginopt export``: a set of problems as files of other tools, and a manifest that says what is in them.

#: A suffix of letters, which tells a file from a folder: a folder's name may have a number behind a point.
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z-]*")
#: Note on a quadratic objective in formats that have cones and no quadratic objective.
_EPIGRAPH = "the quadratic objective as a rotated cone: one more variable, epigraph"


def export(args: argparse.Namespace) -> int:
    """Write every problem in every format, with a manifest of sizes, digests and bounds; or one problem to the named file.

    Return 0 if a file was written, else 1.
    """
    suffixes = _suffixes(args.format or "mps")
    target = Path(args.folder)
    if _SUFFIX.fullmatch(target.suffix) and not target.is_dir():
        return _export_file(args, target, format_of(target).suffix)
    folder = output_folder(args.folder, "DIR")
    problem_list = list(models_from_arguments(args))
    line = StatusLine()
    records = []
    for k, (formulation, data, model) in enumerate(problem_list, 1):
        if not args.quiet:
            line.write_line(f"[{k}/{len(problem_list)}] {formulation} on {data}")
        records.append(_export(args, formulation, data, model, folder, suffixes))
    manifest = {"written by": f"marginopt {__version__}", "sense": "as each problem's objective is stated", "problems": records}
    write_text(folder / "manifest.json", json_text(manifest) + "\n")
    print_answer_by(args, manifest, lambda: _show_manifest(records, suffixes, folder))
    return SOLVED if any(r["files"] for r in records) else NOT_SOLVED


def _show_manifest(records: list[dict[str, Any]], suffixes: list[str], folder: Path) -> None:
    rows = [
        (r["problem"], r["status"], "" if r["value"] is None else f"{r['value']:.9g}", r["kind"], _written(r, suffixes))
        for r in records
    ]
    print_table(("problem", "status", "value", "bound", "files"), rows, right=(2,))
    for (suffix, reason), names in _refusals(records).items():
        print_text(f"no {suffix[1:]} of {', '.join(names) if len(names) < 3 else count_text(len(names), 'problem')}: {reason}")
    for suffix in dict.fromkeys(Path(name).suffix for r in records for name in r["rewritten"]):
        print_text(f"{suffix[1:]}: {_EPIGRAPH}")
    print(f"wrote {folder / 'manifest.json'}")


def _export_file(args: argparse.Namespace, target: Path, suffix: str) -> int:
    """Write the one problem that was named to a file in the format of its suffix."""
    problem_list = list(models_from_arguments(args))
    if len(problem_list) != 1:
        raise InputError(f"{target} is one file, and there are {len(problem_list)} problems: name a folder", name="DIR")
    if args.format is not None and _suffixes(args.format) != [suffix]:
        raise InputError(f"{target} is a file in the format {suffix[1:]}; --format is for a folder", name="--format")
    _, _, model = problem_list[0]
    rewritten = _write(model, target, suffix)
    rewriting = _EPIGRAPH if rewritten else ""
    record = {"file": str(target), "variables": model.form.n, "rows": model.form.rows, "rewritten": rewriting}
    note = f"\n{suffix[1:]}: {rewriting}" if rewriting else ""
    print_answer(
        args,
        record,
        f"wrote {target}: {count_text(model.form.n, 'variable', spec=',')}, {count_text(model.form.rows, 'row', spec=',')}{note}",
    )
    return SOLVED


def _suffixes(text: str) -> list[str]:
    suffixes = ["." + name.lstrip(".") for name in comma_separated(text)]
    format_suffixes = list(file_formats())
    for suffix in suffixes:
        if suffix not in format_suffixes:
            raise InputError(f"--format: there is no format {suffix}; known: {', '.join(format_suffixes)}")
    if not suffixes:
        raise InputError("--format takes suffixes separated by commas, such as mps,cbf")
    return suffixes


def _written(record: dict[str, Any], suffixes: list[str]) -> str:
    return ", ".join(suffix[1:] for suffix in suffixes if suffix not in record["not written"]) or "none"


def _refusals(records: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return the problems by the format that they are not written in and the reason, which many share."""
    refusals: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for suffix, reason in record["not written"].items():
            refusals.setdefault((suffix, reason), []).append(record["problem"])
    return refusals


def _write(model: Model | StandardForm, path: Path, suffix: str) -> bool:
    """Write the model's form; return whether its quadratic objective became a cone, since the format has cones alone."""
    form, carries = model.form, file_formats()[suffix].carries
    rewritten = form.features - carries == {Feature.QUADRATIC} and Feature.ROTATED in carries
    write_form(EpigraphBridge(form).target if rewritten else form, path)
    return rewritten


def _export(
    args: argparse.Namespace, formulation: str, data: str, model: Model | StandardForm, folder: Path, suffixes: list[str]
) -> dict[str, Any]:
    """Write the files of one problem and return its record."""
    name = re.sub(r"[^\w.=-]+", "-", f"{formulation}-{data}").strip("-")
    files: dict[str, str] = {}
    unsupported: dict[str, str] = {}
    rewritten: dict[str, str] = {}
    for suffix in suffixes:
        path = folder / f"{name}{suffix}"
        try:
            if _write(model, path, suffix):
                rewritten[path.name] = _EPIGRAPH
        except MarginoptError as error:
            unsupported[suffix] = str(error)
        else:
            files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    record: dict[str, Any] = {
        "problem": f"{formulation} on {data}", "class": model.name, "model digest": fingerprint(model), "files": files,
        "rewritten": rewritten, "not written": unsupported, "value": None, "bound": None, "kind": "none", "gap": None,
        "status": "not asked", "solver": "", "seconds": None,
    }  # fmt: skip
    if files:
        record |= {"variables": model.form.n, "rows": model.form.rows}
    if args.solver == "none":
        return record
    try:
        with solver_errors(args.solver):
            result = solve(model, args.solver, time_limit=args.time_limit, tol=args.tol, threads=args.threads, seed=args.seed)
    except MarginoptError as error:
        return record | {"status": f"not solved: {error}"}
    return record | {
        "value": result.objective, "bound": result.bound, "kind": result.bound_kind, "gap": result.gap,
        "status": str(result.status), "solver": f"{result.solver} {result.version}", "seconds": result.solve_seconds,
    }  # fmt: skip


#: The values of ``--effort``: one row of each table; all rows with thinned parameter grids; the papers' whole protocols. They are
#: the keys of `marginopt.reproduction.record.EFFORTS`, repeated since an installed package does not have that module.
EFFORTS = ("quick", "reduced", "full")


def add_reproduce_options(command: Command) -> None:
    """Add the options of ``marginopt reproduce``."""
    command.add_argument("names", nargs="*", help="papers, tables or figures; without any they are listed")
    command.add_argument("--all", action="store_true", help="every table and figure of every paper")
    amount = command.add_mutually_exclusive_group()
    amount.add_argument(
        "--effort", choices=EFFORTS, help="one row of each table; all rows, thinned; the paper's protocol (default)"
    )
    amount.add_argument("--quick", action="store_true", help="the same as --effort quick; with no name, of every table")
    command.add_argument(
        "--row", action="append", default=[], metavar="ROW", dest="rows", help="measure this row alone, by its first label"
    )
    command.add_argument("--repetitions", type=int, metavar="R", help="at most so many in place of the effort's")
    command.add_argument("--out", default="out/papers", help="folder to write the pages to (default out/papers)")
    command.add_argument("--store", metavar="FILE", help="keeps every run that is done (default OUT/runs.db)")
    command.add_argument("--stored", action="store_true", help="write the pages from what the store has; run nothing")
    command.add_argument(
        "--update",
        action="store_true",
        help="keep the cells and figures that the pages in OUT have and this run has not, at whatever effort they were measured",
    )
    command.add_argument(
        "--ledger", action="store_true", help="count the cells of the pages in OUT again and write its README.md; run nothing"
    )
    command.add_argument("--jobs", type=int, help="runs at a time, -1 for all cores (default 1)")
    command.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786): its workers measure")
    command.add_argument("--quiet", action="store_true", help="no progress lines")


def reproduce(args: argparse.Namespace) -> int:
    """List the papers' tables and figures, or measure them again and write their pages."""
    from ..reproduction.command import list_tables, run_tables, write_ledger  # a clone has it; elsewhere the import says so

    data: object
    if args.ledger:
        data, text = write_ledger(args)
    else:
        data, text = run_tables(args) if args.names or args.all or args.quick else list_tables()
    sys.stdout.write((json_text(data) if args.json else text) + "\n")
    return SOLVED
