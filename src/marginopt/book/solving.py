"""Solve instances of the open book of margins, and make entries from the results: new, improved, or with new evidence.

The *book* is a library of benchmark instances. An *entry* is an instance with its best known point and value, its best proved
lower bound, and the evidence of that bound: a proof log, multipliers or a certificate.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, InputError
from ..files import content_digest
from ..models import Model
from ..models.arrays import FloatArray
from ..models.deadline import OutOfTimeError, deadline, limit_clock
from ..models.digest import fingerprint
from ..solvers import Options, Result, load_result
from ..solvers.exact.check.arithmetic import ceil_to_float
from ..solvers.margin.algorithm import MarginBB
from ..solvers.proofs import check_proof
from ..solvers.solve import solve
from .data import build_data, data_digest
from .entries import Entry, find_entry
from .verification import MODELS, EntryVerdict, exact_bound, exact_value, make_entry_model, verify_entry

#: A bound is stated lower by this much of itself than its evidence proves: sums differ on other machines in their last digits.
_LAST_DIGITS = 1e-12
#: A bound by a log is stated no closer to the value: logs of other machines end anywhere within the solvers' tolerance.
_TOLERANCE = 1e-6
#: An open entry is solved again to this share of its gap, so that rounding errors do not leave the new bound below the old one.
_GAP_SHARE = 0.999
#: Number of columns of a 0-1 problem from which the conflict engine is chosen; with more than `_MANY_POINTS` points one column
#: more. In six columns logs of boxes take longer to check than those of conflicts if the points are few, and less long if they
#: are many.
_CONFLICT_COLUMNS, _MANY_POINTS = 6, 200
#: The fields of an entry that go with its value, and with its bound.
_OF_POINT = ("value", "point", "who", "date")
_OF_BOUND = ("bound", "evidence", "log", "multipliers", "solver", "seconds", "who", "date")


@dataclass(frozen=True)
class Run:
    """A solver's run on an instance of the book, and the entry that it gives.

    Parameters
    ----------
    entry : Entry
        The book's entry of the instance.
    result : Result
        The result of the solve.
    value : float or None
        Exact objective of the result's point, rounded up; None without a feasible point.
    new_entry : Entry or None
        The entry with the point and bound of the run; None without a point or a proved bound.
    missing : str
        The reason why there is no new entry; empty if there is one.
    """

    entry: Entry
    result: Result
    value: float | None
    new_entry: Entry | None
    missing: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The run as one record: solver, status, exact value, bound (the new entry's, else the solver's), the book's, seconds."""
        best, value, proved = self.entry.value, self.value, self.new_entry
        return {
            "name": self.entry.name,
            "solver": self.result.solver,
            "status": self.result.status.name,
            "value": value,
            "bound": self.result.bound if proved is None else proved.bound,
            "bound_kind": self.result.bound_kind if proved is None else "proved",
            "book_value": best,
            "book_bound": self.entry.bound,
            "above_book": None if value is None else (value - best) / max(abs(best), abs(value), 1e-300),
            "seconds": self.result.solve_seconds,
        }


def run_entry(
    entry: Entry, solver: str | None = None, *, time_limit: float = 60.0, proof: str | Path | None = None, who: str = ""
) -> Run:
    """Solve the instance of an entry.

    Parameters
    ----------
    entry : Entry
        The book's entry of the instance.
    solver : str, optional
        By default the entry's solver if the book accepts its bounds for the model, else the model's default one.
    time_limit : float
        Seconds of the solve, and of the check of its log.
    proof : path, optional
        The proof log to write; for ``zero-one-bb``, ``margin-bb``, ``ramp-bb`` and ``supports-bb``.
    who : str
        The person whom the new entry names.

    Raises
    ------
    InputError
        A proof from a solver that writes none of this model, or data with another digest than the entry's.
    DataError
        The data are not on this machine.
    """
    solver = solver or _solver_of(entry)
    writers = _logging_solvers(entry.model)
    if proof is not None and solver not in writers:
        raise InputError(f"{solver} writes no proof log of {entry.model} in the book; {' or '.join(writers) or 'no solver'} does")
    return _run(replace(entry, who=who), solver, Options(time_limit=time_limit), proof)


def solved_entry(
    name: str,
    data: Mapping[str, Any],
    model: str,
    parameters: Mapping[str, Any],
    *,
    options: Options,
    who: str,
    solver: str | None = None,
) -> Entry | None:
    """Solve a new instance and return its entry; None without a point or a bound.

    Parameters
    ----------
    name, data, model, parameters, who
        Fields of the `Entry`: its unique name, kind of data with arguments, name of the model, its parameters, and the person.
    options : Options
        Options of the solve: a time limit, a start, or a node limit, which gives an open entry the same bound on every machine.
    solver : str, optional
        By default the model's first solver.
    """
    X, y = build_data(data)
    blank = Entry(name, data, data_digest(X, y), model, parameters, math.inf, {}, 0.0, "certificate", "", 0.0, "", who)
    solved = _run(blank, solver or _solver_of(blank), options).new_entry
    return None if solved is None else with_stated_bound(solved)


