"""Checks of the facts that errors and warnings carry; sentences are pinned in tests/messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from warnings import WarningMessage

from marginopt.errors import MarginoptWarning


@dataclass(frozen=True)
class Facts:
    """A check that an attribute of an error is one of the values, and that the error lists names that are allowed."""

    attribute: str
    values: tuple[str, ...]
    allowed: frozenset[str] = frozenset()

    def __call__(self, error: BaseException) -> bool:
        return getattr(error, self.attribute) in self.values and self.allowed <= set(getattr(error, "allowed", ()))


def about(*names: str, allowed: Iterable[str] = ()) -> Facts:
    """Return the check that an error names one of the arguments, and lists these names among those that would do."""
    return Facts("name", names, frozenset(allowed))


def missing(*packages: str) -> Facts:
    """Return the check that an error names one of the packages as missing."""
    return Facts("package", packages)


def unlicensed(*solvers: str) -> Facts:
    """Return the check that an error names one of the solvers as lacking a licence."""
    return Facts("solver", solvers)


def failed(*solvers: str) -> Facts:
    """Return the check that an error names one of the solvers as having failed."""
    return Facts("solver", solvers)


def ended(*states: str) -> Facts:
    """Return the check that an error names one of the states in which a solve without a point ended."""
    return Facts("status", states)


def lost_task(number: int | None) -> Callable[[BaseException], bool]:
    """Return the check that an error names the task that a cluster lost; None is the whole cluster."""
    return lambda error: getattr(error, "task", -1) == number


def unwritten(path: object) -> Facts:
    """Return the check that an error names the file that could not be written."""
    return Facts("path", (str(path),))


def subjects(warnings: Iterable[WarningMessage]) -> list[str]:
    """Return what marginopt's warnings are about, in the order in which they came."""
    return [warning.message.name for warning in warnings if isinstance(warning.message, MarginoptWarning)]


@dataclass(frozen=True)
class Place:
    """A check that an error names a file by the end of its path, and a line of it; a line of None is any."""

    file: str
    line: int | None

    def __call__(self, error: BaseException) -> bool:
        file, line = getattr(error, "file", ""), getattr(error, "line", 0)
        return bool(file) and file.endswith(self.file) and (line > 0 if self.line is None else line == self.line)


def at(file: object, line: int | None = 0) -> Place:
    """Return the check that an error is one of this file, and of this line where one is at fault."""
    return Place(str(file), line)
