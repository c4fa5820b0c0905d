"""Deprecation of public names: the old name works, and its first use warns with the new name and the version that drops it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from .errors import InputError, MarginoptWarning

P = ParamSpec("P")
R = TypeVar("R")
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


def renamed(old: str, new: Callable[P, R], *, since: str, until: str) -> Callable[P, R]:
    """Return a function of the old name that warns at its first call and calls the new one.

    Parameters
    ----------
    old : str
    new : callable
        A function or class.
    since, until : str
        Versions: of the new name, and without the old one.
    """

    @functools.wraps(new)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_renamed(old, new.__qualname__, since=since, until=until)
        return new(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    return call


def current_names(
    function: str, options: Mapping[str, Any], old: str, new: str, *, since: str, until: str, level: int
) -> dict[str, Any]:
    """Return the arguments of a call that gives an old name, which the new one replaces, with a warning.

    Parameters
    ----------
    function : str
        Name of the function or class that is called.
    options : mapping
    old, new, since, until
        As `renamed_parameter`.
    level : int
        As `warn_renamed`.
    """
    if new in options:
        raise InputError(f"{old} is the old name of {new}; give {new} alone", name=old)
    warn_renamed(f"{function}({old}=)", f"{new}=", since=since, until=until, level=level)
    return {new if name == old else name: value for name, value in options.items()}


def renamed_parameter(old: str, new: str, *, since: str, until: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator under which a function's parameter may be given by its old name, with a warning.

    Raises
    ------
    InputError
        At the call, where both names are given.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            if old in kwargs:
                kwargs = current_names(function.__qualname__, kwargs, old, new, since=since, until=until, level=4)
            return function(*args, **kwargs)

        return call

    return decorate