def _solver_of(entry: Entry) -> str:
    """Return the solver that makes an entry's evidence anew: its own where the book states its bounds, else the default one."""
    solvers = MODELS[entry.model].solvers
    return entry.solver if entry.solver in solvers else solvers[0]


def _logging_solvers(model: str) -> tuple[str, ...]:
    """Return the solvers whose proof logs the book takes of a model."""
    return MODELS[model].solvers if MODELS[model].evidence == "log" else ()


def _run(entry: Entry, solver: str, options: Options, proof: str | Path | None = None) -> Run:
    X, y = build_data(entry.data)
    if data_digest(X, y) != entry.sha256:
        raise InputError(f"the data of {entry.name} have another digest than the entry states")
    model = make_entry_model(entry.model, entry.parameters, X, y)
    with tempfile.TemporaryDirectory() as folder:
        logged = solver in _logging_solvers(entry.model)
        log = (proof or Path(folder) / "log.jsonl.gz") if logged else None
        native: dict[str, Any] = {"proof": str(log)} if logged else {}
        if solver == "zero-one-bb":
            native["engine"] = _engine(*X.shape)
        chosen = MarginBB(max_coefficients=X.shape[1]) if solver == "margin-bb" else solver
        began = time.process_time()
        result = solve(model, chosen, options=options, **native)
        seconds = round(time.process_time() - began, 3)
        today = datetime.now(UTC).date().isoformat()
        blank = replace(entry, solver=result.solver, seconds=seconds, date=today, log="", multipliers=())
        solved = _with_point(blank, result, X, y)
        if solved is None:
            return Run(entry, result, None, None, f"the run gave no {entry.evidence}: {result.status.name}")
        try:
            with deadline(math.inf if options.time_limit is None else limit_clock() + options.time_limit):
                proved = _with_evidence(solved, result, model, X, y, log)
        except OutOfTimeError:
            words = f"the log was not checked to its end within {options.time_limit:g} s: give a longer time limit"
            return Run(entry, result, solved.value, None, words)
        missing = "" if proved is not None else f"the run gave no {entry.evidence}: {result.status.name}"
        return Run(entry, result, solved.value, proved, missing)


def _engine(points: int, columns: int) -> str:
    """Return the engine of `zero-one-bb` whose log is the sooner one to write and check."""
    if columns < _CONFLICT_COLUMNS:
        return "auto"
    return "boxes" if points > _MANY_POINTS and columns == _CONFLICT_COLUMNS else "conflicts"


def _with_point(entry: Entry, result: Result, X: FloatArray, y: FloatArray) -> Entry | None:
    """Return the entry with the result's point and its exact value; None where the result has no feasible point."""
    rules = MODELS[entry.model]
    if rules.values_block not in result.values:
        return None
    try:
        point = rules.make_point(result.values, X)
        return replace(entry, point=point, value=ceil_to_float(exact_value(entry.model, entry.parameters, X, y, point)))
    except InputError:  # a solver's tolerance is not zero
        return None


def _with_evidence(
    entry: Entry, result: Result, model: Model, X: FloatArray, y: FloatArray, log: str | Path | None
) -> Entry | None:
    """Return the entry with the result's bound and its evidence; None where there is none."""
    if log is not None:
        report = check_proof(log, model)
        if not report.valid:
            return None
        digest = content_digest(log)
        return replace(entry, bound=min(report.bound, entry.value), evidence="log", log=digest)
    rules = MODELS[entry.model]
    if rules.make_multipliers is not None:
        try:
            multipliers = tuple(rules.make_multipliers(result.multipliers or {}, entry.parameters))
            bound = -ceil_to_float(-exact_bound(entry.model, entry.parameters, X, y, multipliers))
        except InputError:  # none, or of a solver's tolerance
            return None
        return replace(entry, bound=bound, evidence="multipliers", multipliers=multipliers)
    if rules.evidence != "certificate" or result.bound is None or result.bound_kind != "proved":
        return None
    return replace(entry, bound=min(float(result.bound), entry.value), evidence="certificate")


def with_stated_bound(entry: Entry) -> Entry:
    """Return an entry with its proved bound lowered a little, to one that other machines can prove too: the book states that."""
    highest = {"log": entry.value - _TOLERANCE * abs(entry.value), "certificate": entry.value}.get(entry.evidence)
    return entry if highest is None else replace(entry, bound=min(entry.bound - _LAST_DIGITS * abs(entry.bound), highest))


def improved_entry(entry: Entry, other: Entry) -> Entry:
    """Return the entry with the better value (and point) and the better bound (and evidence) of itself and another entry."""
    better = entry
    for is_better, parts in ((other.value < entry.value, _OF_POINT), (other.bound > entry.bound, _OF_BOUND)):
        if is_better:
            better = replace(better, **{part: getattr(other, part) for part in parts})
    return better


