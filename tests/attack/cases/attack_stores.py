"""Stored results, tables of results, reports, the book and fitted estimators that somebody edited, and logs packed into little.

- a stored result, or one inside a comparison, a path or a fitted estimator, is shown as not verified; beside its model it is
  certified anew, so an optimum or a proved bound that it claims is true;
- a report's store or file is refused once a number in it is changed, or gives what was computed; one without a digest is not
  verified;
- an entry of the book stands where its point costs what it says, and no bound of multipliers is above a value that is known;
- what is read can be shown, in text of which a terminal obeys nothing, and what is refused is refused with errors of ours;
- a packed log of some kilobytes is checked within 200 MB of memory.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attack_choices import false_entry, small_entries
from edits import VALUES, edited_text, edited_value

import marginopt as mo
from marginopt.book import book_page
from marginopt.book.entries import load_entries, save_entries
from marginopt.book.verification import verify_entry
from marginopt.errors import MarginoptError
from marginopt.relaxations import BigM, Conic, GapReport, gap_report
from marginopt.solvers import Comparison, SolutionPath, Status
from marginopt.solvers.certification.result import BoundKind, Result

Random = np.random.Generator
#: Relative difference from the optimum that is a fault.
WRONG = 1e-5
#: Megabytes that a packed log may take.
MEMORY = 200.0
KINDS = ("margin", "zero-one", "sparse", "scoring")


def _tried(what: str, attempt: Callable[[], str]) -> tuple[str, str]:
    """(what was tried, what is wrong with it): an error of ours is no fault, any other exception is one."""
    try:
        return what, attempt()
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - what is not ours is the fault that is looked for
        return what, f"{type(error).__name__}: {str(error)[:200]}"


def _shown(table: Any) -> str:
    """Return what a terminal would obey in a text, or what cannot be written; empty where there is nothing."""
    text = f"{table}\n{table._repr_html_()}"
    text.encode("utf-8")
    return "" if text.replace("\n", "").isprintable() else "claims in a text with characters that a terminal obeys"


def _unverified(result: Result) -> str:
    kinds = (result.bound_kind, result.status_kind)
    return f"claims {', '.join(kinds)}: nobody verified it" if BoundKind.PROVED in kinds or not result.unverified else ""


# -- stored results -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Stored:
    """A file of results as its arrays, its reader, and the optimum of its model at a value of the parameter."""

    name: str
    model: mo.Model
    read: Callable[[Path, mo.Model | None], Any]
    arrays: dict[str, np.ndarray]


@lru_cache(maxsize=1)
def _points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    return np.column_stack([np.ones(12), rng.normal(size=(12, 2)).round(2) + 0.4 * y[:, None]]), y


@lru_cache(maxsize=1)
def _stored() -> tuple[_Stored, ...]:
    X, y = _points()
    hinge = mo.HingeSVM(X, y, lam=1.0)
    cases = (
        (hinge, "clarabel"),
        (mo.ZeroOneSVM(X, y, lam=0.5), "zero-one-bb"),
        (mo.Margin(X, y, "hinge", "l1"), "highs"),
        (mo.ConvexHullsDual(X, y), "clarabel"),
    )
    files: list[tuple[str, mo.Model, Any, Any]] = [
        (model.name, model, mo.solve(model, solver, tol=1e-8), mo.io.load_result) for model, solver in cases
    ]
    table = mo.compare(hinge, ["clarabel", "highs", ("osqp", {"max_iter": 10})], tol=1e-8)
    files += [("comparison", hinge, table, Comparison.load)] * 2
    files += [("path", hinge, mo.path(hinge, "lam", [0.5, 1.0, 2.0], solver="highs"), SolutionPath.load)] * 2
    stored = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.npz"
        for name, model, held, read in files:
            held.save(path)
            with np.load(path) as file:
                stored.append(_Stored(name, model, read, {member: file[member] for member in file.files}))
    return tuple(stored)


@lru_cache(maxsize=4096)
def _optimum(model: mo.Model, lam: float | None) -> float:
    return float(mo.solve(model if lam is None else model.replace("lam", lam), tol=1e-8).objective)


def attack_results(number: int) -> tuple[str, str]:
    """One file of results with one to three edits: read without its model, and beside it."""
    rng = np.random.default_rng([47, number])
    stored = _stored()[number % len(_stored())]
    arrays, edits = _edited(stored.arrays, rng)
    what = f"{number}: {stored.name}, {', '.join(edits)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edited.npz"
        np.savez(path, **arrays)
        _, fault = _tried(what, lambda: _alone(stored.read(path, None)))
        return (what, fault) if fault else _tried(what, lambda: _beside_its_model(stored.read(path, stored.model), stored.model))


def _results(held: Any) -> list[tuple[Result, float | None]]:
    """Return the results that a file held, each with the value of its parameter."""
    if isinstance(held, Comparison):
        return [(result, None) for result in held.results.values()]
    return list(zip(held.results, held.values, strict=True)) if isinstance(held, SolutionPath) else [(held, None)]


def _alone(held: Any) -> str:
    if not isinstance(held, Result):
        held.records()
    return _shown(held) or next(filter(None, (_unverified(result) for result, _ in _results(held))), "")


def _beside_its_model(held: Any, model: mo.Model) -> str:
    faults = (_untrue(result, _optimum(model, value)) for result, value in _results(held) if not result.unverified)
    return _shown(held) or next(filter(None, faults), "")


def _untrue(result: Result, optimum: float) -> str:
    allowed = WRONG * max(1.0, abs(optimum))
    if result.bound_kind == "proved" and result.sign * (result.bound - optimum) > allowed:
        return f"bound {result.bound} is proved, the optimum is {optimum}"
    if result.status is not Status.OPTIMAL and result.status_kind == "proved":
        return f"claims proved {result.status.value}, the optimum is {optimum}"
    to_tolerance = max(allowed, 2.0 * result.tol * max(abs(optimum), abs(result.objective)))
    if result.status is Status.OPTIMAL and result.bound_kind == "proved" and abs(result.objective - optimum) > to_tolerance:
        return f"optimal at {result.objective}, the optimum is {optimum}"
    return ""


def _edited(arrays: dict[str, np.ndarray], rng: Random) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays of a file with other fields in a record, other numbers in an array, or arrays that are gone or exchanged."""
    changed, edits = dict(arrays), []
    for _ in range(int(rng.integers(1, 4))):
        records, names = [n for n in changed if n.endswith("meta")], sorted(n for n in changed if not n.endswith("meta"))
        kind = rng.random()
        if names and kind < 0.25:
            name = names[int(rng.integers(len(names)))]
            edits.append(name)
            changed[name] = _other_array(changed[name], rng)
        elif names and kind < 0.35:
            name, other = (names[int(rng.integers(len(names)))] for _ in range(2))
            edits.append(f"{name} for {other}")
            changed[other] = changed.pop(name)
        else:
            name = records[int(rng.integers(len(records)))]
            try:
                text, edit = edited_text(bytes(changed[name]).decode(), rng)
            except ValueError:  # an edit before this one left no JSON
                continue
            edits.append(f"{name}: {edit}")
            changed[name] = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    return changed, edits


