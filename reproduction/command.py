"""``marginopt reproduce`` with parsed options (`marginopt.cli.runs`): run tables and write their pages, count the reproduced
numbers (``--ledger``), or list the tables.
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path

from marginopt.errors import InputError

from .ledger import read_ledger
from .page import counts_in_words, write_ledger_page, write_pages
from .previous_run import read_previous_run, with_previous_run
from .record import PAPERS, PaperFigure, PaperTable, paper_figures, paper_tables, protocol_size, tables_and_figures
from .reproduce import Reproduction, reproduce


def run_tables(a: argparse.Namespace) -> tuple[dict[str, object], str]:
    """Run the named tables and figures and write the papers' pages; return paths and counts, as data for JSON and as text."""
    if a.names and a.all:
        raise InputError("--all takes every paper: give names or --all")
    effort = "quick" if a.quick else a.effort or "full"
    protocol_size(effort, a.repetitions)
    tables_and_figures(a.names)  # before a folder is made
    folder = Path(a.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: the folder {folder} cannot be made: {error}") from error
    outcome = reproduce(
        a.names,
        effort=effort,
        repetitions=a.repetitions,
        store=a.store or folder / "runs.db",
        jobs=a.jobs,
        progress=not a.quiet,
        run=not a.stored,
        command=_command(a, effort),
        cluster=a.cluster,
        rows=a.rows,
    )
    outcome = _updated(a, effort, folder) if a.update else outcome
    written = [str(path) for paper in outcome for path in write_pages(paper, folder)]
    written.append(str(write_ledger_page(folder)))
    return {"written": written, "papers": [_counts(paper) for paper in outcome]}, _summary(outcome, folder)


def write_ledger(a: argparse.Namespace) -> tuple[dict[str, object], str]:
    """Count the printed numbers that a folder's pages reproduce, write the ledger, and return the counts as data and as text."""
    if a.names or a.all or a.quick or a.stored or a.update:
        raise InputError("--ledger counts all pages in --out and runs nothing: leave names and efforts out")
    folder = Path(a.out)
    ledger, path = read_ledger(folder), write_ledger_page(folder)
    rows = [{"table": table.name, **asdict(count)} for table, count in ledger.results]
    apart = [{"table": table.name, "kind": str(kind), **asdict(count)} for table, kind, count in ledger.other_kinds]
    total = ledger.total
    words = (
        f"{total.printed} printed errors and accuracies: {total.inside} inside, {total.outside} outside, "
        f"{total.not_judged} not judged, {total.missing} not run; {total.equal} of {total.tested} equal by Welch's test\n"
        f"wrote {path}"
    )
    return {"total": asdict(total), "results": rows, "apart": apart, "written": str(path)}, words


def list_tables() -> tuple[list[dict[str, object]], str]:
    """Return the names and titles of all tables and figures, as data for JSON and as text."""
    every: list[PaperTable | PaperFigure] = [*paper_tables().values(), *paper_figures().values()]
    rows: list[dict[str, object]] = [
        {"name": one.name, "paper": one.paper.name, "number": one.number, "title": one.title} for one in every
    ]
    width, lines = max(len(one.name) for one in every), []
    for paper in PAPERS.values():
        lines.append(f"{paper.name}: {paper.title} ({paper.authors})")
        lines += [f"  {one.name.ljust(width)}  {one.number}: {one.title}" for one in every if one.paper is paper]
    usage = "marginopt reproduce NAME .. | --all  [--effort quick|reduced|full] [--jobs N]   (fw is frank-wolfe)"
    return rows, "\n".join([*lines, "", usage])


def _updated(a: argparse.Namespace, effort: str, folder: Path) -> list[Reproduction]:
    """Return all papers: the named tables from the store, all others as the folder's pages have them from earlier runs."""
    fresh_names = [one.name for some in tables_and_figures(a.names) for one in some]
    store, command = a.store or folder / "runs.db", _command(a, effort)
    every = reproduce(effort=effort, repetitions=a.repetitions, store=store, progress=False, run=False, command=command)
    return [with_previous_run(paper, read_previous_run(folder, paper.paper.name), fresh_names) for paper in every]


def _command(a: argparse.Namespace, effort: str) -> str:
    """Return the command for the same numbers, without the paths of files."""
    words = ["marginopt", "reproduce", *(a.names or ["--all"]), "--effort", effort]
    words += [word for row in a.rows for word in ("--row", row)]
    words += [] if a.repetitions is None else ["--repetitions", str(a.repetitions)]
    return shlex.join(words)


def _counts(reproduction: Reproduction) -> dict[str, object]:
    return {
        "paper": reproduction.paper.name,
        "inside": reproduction.inside_count,
        "judged": reproduction.judged_count,
        "missing": reproduction.missing_count,
    }


def _summary(reproductions: list[Reproduction], folder: Path) -> str:
    lines = [f"{paper.paper.name}: {counts_in_words(paper)}" for paper in reproductions]
    return "\n".join([*lines, f"wrote {', '.join(str(folder / f'{p.paper.name}.html') for p in reproductions)}"])