def remake_entry(entry: Entry, time_limit: float = 60.0) -> EntryVerdict:
    """Verify an entry, and its bound by a new proof: solve the instance again, and check the new log or certificate.

    The search for an open entry ends once its bound is proved.

    Parameters
    ----------
    entry : Entry
        The entry to verify.
    time_limit : float
        Seconds of each solve, and of the check of its log.

    Returns
    -------
    EntryVerdict
        ``stands`` is True if the new evidence proves the entry's bound.
    """
    verdict = verify_entry(entry)
    if not verdict.stands or entry.evidence == "multipliers":
        return verdict
    run = _run_to_bound(entry, time_limit) if entry.status == "open" else run_entry(entry, time_limit=time_limit)
    if run.new_entry is None:
        return replace(verdict, stands=False, message=run.missing)
    proved = run.new_entry.bound
    seconds = f"{run.new_entry.seconds:g} s"
    message = f"the {entry.evidence} made anew proves {proved:.17g}; the entry states {entry.bound:.17g}, {seconds}"
    return replace(verdict, stands=proved >= entry.bound, message=message, bound=Fraction(proved))


def _run_to_bound(entry: Entry, time_limit: float) -> Run:
    """Solve an open entry from its point until its bound is proved; start again from a better point, where the gap is smaller."""
    best, (X, _) = entry, build_data(entry.data)
    while True:
        start = {"w": np.asarray(MODELS[entry.model].start_coefficients(best.point, X))}
        run = _run(entry, _solver_of(entry), Options(time_limit=time_limit, start=start, tol=_GAP_SHARE * best.gap))
        proved = run.new_entry
        if proved is None or proved.bound >= entry.bound or not entry.bound < proved.value < best.value:
            return run
        best = replace(proved, bound=entry.bound)


def submit_result(
    path: str | Path, entries: list[Entry], *, name: str | None = None, proof: str | Path | None = None, who: str
) -> Entry:
    """Return the improved entry that a stored result gives; raise InputError if it is no better than the book's.

    The value is that of the result's point in rational arithmetic. A new bound is accepted if a log, the multipliers of a hinge
    loss or semidefinite program, or the recomputed certificate proves it; otherwise the book's bound is retained.

    Parameters
    ----------
    path : path
        A file that ``result.save`` wrote.
    entries : list of Entry
        The entries of the book.
    name : str, optional
        Name of the entry that the result belongs to; by default the one with the result's model.
    proof : path, optional
        The proof log.
    who : str
        The person whom the entry names.

    Raises
    ------
    InputError
        The result is of no instance of the book, has no feasible point, or is no better than the book's; or its log is refused.
    DataError
        The file cannot be read.
    """
    stored = load_result(path)
    entry, X, y = _instance_of(stored, entries, name)
    model = make_entry_model(entry.model, entry.parameters, X, y)
    result = load_result(path, model)
    if proof is not None and not (report := check_proof(proof, model)).valid:
        raise InputError(f"the log is refused: {report.message}")
    seconds, today = round(float(result.solve_seconds), 3), datetime.now(UTC).date().isoformat()
    blank = replace(entry, solver=result.solver, seconds=seconds, date=today, who=who, log="", multipliers=())
    pointed = _with_point(blank, result, X, y)
    if pointed is None:
        raise InputError(f"{path} holds no feasible point: an entry of the book needs one")
    candidate = _with_evidence(pointed, result, model, X, y, proof)
    better = improved_entry(entry, pointed if candidate is None else with_stated_bound(candidate))
    if better is entry:
        raise InputError(
            f"the book has value {entry.value:.12g} and bound {entry.bound:.12g} of {entry.name}: {path} is no better"
        )
    if Fraction(better.bound) > Fraction(better.value):
        raise InputError(
            f"the value {better.value:.17g} is below the proved bound {better.bound:.17g} of {entry.name}: one is wrong"
        )
    return better


def _instance_of(result: Result, entries: list[Entry], name: str | None) -> tuple[Entry, FloatArray, FloatArray]:
    candidates = entries if name is None else [find_entry(name, entries)]
    built: dict[str, tuple[FloatArray, FloatArray]] = {}
    for entry in candidates:
        if entry.sha256 not in built:
            try:
                built[entry.sha256] = build_data(entry.data)
            except DataError:
                if name is not None:
                    raise
                continue  # a result of data that are not here cannot be of this entry
        X, y = built[entry.sha256]
        if fingerprint(make_entry_model(entry.model, entry.parameters, X, y)) == result.digest:
            return entry, X, y
    mismatch = "no instance of the book" if name is None else f"another instance than {name}"
    raise InputError(f"the result is of {mismatch}: it was found on another model, other data or other parameters")