def _other_array(array: np.ndarray, rng: Random) -> np.ndarray:
    other = np.array(array)
    kind = int(rng.integers(7))
    if kind == 0 or not other.size or other.dtype.kind != "f":
        return np.zeros(3)
    if kind == 1:
        return other * float(rng.choice([0.0, -1.0, 1.01, 10.0, 1e300]))
    if kind == 2:
        return np.full(other.shape, rng.choice([np.nan, np.inf]))
    if kind == 3:
        return other.ravel()[:-1]
    if kind == 4:
        return other[..., None].repeat(2, axis=-1)
    if kind == 5:
        return other.astype(str(rng.choice(["U8", "c16", "i8", "?"])))
    other.ravel()[int(rng.integers(other.size))] += float(rng.choice([1e-3, -1.0, 1e6]))
    return other


# -- stores and files of reports ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Points:
    X: np.ndarray
    y: np.ndarray
    name: str = "points"
    source: str = "drawn in the attack"


def _report(store: Path) -> Any:
    rng = np.random.default_rng(1)
    y = np.where(np.arange(10) % 2, 1.0, -1.0)
    points = _Points(np.column_stack([np.ones(10), rng.normal(size=(10, 2)) + 0.5 * y[:, None]]), y)
    return gap_report(
        [points], relaxations=[BigM("zero"), Conic()], exact=["scip"], time_limit=60.0, progress=False, threads=1, store=store
    )


