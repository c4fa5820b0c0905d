"""``marginopt reproduce``: its options and what it does."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from ..errors import InputError
from ..papers.catalogue import PAPERS
from ..papers.finding import asked, figures, tables
from ..papers.page import write_index, write_pages
from ..papers.previous_run import read_kept, updated
from ..papers.protocol_size import EFFORTS, protocol_size
from ..papers.record import PaperFigure, PaperTable
from ..papers.reproduce import Reproduction, reproduce as run_papers
from .commands import SOLVED, json_text
from .parsing import Command

__all__ = ["add_options", "reproduce"]


def add_options(command: Command) -> None:
    """All of its options."""
    command.add_argument("names", nargs="*", help="papers, tables or figures; without any they are listed")
    command.add_argument("--all", action="store_true", help="every table and figure of every paper")
    much = command.add_mutually_exclusive_group()
    much.add_argument(
        "--effort", choices=list(EFFORTS), help="one row of each table; all rows, thinned; the paper's protocol (default)"
    )
    much.add_argument("--quick", action="store_true", help="the same as --effort quick; with no name, of every table")
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
    command.add_argument("--jobs", type=int, help="runs at a time, -1 for all cores (default 1)")
    command.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786): its workers measure")
    command.add_argument("--quiet", action="store_true", help="no progress lines")


def reproduce(a: argparse.Namespace) -> int:
    """List the tables, or run them and write their pages."""
    if not a.names and not a.all and not a.quick:
        return _listed(a)
    if a.names and a.all:
        raise InputError("--all takes every paper: give names or --all")
    effort = "quick" if a.quick else a.effort or "full"
    protocol_size(effort, a.repetitions)
    asked(a.names)  # before a folder is made
    folder = Path(a.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: the folder {folder} cannot be made: {error}") from error
    outcome = run_papers(
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
    written.append(str(write_index(outcome, folder)))
    text = json_text({"written": written, "papers": [_counts(paper) for paper in outcome]}) if a.json else _told(outcome, folder)
    sys.stdout.write(text + "\n")
    return SOLVED


def _updated(a: argparse.Namespace, effort: str, folder: Path) -> list[Reproduction]:
    """All papers: of what is asked for what the store has now, of the rest what the folder's pages say of an earlier run."""
    fresh = [one.name for some in asked(a.names) for one in some]
    store, command = a.store or folder / "runs.db", _command(a, effort)
    every = run_papers(effort=effort, repetitions=a.repetitions, store=store, progress=False, run=False, command=command)
    return [updated(paper, read_kept(folder, paper.paper.name), fresh) for paper in every]


def _command(a: argparse.Namespace, effort: str) -> str:
    """Return the command for the same numbers, without the paths of files."""
    words = ["marginopt", "reproduce", *(a.names or ["--all"]), "--effort", effort]
    words += [word for row in a.rows for word in ("--row", row)]
    words += [] if a.repetitions is None else ["--repetitions", str(a.repetitions)]
    return shlex.join(words)


def _listed(a: argparse.Namespace) -> int:
    every: list[PaperTable | PaperFigure] = [*tables().values(), *figures().values()]
    rows = [{"name": one.name, "paper": one.paper.name, "number": one.number, "title": one.title} for one in every]
    if a.json:
        sys.stdout.write(json_text(rows) + "\n")
        return SOLVED
    width = max(len(one.name) for one in every)
    for paper in PAPERS.values():
        sys.stdout.write(f"{paper.name}: {paper.title} ({paper.authors})\n")
        for one in every:
            if one.paper is paper:
                sys.stdout.write(f"  {one.name.ljust(width)}  {one.number}: {one.title}\n")
    sys.stdout.write("\nmarginopt reproduce NAME .. | --all  [--effort quick|reduced|full] [--jobs N]   (fw is frank-wolfe)\n")
    return SOLVED


def _counts(found: Reproduction) -> dict[str, object]:
    return {"paper": found.paper.name, "inside": found.inside, "judged": found.judged, "missing": found.missing}


def _told(found: list[Reproduction], folder: Path) -> str:
    lines = [
        f"{paper.paper.name}: {paper.inside} of {paper.judged} cells inside one published deviation, {paper.missing} not run"
        for paper in found
    ]
    return "\n".join([*lines, f"wrote {', '.join(str(folder / f'{p.paper.name}.html') for p in found)}"])
