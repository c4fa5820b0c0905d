"""Deprecation of public names: the old name works, and its first use warns with the new name and the version that drops it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from .errors import InputError, MarginoptWarning

_warned: set[tuple[str, str]] = set()


class MarginoptDeprecationWarning(MarginoptWarning, FutureWarning):
    """An old public name was used; says the new name and the version in which the old one goes."""


def warn_renamed(old: str, new: str, *, since: str, until: str, level: int = 3) -> None:
    """Warn once in a process that an old name was used.

    Parameters
    ----------
    old, new : str
        The names as a program writes them.
    since, until : str
        Versions: of the new name, and without the old one.
    level : int
        Number of calls between this function and the program.
    """
    if (old, new) not in _warned:
        _warned.add((old, new))
        text = f"{old} is called {new} since version {since}; the old name goes in version {until}"
        warnings.warn(MarginoptDeprecationWarning(text, name=new.rstrip("=")), stacklevel=level)


def current_names(
    function: str, options: Mapping[str, Any], old: str, new: str, *, since: str, until: str, level: int
) -> dict[str, Any]:
    """Return the arguments of a call by name, an old name replaced by the new one with a warning.

    Parameters
    ----------
    function : str
        Name of the function or class that is called.
    options : mapping
    old, new : str
        Names of the parameter.
    since, until, level
        As in `warn_renamed`.
    """
    if old not in options:
        return dict(options)
    if new in options:
        raise InputError(f"{old} is the old name of {new}; give {new} alone", name=old)
    warn_renamed(f"{function}({old}=)", f"{new}=", since=since, until=until, level=level)
    return {new if name == old else name: value for name, value in options.items()}
