"""`Entry`, one instance of the book with its best known point and bound, and the file of all entries, ``entries.jsonl``.

The *book* is a library of benchmark instances of maximum-margin problems with their best known solutions and proved bounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import DataError, short_text, unknown_name
from ..files import parse_json, read_text, replace_control_characters, split_lines, write_text


@dataclass(frozen=True)
class Entry:
    """One instance of the book, its best known point, and its best proved lower bound.

    Parameters
    ----------
    name : str
        Unique name, "model/instance".
    data : mapping
        Kind of the data and its arguments (`data.build_data`).
    sha256 : str
        Digest of X and y (`data.data_digest`).
    model : str
        Name of the model in `verification.MODELS`, such as "zero-one".
    parameters : mapping
        The model's parameters by name, such as λ and the kind of intercept.
    value : float
        Best known objective, to be minimised: the exact objective of ``point``, rounded up.
    point : mapping
        The vectors of the point by name: ``w``, with ``W`` (its lower triangle, row by row) for the conic relaxation; ``u`` and
        ``b`` for kernel weights; ``x`` for a semidefinite program.
    bound : float
        Best proved lower bound.
    evidence : {"log", "multipliers", "certificate"}
        The proof of the bound: a proof log, ``multipliers``, or the certificate of a result, for which the solver runs again.
    solver, date, who : str
        Name of the solver that found point and bound, the day (ISO format), and the person who submitted them.
    seconds : float
        Processor time of the solve.
    log : str
        SHA-256 of the proof log; empty without one.
    multipliers : tuple of float
        One multiplier for each data point; for a semidefinite program the lower triangles of its dual matrices; empty for other
        evidence.
    """

    name: str
    data: Mapping[str, Any]
    sha256: str
    model: str
    parameters: Mapping[str, Any]
    value: float
    point: Mapping[str, Any]
    bound: float
    evidence: str
    solver: str
    seconds: float
    date: str
    who: str
    log: str = ""
    multipliers: tuple[float, ...] = field(default=())

    @property
    def gap(self) -> float:
        """(value - bound)/|value|; 0 where the value is 0."""
        return (self.value - self.bound) / abs(self.value) if self.value else 0.0

    @property
    def status(self) -> str:
        """The claim of the entry: "closed" for a gap of at most 1e-6, else "open"; "contradicted" for a bound above the value.

        `verify_entry` checks value and bound.
        """
        return "contradicted" if self.bound > self.value else "closed" if self.gap <= 1.001e-6 else "open"

    @classmethod
    def from_record(cls, record: Any) -> Entry:
        """Return an entry from an object of JSON; raise DataError for a field that is missing, unknown or not of its kind."""
        if not isinstance(record, dict):
            raise DataError("an entry of the book is not an object")
        name = record.get("name", "without a name")
        field_names = {f.name for f in fields(cls)}
        missing = field_names - set(record) - {"log", "multipliers"}
        if missing or set(record) - field_names:
            raise DataError(
                f"entry {name}: fields {sorted(missing)} are missing, {sorted(set(record) - field_names)} are unknown"
            )
        wrong = [key for key, value in record.items() if not (_FITS[key](value) and replace_control_characters(value) == value)]
        if wrong:
            raise DataError(
                f"entry {short_text(name)}: {', '.join(wrong)} are not what they must be; names are like zero-one/my-set.1"
            )
        # exempt (text): the name of an entry in a file
        if not record["name"].startswith(f"{record['model']}/"):
            raise DataError(f"entry {name}: its name begins with another model than its own, {record['model']}")
        return cls(**record | {"multipliers": tuple(record.get("multipliers", ()))})


def _is_number(value: Any) -> bool:
    """Return whether a value is a number of JSON, finite as a double."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_HUGE < value < _HUGE


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_number, value))


def _is_line(value: Any) -> bool:
    """Return whether a value is a short text of one line."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _matches(pattern: str) -> Callable[[Any], bool]:
    # exempt (text): names and digests in a file of entries
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


#: Size that numbers of an entry stay below, and the largest number of characters of a short text.
_HUGE, _LONGEST = 1e300, 100
#: Pattern of a SHA-256 in hexadecimal.
_DIGEST = "[0-9a-f]{64}"
#: Test of the value of each field of a record.
_FITS: Mapping[str, Callable[[Any], bool]] = {
    "name": _matches(r"[a-z0-9-]{1,30}/[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"),
    "data": lambda value: isinstance(value, dict) and isinstance(value.get("kind"), str),
    "sha256": _matches(_DIGEST),
    "model": _is_line,
    "parameters": lambda value: isinstance(value, dict),
    "value": _is_number,
    "point": lambda value: isinstance(value, dict) and all(map(_are_numbers, value.values())),
    "bound": _is_number,
    "evidence": _is_line,
    "solver": _is_line,
    "seconds": lambda value: _is_number(value) and value >= 0,
    "date": _is_date,
    "who": _is_line,
    "log": _matches(_DIGEST),
    "multipliers": _are_numbers,
}


def load_entries(path: str | Path | None = None) -> list[Entry]:
    """Return the entries of the book, or those of a file with one JSON object a line.

    Raises
    ------
    DataError
        The file cannot be read, a line of it is no entry, or two entries have the same name, log or instance.
    """
    if path is None:
        text = resources.files(__package__).joinpath("entries.jsonl").read_text(encoding="utf-8")
    else:
        text = read_text(path)
    entries: dict[str, Entry] = {}
    holders: dict[str, str] = {}
    for number, line in enumerate(split_lines(text), 1):
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"line {number} of the entries is no JSON: {error}") from error
        entry = Entry.from_record(record)
        if entry.name in entries:
            raise DataError(f"two entries have the name {entry.name}")
        instance = json.dumps([entry.sha256, entry.model, entry.parameters], sort_keys=True)
        for mark, noun in ((entry.log, "log"), (instance, "instance")):
            if mark and (holder := holders.setdefault(mark, entry.name)) != entry.name:
                raise DataError(f"{holder} and {entry.name} are of the same {noun}: each entry has its own")
        entries[entry.name] = entry
    return list(entries.values())


def save_entries(path: str | Path, entries: Iterable[Entry]) -> Path:
    """Write entries, one JSON object a line, sorted by name; raise DataError for an invalid entry before the file is written."""
    records = [{key: value for key, value in asdict(entry).items() if value not in ("", ())} for entry in entries]
    for record in records:
        Entry.from_record(record)
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in sorted(records, key=lambda r: r["name"])]
    return write_text(path, "".join(f"{line}\n" for line in lines))


def find_entry(name: str, entries: Iterable[Entry]) -> Entry:
    """Return the entry of this name; raise InputError if there is none."""
    table = {entry.name: entry for entry in entries}
    if name not in table:
        raise unknown_name("entry of the book", name, table)
    return table[name]
