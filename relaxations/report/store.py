"""A store of report cells: one SQLite file that several reports may use at once and that a kill at any moment leaves whole.

Every finished cell is one row, inserted in one transaction with SQLite's rollback journal and full synchronisation: after
a kill it is there or it is not. A cell's key is a digest of all that determines it (the data themselves, λ, what is solved, by
what, with which options, the incumbent, this package's version), so an interrupted report continues where it stopped, another
report finds what it shares with it, and nothing is mistaken for something else. The first cell stored under a key stays.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import DataError
from ...files import READ_ERRORS, read_error
from ...models.fingerprint import identity
from ...solvers.interface.solver import version_of

__all__ = ["CellStore", "digest", "identity"]

#: Layout of the file; another one is refused.
STORE_VERSION = 2
#: Field of a stored record: its digest, so that a number that was edited is not taken for one that was computed.
_SEAL = "sha256"
#: Seconds to wait while another report writes.
_PATIENCE = 60.0


class CellStore:
    """Records by key in one file.

    Parameters
    ----------
    path : path-like
        Created where it is not there.

    Raises
    ------
    DataError
        The file is there and is not a store of this version, or its directory is not.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise DataError(f"the store {self.path} cannot be made: there is no directory {self.path.parent}")
        with self._transaction() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if version == 0 and tables == 0:
                connection.execute(
                    "CREATE TABLE cells (key TEXT PRIMARY KEY, kind TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID"
                )
                connection.execute(f"PRAGMA user_version = {STORE_VERSION}")
            elif version != STORE_VERSION:
                raise DataError(
                    f"{self.path} is not a store of this version: its layout is {version}, not {STORE_VERSION}; start a new one"
                )

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under a key, if it is there."""
        with self._transaction() as connection:
            row = connection.execute("SELECT record FROM cells WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._record(key, row[0])

    def put(self, key: str, kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
        """Store a record unless there is one under the key; returns the one that is there in the end."""
        text = json.dumps({**record, _SEAL: _seal(key, record)}, allow_nan=False)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO cells VALUES (?, ?, ?)", (key, kind, text))
            row = connection.execute("SELECT record FROM cells WHERE key = ?", (key,)).fetchone()
        return self._record(key, row[0])

    def _record(self, key: str, text: object) -> dict[str, Any]:
        """Return a record from its text, which another program may have written or edited."""
        try:
            record = dict(json.loads(str(text)))
        except READ_ERRORS as error:
            raise DataError(f"the store {self.path} holds a record that is damaged: {read_error(error)}") from error
        if record.pop(_SEAL, None) != _seal(key, record):
            raise DataError(
                f"the store {self.path} holds a record that was changed after it was written (key {key[:16]}): "
                "its numbers prove nothing; start a new store"
            )
        return record

    def remember(
        self, kind: str, parts: Mapping[str, Any], make: Callable[[], tuple[dict[str, Any], bool]]
    ) -> tuple[dict[str, Any], bool]:
        """The stored record, or the one that ``make`` computes, and whether it was stored before.

        Parameters
        ----------
        kind : str
        parts : mapping
            All that determines the record; see `identity`.
        make : callable
            Returns a record and whether it is worth keeping (a solve that was interrupted or could not run is not).
        """
        key = digest({"kind": kind, **parts})
        stored = self.get(key)
        if stored is not None:
            return stored, True
        record, keep = make()
        return (self.put(key, kind, record) if keep else record), False

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All records of one kind, in the order of their keys."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT key, record FROM cells WHERE kind = ? ORDER BY key", (kind,)).fetchall()
        return [self._record(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Number of records of each kind."""
        with self._transaction() as connection:
            return dict(connection.execute("SELECT kind, count(*) FROM cells GROUP BY kind").fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each operation: nothing is held while a cell is computed, nor shared by processes."""
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise DataError(f"the store {self.path} cannot be used: {error}") from error
        finally:
            if connection is not None:
                connection.close()  # rolls back what was not committed


def _seal(key: str, record: Mapping[str, Any]) -> str:
    """Return the digest of a record and of its key, which is one of all that determines it."""
    text = json.dumps([key, dict(record)], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest(value: Any) -> str:
    """A digest of the `identity` of a value and of this package's version."""
    text = json.dumps({"marginopt": version_of("marginopt"), "value": identity(value)}, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