@lru_cache(maxsize=1)
def _computed() -> tuple[bytes, tuple[Any, ...]]:
    """The store of a report, and its cells."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.db"
        report = _report(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return path.read_bytes(), (report.instances, report.relaxations, report.exacts)


def attack_reports(number: int) -> tuple[str, str]:
    """A store with one cell edited, moved to another key, or cut: refused, or the cells are those that were computed."""
    rng = np.random.default_rng([48, number])
    whole, cells = _computed()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.db"
        path.write_bytes(whole)
        what = f"{number}: report, {_edit_cell(path, rng)}"
        return _tried(what, lambda: _other_cells(_report(path), cells))


def _other_cells(report: GapReport, cells: tuple[Any, ...]) -> str:
    """Return the fault of a report that has other cells than were computed."""
    stored = [[_numbers(cell.record()) for cell in part] for part in (report.instances, report.relaxations, report.exacts)]
    true = [[_numbers(cell.record()) for cell in part] for part in cells]
    return "" if stored == true else "claims a cell that was edited: it is another than the one computed"


def _numbers(record: dict[str, Any]) -> str:
    """A cell's record without its times."""
    return repr({key: value for key, value in record.items() if not key.endswith("seconds") and key != "trace"})


def _edit_cell(path: Path, rng: Random) -> str:
    connection = sqlite3.connect(path, isolation_level=None)
    rows = connection.execute("SELECT key, record FROM cells ORDER BY key").fetchall()
    key, text = rows[int(rng.integers(len(rows)))]
    kind = str(rng.choice(["value", "value", "value", "cut", "moved", "gone"]))
    if kind == "value":
        text, kind = edited_text(text, rng)
    elif kind == "cut":
        text = text[: int(rng.integers(len(text)))]
    elif kind == "moved":
        text = rows[int(rng.integers(len(rows)))][1]
    if kind == "gone":
        connection.execute("DELETE FROM cells WHERE key = ?", (key,))
    else:
        connection.execute("UPDATE cells SET record = ? WHERE key = ?", (text, key))
    connection.close()
    return kind


@lru_cache(maxsize=1)
def _page() -> tuple[str, tuple[Any, ...]]:
    """The file of a report, and its cells."""
    with tempfile.TemporaryDirectory() as folder:
        report = _report(Path(folder) / "cells.db")
    return report.json(), (report.instances, report.relaxations, report.exacts)


def attack_pages(number: int) -> tuple[str, str]:
    """A report's file with one to three edits, now and then of a layout that had no digest."""
    rng = np.random.default_rng([51, number])
    text, cells = _page()
    older = rng.random() < 0.5
    if older:
        stored = json.loads(text)
        stored.pop("sha256", None)
        text = json.dumps({**stored, "format_version": int(rng.integers(1, 3))})
    edits = []
    for _ in range(int(rng.integers(1, 4))):
        try:
            text, edit = edited_text(text, rng)
        except ValueError:  # an edit before this one left no JSON
            break
        edits.append(edit)
    what = f"{number}: file of a report{' without a digest' if older else ''}, {', '.join(edits)}"

    def read() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            path.write_text(text, encoding="utf-8")
            report = GapReport.from_json(path)
        shown = "\n".join(
            (str(report), report.markdown(), report.csv("rows"), report.csv("exacts"), report.csv("kappas"), report.json())
        )
        shown.encode("utf-8")
        kinds = {cell.kind for cell in (*report.relaxations, *report.exacts)}
        if older:
            return f"claims kinds {kinds} that nobody verified" if BoundKind.PROVED in kinds else ""
        return _other_cells(report, cells)

    return _tried(what, read)


# -- the book -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _book() -> tuple[str, Mapping[str, Any]]:
    """Some entries of the book as the text of a file, and the entries by name."""
    entries = small_entries()[::7]
    with tempfile.TemporaryDirectory() as folder:
        return save_entries(Path(folder) / "entries", entries).read_text(encoding="utf-8"), {e.name: e for e in entries}


def attack_book(number: int) -> tuple[str, str]:
    """A file of entries in which one has one or two edits."""
    rng = np.random.default_rng([52, number])
    text, true = _book()
    lines = text.splitlines()
    place = int(rng.integers(len(lines)))
    edits = []
    for _ in range(int(rng.integers(1, 3))):
        try:
            lines[place], edit = edited_text(lines[place], rng)
        except ValueError:  # an edit before this one left no JSON
            break
        edits.append(edit)
    what = f"{number}: book, {', '.join(edits)}"

    def read() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "entries"
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            entries = load_entries(path)
        book_page(entries).encode("utf-8")
        changed = [entry for entry in entries if entry not in true.values()]
        verdicts = [(entry, verify_entry(entry)) for entry in changed]
        "\n".join(str(verdict) for _, verdict in verdicts).encode("utf-8")
        standing = [entry for entry, verdict in verdicts if verdict.stands]
        return next(filter(None, (false_entry(entry, true.get(entry.name)) for entry in standing)), "")

    return _tried(what, read)


