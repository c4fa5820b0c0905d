"""The command ``marginopt book``: list, verify, solve and improve entries of the open book of margins, and write its page.

The book (`marginopt.book`) is a collection of instances, each with its best known solution and best proved bound. An entry
*stands* if its claims that were checked all hold, and is *refused* if one of them is false.
"""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ..book import book_page
from ..book.entries import Entry, find_entry, load_entries, save_entries
from ..book.solving import remake_entry, run_entry, submit_result
from ..book.verification import verify_entry
from ..errors import InputError, count_text
from ..files import write_text
from . import NOT_SOLVED, SOLVED
from .parsing import Command
from .screen import print_answer, print_answer_by, print_table


def add_options(command: Command) -> None:
    """Add the actions and options of ``marginopt book``."""
    command.add_argument(
        "action", nargs="?", default="list", choices=tuple(_ACTIONS), help="list (default), verify, run, submit, page"
    )
    command.add_argument(
        "name", nargs="?", help="an entry; for submit a stored result (.npz); for page the Markdown file to write"
    )
    command.add_argument("--entries", metavar="FILE", help="entries in place of the book's")
    command.add_argument("--log", metavar="FILE", help="verify: the proof log of the entry; submit: that of the result")
    command.add_argument(
        "--remake", action="store_true", help="verify: make logs and certificates anew and check them, in minutes"
    )
    command.add_argument("--solver", help="run: the solver (default: the one whose bounds the book states)")
    command.add_argument("--time-limit", type=float, metavar="S", help="run, --remake: seconds (default 60)")
    command.add_argument("--proof", metavar="FILE", help="run: write the proof log to FILE")
    command.add_argument("--of", metavar="NAME", help="submit: the entry (default: the one whose model the result is of)")
    command.add_argument("--who", help="submit: whom the entry names (default: the user's name)")
    command.add_argument(
        "-o", "--out", metavar="FILE",
        help="run: store the result in FILE (.npz), for submit; submit: the file of the entry (default book-entry.jsonl)",
    )  # fmt: skip
    command.set_defaults(run=book)


def book(args: argparse.Namespace) -> int:
    """Run one action of ``marginopt book`` and return the exit code; raise InputError for an option of another action."""
    for option in ("log", "remake", "solver", "time_limit", "proof", "of", "who", "out"):
        if getattr(args, option) and option not in _OPTIONS.get(args.action, ()):
            readers = [action for action, options in _OPTIONS.items() if option in options]
            raise InputError(
                f"--{option.replace('_', '-')} is an option of book {' and '.join(readers)}, not of book {args.action}"
            )
    return _ACTIONS[args.action](args, load_entries(args.entries))


def _list(args: argparse.Namespace, entries: list[Entry]) -> int:
    head = ("instance", "value", "bound", "gap", "status")
    rows = [(e.name, f"{e.value:.8g}", f"{e.bound:.8g}", f"{max(e.gap, 0.0):.1e}", e.status) for e in entries]
    print_answer_by(args, [asdict(entry) for entry in entries], lambda: print_table(head, rows, right=(1, 2, 3)))
    return SOLVED


def _verify(args: argparse.Namespace, entries: list[Entry]) -> int:
    """Verify one entry or all, and return 1 if an entry is refused, else 0."""
    if args.log is not None and args.name is None:
        raise InputError("--log is the proof log of one entry: name it, `marginopt book verify NAME --log FILE`")
    if args.log is not None and args.remake:
        raise InputError("--remake makes the log anew: leave --log out")
    chosen = entries if args.name is None else [find_entry(args.name, entries)]
    verdicts = []
    for entry in chosen:
        verdicts.append(remake_entry(entry, _seconds(args)) if args.remake else verify_entry(entry, args.log))
        if args.remake and not args.json:  # some take minutes
            print(verdicts[-1], flush=True)
    failures = [verdict for verdict in verdicts if verdict.stands is False]
    absent = [verdict for verdict in verdicts if verdict.stands is None]
    verified_count = len(verdicts) - len(failures) - len(absent)
    shown = [] if args.remake else verdicts if args.name is not None else failures
    lines = [*map(str, shown), f"{verified_count} stand, {len(failures)} are refused, the data of {len(absent)} are not here"]
    unchecked = sum(verdict.stands is True and verdict.bound is None for verdict in verdicts)
    if unchecked:
        lines.append(f"the bounds of {unchecked} rest on logs or certificates, which --remake makes anew and checks")
    record = [{"name": v.name, "stands": v.stands, "message": v.message} for v in verdicts]
    print_answer(args, record, "\n".join(lines))
    return NOT_SOLVED if failures else SOLVED


def _run(args: argparse.Namespace, entries: list[Entry]) -> int:
    """Solve an instance, store the result with ``--out``, and return 0 if it is solved, else 1."""
    run = run_entry(find_entry(_named(args), entries), args.solver, time_limit=_seconds(args), proof=args.proof)
    lines = [f"{key:<12} {f'{value:.12g}' if isinstance(value, float) else value}" for key, value in run.row.items()]
    if args.out is not None:
        run.result.save(args.out)
        lines.append(f"{args.out} holds the result: `marginopt book submit {args.out}` makes an entry of it where it is better")
    print_answer(args, run.row, "\n".join(lines))
    return SOLVED if run.result.solved else NOT_SOLVED


def _submit(args: argparse.Namespace, entries: list[Entry]) -> int:
    entry = submit_result(_named(args), entries, name=args.of, proof=args.log, who=args.who or getpass.getuser())
    path = save_entries(args.out or "book-entry.jsonl", [entry])
    print_answer(args, asdict(entry), f"{path} holds the entry {entry.name}: value {entry.value:.12g}, bound {entry.bound:.12g}")
    return SOLVED


def _page(args: argparse.Namespace, entries: list[Entry]) -> int:
    path = write_text(_named(args), book_page(entries))
    print_answer(args, {"page": str(path)}, f"{path} holds {count_text(len(entries), 'entry', 'entries')}")
    return SOLVED


def _seconds(args: argparse.Namespace) -> float:
    return 60.0 if args.time_limit is None else float(args.time_limit)


def _named(args: argparse.Namespace) -> str:
    if args.name is None:
        raise InputError(f"`marginopt book {args.action}` needs a name after it")
    return str(Path(args.name)) if args.action in ("submit", "page") else str(args.name)


_ACTIONS: dict[str, Callable[[argparse.Namespace, list[Entry]], int]] = {
    "list": _list, "verify": _verify, "run": _run, "submit": _submit, "page": _page,
}  # fmt: skip
#: The options that each action reads, beside --entries.
_OPTIONS = {
    "verify": ("log", "remake", "time_limit"), "run": ("solver", "time_limit", "proof", "out"),
    "submit": ("log", "of", "who", "out"),
}  # fmt: skip
