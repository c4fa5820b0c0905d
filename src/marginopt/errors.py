"""The errors and warnings that marginopt raises, among them the warnings of renamed public names.

Every error that a user can cause is one of these. Where a *value* is at fault the error also derives from
``ValueError``, where a *package* is missing from ``ImportError``, so that code written against the standard
exceptions keeps working. Every layer may import this module, which imports none of them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sized
from typing import Any, TypeVar

#: The type of what a method returned.
T = TypeVar("T")

#: Characters of a value that a message shows.
_SHORT = 80
#: Characters of a string that a message shows: names and paths are to be read whole.
_SHORT_NAME = 300

__all__ = [
    "ClusterError",
    "DataError",
    "ExportError",
    "ExtensionError",
    "InputError",
    "LicenceError",
    "MarginoptDeprecationWarning",
    "MarginoptError",
    "MarginoptWarning",
    "MissingPackageError",
    "NotSeparableError",
    "SolverError",
    "TooLargeError",
    "UnsupportedModelError",
    "WriteError",
    "checked_return",
    "near_names",
    "plain_scalars",
    "short_text",
    "unknown_name",
]


def short_text(value: object) -> str:
    """Return a value for a message, in one line.

    Parameters
    ----------
    value : object
        Anything that a user gave.

    Returns
    -------
    str
        Its representation; of one that is long or has several lines the type and the number of entries, or its beginning.
    """
    if isinstance(value, int) and abs(value) >= 10**40:
        return "an integer of over forty digits"
    text, longest = repr(value), _SHORT_NAME if isinstance(value, str) else _SHORT
    if len(text) <= longest and "\n" not in text:
        return text
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"a value of type {type(value).__name__} with {count_text(len(value), 'entry', 'entries')}"
    return " ".join(text.split())[: longest - 3] + "..."


def count_text(count: int, noun: str, plural: str = "", spec: str = "") -> str:
    """Return a count with its noun, in the plural unless the count is one.

    Parameters
    ----------
    count : int
        The number of things.
    noun : str
        The noun in the singular.
    plural : str
        The noun in the plural; with an s if empty.
    spec : str
        Format of the count, as "," for thousands.
    """
    return f"{count:{spec}} {noun if count == 1 else plural or f'{noun}s'}"


def checked_return(value: T, kind: type[Any] | tuple[type[Any], ...], method: str, owner: str) -> T:
    """Check the type of the value that a method of an extension returned, and return the value.

    Parameters
    ----------
    value : object
        The value that the method returned.
    kind : type or tuple of type
        The type that it must have.
    method, owner : str
        Names of the method and of the solver, formulation or relaxation that has it.

    Returns
    -------
    object
        The value itself.

    Raises
    ------
    InputError
        The value is of another type.
    """
    if isinstance(value, kind):
        return value
    kinds = kind if isinstance(kind, tuple) else (kind,)
    words = " or ".join("None" if one is type(None) else f"a value of type {one.__name__}" for one in kinds)
    raise InputError(f"{method} of {owner} must return {words}; it returned one of type {type(value).__name__}", name=method)


def near_names(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that are similar to a misspelt one, the nearest first; case does not count.

    A name is similar if at least three quarters of the letters of both, in order, match. If there is no such name, known names
    that contain ``name`` (five letters or more) are returned.

    Parameters
    ----------
    name : str
        The misspelt name.
    names : iterable of str
        The known names.
    count : int
        Largest number of names.

    Returns
    -------
    list of str
    """
    import difflib

    by_small: dict[str, list[str]] = {}
    for other in dict.fromkeys(names):
        by_small.setdefault(other.lower(), []).append(other)
    small_name = name.lower()
    matches = difflib.get_close_matches(small_name, by_small, n=count, cutoff=0.75)
    if not matches and len(small_name) >= 5:
        matches = [other for other in by_small if small_name in other]
    return [other for small in matches for other in by_small[small]][:count]