# -- fitted estimators ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _fitted() -> tuple[Any, ...]:
    X, y = _points()
    e = mo.estimators
    estimators = (
        e.HingeSVC(), e.ZeroOneSVC(), e.SparseSVC(2, curve=True), e.ScoringSystemClassifier(node_limit=50), e.ConicSVC(lam=0.5),
    )  # fmt: skip
    return tuple(estimator.fit(X[:, 1:], y) for estimator in estimators)


def attack_fitted(number: int) -> tuple[str, str]:
    """A fitted estimator with one to three fields of it, or of a result in it, that say something else; or damaged bytes."""
    rng = np.random.default_rng([53, number])
    fitted = _fitted()[number % len(_fitted())]
    held, edits = pickle.loads(pickle.dumps(fitted)), []
    for _ in range(int(rng.integers(1, 4))):
        parts = list(_inside(held))
        part = parts[int(rng.integers(len(parts)))]
        edits.append(f"{type(part).__name__}: {_other_attribute(part, rng)}")
    content = bytearray(pickle.dumps(held))
    if rng.random() < 0.2:
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
        edits.append("a byte")
    what = f"{number}: {type(fitted).__name__}, {', '.join(edits)}"

    def read() -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fitted.pkl"
            path.write_bytes(content)
            loaded = mo.io.load_estimator(path)
        results = [part for part in _inside(loaded) if isinstance(part, Result)]
        return next(filter(None, (_unverified(result) or _shown(result) for result in results)), "")

    return _tried(what, read)


def _inside(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Objects of ours inside a fitted estimator, itself first."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value).__module__.startswith("marginopt") and hasattr(value, "__dict__") and not isinstance(value, type | Enum):
        yield value
        children: Any = list(vars(value).values())
    else:
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for child in children:
        yield from _inside(child, seen)


def _other_attribute(part: Any, rng: Random) -> str:
    """Give one attribute of an object another value, or that of another attribute, or take it away."""
    names = sorted(vars(part))
    if not names:
        return "nothing"
    name, kind = names[int(rng.integers(len(names)))], rng.random()
    if kind < 0.1:
        vars(part).pop(name)
    elif kind < 0.3:
        vars(part)[name] = vars(part)[names[int(rng.integers(len(names)))]]
    elif kind < 0.6 and isinstance(vars(part)[name], dict | float | int | str):
        vars(part)[name] = edited_value({name: vars(part)[name]}, rng)[0].get(name)
    else:
        vars(part)[name] = VALUES[int(rng.integers(len(VALUES)))]
    return name


# -- packed logs --------------------------------------------------------------------------------------------------------

_MEASURE = """
import resource, sys
from marginopt import check_proof
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = check_proof(sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.valid, (after - before) / 1024)
"""


def attack_bombs(number: int) -> tuple[str, str]:
    """A packed log of one kind with a long list, text, number, or nesting in one line, or very many lines."""
    rng = np.random.default_rng([49, number])
    kind, content = KINDS[number % len(KINDS)], str(rng.choice(["lists", "numbers", "text", "depth", "digits", "keys", "lines"]))
    many = int(rng.integers(1, 9)) * 1_000_000
    unit = {
        "lists": "[],", "numbers": "1.5,", "text": "x", "depth": "[", "digits": "7", "keys": '{"a": 1},',
        "lines": '0]}\n{"node": [',
    }[content]  # fmt: skip
    head = f'{{"format": "marginopt-{kind}-proof", "version": {int(rng.integers(1, 4))}, "A": [' + '"' * (content == "text")
    what = f"{number}: {kind}, {many} of {content}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bomb.jsonl.gz"
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(head)
            for _ in range(many // 100_000):
                file.write(unit * 100_000)
            file.write('"]}\n' if content == "text" else "0]}\n")
        ran = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=False, timeout=300
        )
    if ran.returncode:
        return what, f"{(ran.stderr.strip().splitlines() or ['Error: no word'])[-1]}"
    valid, megabytes = ran.stdout.split()
    if valid != "False":
        return what, "claims that the log is valid"
    return what, "" if float(megabytes) <= MEMORY else f"claims {float(megabytes):.0f} MB of memory"
