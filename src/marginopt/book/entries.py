"""Entries of the book of open instances, one JSON object a line, in ``entries.jsonl`` beside this module."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import DataError, unknown_name
from ..files import read_text, write_text

#: Evidence of a bound: a proof log, multipliers in the entry, or the certificate that `solve` recomputes.
EVIDENCE = ("log", "multipliers", "certificate")


@dataclass(frozen=True)
class Entry:
    """One instance with the best that is known of it.

    Parameters
    ----------
    name : str
    data : mapping
        Kind of the data and its arguments (`data.build_data`).
    sha256 : str
        Digest of X and y.
    model : str
        A formulation by its name at the prompt.
    parameters : mapping
        λ and the kind of intercept.
    value : float
        Best known objective, the exact one of ``point`` rounded up.
    point : mapping
        ``w``, and ``W`` (its lower triangle, row by row) of the conic relaxation.
    bound : float
        Best proved lower bound.
    evidence : {"log", "multipliers", "certificate"}
        What the bound rests on.
    solver, date, who : str
        Who found it, by what, and when.
    seconds : float
        Processor time of the solve.
    log : str
        SHA-256 of the proof log.
    multipliers : tuple of float
        One for each point.
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
        """(value - bound)/|value|; 0 where both are."""
        return (self.value - self.bound) / abs(self.value) if self.value else 0.0

    @property
    def status(self) -> str:
        """``proved`` where the gap is at most 1e-6, else ``open``."""
        return "proved" if self.gap <= 1.001e-6 else "open"

    @classmethod
    def from_record(cls, record: Any) -> Entry:
        """Return an entry from an object of JSON.

        Raises
        ------
        DataError
            A field is missing or unknown, or is of another type.
        """
        if not isinstance(record, dict):
            raise DataError("an entry of the book is not an object")
        name = record.get("name", "without a name")
        field_names = {f.name for f in fields(cls)}
        missing = field_names - set(record) - {"log", "multipliers"}
        if missing or set(record) - field_names:
            raise DataError(
                f"entry {name}: fields {sorted(missing)} are missing, {sorted(set(record) - field_names)} are unknown"
            )
        texts = ("name", "sha256", "model", "evidence", "solver", "date", "who")
        wrong = [key for key in texts if not isinstance(record[key], str)]
        wrong += [key for key in ("value", "bound", "seconds") if not isinstance(record[key], int | float)]
        wrong += [key for key in ("data", "parameters", "point") if not isinstance(record[key], dict)]
        if wrong:
            raise DataError(f"entry {name}: {', '.join(wrong)} are of another type than they must be")
        return cls(**record | {"multipliers": tuple(record.get("multipliers", ()))})


def load_entries(path: str | Path | None = None) -> list[Entry]:
    """Return the entries of the book, or of a file of entries."""
    if path is None:
        text = resources.files(__package__).joinpath("entries.jsonl").read_text(encoding="utf-8")
    else:
        text = read_text(path)
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"line {number} of the entries is no JSON: {error}") from error
        entry = Entry.from_record(record)
        if entry.name in entries:
            raise DataError(f"two entries have the name {entry.name}")
        entries[entry.name] = entry
    return list(entries.values())


def save_entries(path: str | Path, entries: Iterable[Entry]) -> Path:
    """Write entries, one a line, in the order of their names."""
    records = [{key: value for key, value in asdict(entry).items() if value not in ("", ())} for entry in entries]
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in sorted(records, key=lambda r: r["name"])]
    return write_text(path, "".join(f"{line}\n" for line in lines))


def find_entry(name: str, entries: Iterable[Entry]) -> Entry:
    """Return the entry of a name.

    Raises
    ------
    InputError
        There is none; names the nearest ones.
    """
    table = {entry.name: entry for entry in entries}
    if name not in table:
        raise unknown_name("entry of the book", name, table)
    return table[name]