#: A scalar as NumPy 2 represents it, ``np.float64(0.5)``.
# exempt (text): NumPy's representation
_NUMPY_SCALAR = re.compile(r"\bnp\.(?:float|int|uint|bool|str_|complex)\w*\(([^()]*)\)")


def plain_scalars(text: str) -> str:
    """Return the text with NumPy's representation of scalars replaced by Python's: ``np.float64(0.5)`` is 0.5.

    Parameters
    ----------
    text : str
        Text that may hold representations of NumPy's scalars.

    Returns
    -------
    str
        The text, with numbers as Python writes them.
    """
    return _NUMPY_SCALAR.sub(r"\1", text)


class MarginoptError(Exception):
    """Base of every error that marginopt raises on purpose; its message shows scalars as Python does, also NumPy's.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(plain_scalars(message))


class InputError(MarginoptError, ValueError):
    """An argument that cannot be used; the message names it, its value, and what is needed.

    Attributes
    ----------
    name : str
        The argument, or the unknown name; empty where no single argument is at fault.
    allowed : tuple of str
        The known names, if the error is about an unknown one.
    """

    def __init__(self, message: str = "", *, name: str = "", allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.name, self.allowed = name, tuple(allowed)


def unknown_name(kind: str, name: object, known_names: Iterable[str], advice: str = "") -> InputError:
    """Return the error for an unknown name; its message suggests the nearest known names, and lists at most twenty.

    Parameters
    ----------
    kind : str
        What the name is of, such as "solver".
    name : object
        The unknown name.
    known_names : iterable of str
        The known names: the error's ``allowed``.
    advice : str
        The end of the message.

    Returns
    -------
    InputError
        To be raised by the caller.
    """
    names = list(known_names)
    suggestions = near_names(str(name), names)
    hint = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
    message = (
        f"there is no {kind} {short_text(name)}; {hint}known: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}{advice}"
    )
    return InputError(message, name=str(name), allowed=names)


class DataError(InputError):
    """A data set or file that cannot be found, read or used; the message names the file, and the line at fault if there is one.

    Attributes
    ----------
    file : str
        The file; empty where the error is not one of a file.
    line : int
        The line of the file, from 1; 0 where no line is at fault.
    """

    def __init__(
        self, message: str = "", *, name: str = "", allowed: Iterable[str] = (), file: object = "", line: int = 0
    ) -> None:
        self.file, self.line = str(file), line
        place = f"{self.file}, line {line}: " if line else "" if self.file in message else f"{self.file}: "
        super().__init__(place + message, name=name, allowed=allowed)


class TooLargeError(InputError):
    """Data, a model or a computation too large for memory or for the method; the message says which, and what to do."""


class NotSeparableError(InputError):
    """A hard-margin problem on classes that no hyperplane separates, with the Farkas proof attached.

    Attributes
    ----------
    farkas : tuple of float
        Multipliers ``f ≥ 0``, ``sum(f) = 1``, with ``sum_i f_i y_i x_i = 0`` up to rounding: no ``w`` can have
        ``y_i x_i'w ≥ 1`` for all ``i``.
    """

    def __init__(self, message: str, farkas: tuple[float, ...]) -> None:
        super().__init__(message, name="kappa")
        self.farkas = farkas


class UnsupportedModelError(InputError):
    """A problem class that a solver or file format cannot read; the message says why, and which solvers can."""


class ExportError(InputError):
    """A program (a model's standard form) that the requested file format or modelling layer cannot represent."""


class MissingPackageError(MarginoptError, ImportError):
    """An optional package that is not installed; the message holds the install command.

    Attributes
    ----------
    package : str
        The package, or the solver that is reached through another package; empty where the message alone says what is missing.
    command : str
        The command that installs it.
    """

    def __init__(self, message: str = "", package: str = "", command: str = "") -> None:
        super().__init__(f"{message}: {command}" if command else message)
        self.package, self.command = package, command


class LicenceError(MarginoptError):
    """An installed solver whose licence is missing, expired, or too small for the model.

    Attributes
    ----------
    solver : str
        Name of the solver.
    """

    def __init__(self, message: str = "", solver: str = "") -> None:
        super().__init__(message)
        self.solver = solver


class ExtensionError(MarginoptError):
    """An extension of another package that cannot be used; the message says which package, and why.

    The exception that the package raised is the error's ``__cause__``.

    Attributes
    ----------
    name : str
        The extension's name.
    packages : tuple of str
        The packages with an entry point of this name, with their versions.
    """

    def __init__(self, message: str = "", *, name: str = "", packages: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.name, self.packages = name, tuple(packages)


class SolverError(MarginoptError):
    """A solver that failed or returned no point, for a reason that no argument of the call explains.

    Attributes
    ----------
    solver : str
        The solver; empty where the model alone is the reason.
    status : str
        The state in which the solve ended, "unbounded" or "infeasible"; empty where the solver failed.
    rows : tuple of str
        Constraints that a Farkas proof shows cannot hold together; empty where there is no such proof.
    """

    def __init__(self, message: str = "", *, solver: str = "", status: str = "", rows: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.solver, self.status, self.rows = solver, status, tuple(rows)


class ClusterError(SolverError):
    """A cluster that is unreachable, or lost a task with every worker that ran it.

    Attributes
    ----------
    task : int or None
        The number of the task; None if the connection is lost.
    """

    def __init__(self, message: str = "", task: int | None = None) -> None:
        super().__init__(message)
        self.task = task


class WriteError(InputError):
    """A file that could not be written; its previous content is unchanged.

    Attributes
    ----------
    result : object or None
        The result of the solve before the file failed (a `marginopt.Result`), so that a full disk does not lose a solution.
    path : str
        The file; empty where the error is not one of a single file.
    """

    def __init__(self, message: str, result: object = None, path: object = "") -> None:
        super().__init__(message)
        self.result, self.path = result, str(path)


class MarginoptWarning(UserWarning):
    """A warning of a call that is allowed and probably unintended; the message says what to call instead.

    Parameters
    ----------
    message : str
        What is probably unintended, and what to call instead.

    Attributes
    ----------
    name : str
        The argument that the warning is about, or that avoids it.
    """

    def __init__(self, message: str = "", *, name: str = "") -> None:
        super().__init__(plain_scalars(message))
        self.name = name


#: Old and new names of which this process was warned.
_WARNED: set[tuple[str, str]] = set()


class MarginoptDeprecationWarning(MarginoptWarning, FutureWarning):
    """A warning of a renamed public name; the message says the new name, and the version that drops the old one."""


def warn_renamed(old: str, new: str, *, since: str, until: str, level: int = 3) -> None:
    """Issue `MarginoptDeprecationWarning` for the use of an old public name, once in a process for each name.

    Parameters
    ----------
    old, new : str
        The names as a program writes them.
    since, until : str
        The versions that bring the new name and drop the old one.
    level : int
        ``stacklevel`` of the warning: 3 is the line that called the caller of this function.
    """
    if (old, new) not in _WARNED:
        _WARNED.add((old, new))
        text = f"{old} is called {new} since version {since}; the old name goes in version {until}"
        warnings.warn(MarginoptDeprecationWarning(text, name=new.rstrip("=")), stacklevel=level)


def replace_old_name(
    function: str, options: Mapping[str, Any], old: str, new: str, *, since: str, until: str, level: int
) -> dict[str, Any]:
    """Return the keyword arguments of a call with an old parameter name replaced by the new one, and `warn_renamed` of it.

    Parameters
    ----------
    function : str
        Name of the function or class that is called.
    options : mapping
        The arguments by name.
    old, new : str
        Names of the parameter.
    since, until, level
        As in `warn_renamed`.

    Raises
    ------
    InputError
        Both names are given.
    """
    if old not in options:
        return dict(options)
    if new in options:
        raise InputError(f"{old} is the old name of {new}; give {new} alone", name=old)
    warn_renamed(f"{function}({old}=)", f"{new}=", since=since, until=until, level=level)
    return {new if name == old else name: value for name, value in options.items()}
