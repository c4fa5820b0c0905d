"""Options that every solve accepts, whatever the solver; native options travel beside them untouched."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from .answer import TraceRow

__all__ = ["COMMON", "Callback", "Options"]

#: Called with each new trace row; returning True stops the solve (status INTERRUPTED).
Callback: TypeAlias = Callable[[TraceRow], "bool | None"]


#: Numbers with the least that they may be and the value from which on they are no limit.
_NUMBERS = (("time_limit", 0.0, 1e9), ("tol", 1e-16, None), ("memory_limit", 0.0, 1e18))
#: The largest count that every solver takes: no run comes so far.
_COUNT = 2**31 - 1


def _number(name: str, value: Any, least: float, most: float | None) -> float | None:
    """Return the option as a number; None where it is so large that it limits nothing.

    Raises
    ------
    InputError
        It is no number, not positive, or (a tolerance) beyond what float64 can tell from 0 and from 1.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | numbers.Real):
        raise InputError(f"{name} must be a number > 0; it is {_short(value)}")
    number: Any = value
    if most is not None and number >= most:
        return None
    if not number > 0:
        raise InputError(f"{name} must be a number > 0; it is {_short(value)}")
    if most is None and not least <= number < 1e300:
        raise InputError(f"{name} must be a finite number of at least {least:g}, a relative gap; it is {_short(value)}")
    return float(number)


def _short(value: object) -> str:
    """The value as it is shown in a message."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "an integer of over forty digits"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@dataclass(frozen=True)
class Options:
    """Common options of a solve.

    Parameters
    ----------
    time_limit : float, optional
        Seconds of solving; no limit where it is not given, infinite, or 1e9 at least. What an algorithm of ours prepares counts,
        what a solver's own model takes to build, and compiling for the first time on a machine, does not.
    tol : float, optional
        Relative gap at which to stop, (primal - bound)/max(|primal|, |bound|). Where it is not given each solver takes its
        record's, 1e-6 unless its record says otherwise.
    threads : int, optional
        Threads the solver may use; all where it is not given.
    seed : int
        Seed of whatever the solver draws.
    iteration_limit, node_limit : int, optional
    memory_limit : float, optional
        Bytes.
    verbose : bool
        The solver's own log on the terminal.
    progress : bool
        One line of ours with the current gap, rewritten in place.
    start : mapping of label to array, optional
        Values to start from (all or some blocks).
    callback : callable, optional
        See `Callback`; hand-written algorithms and the backends that can.
    native : mapping
        The solver's own options, by its own names.
    """

    time_limit: float | None = None
    tol: float | None = None
    threads: int | None = None
    seed: int = 0
    iteration_limit: int | None = None
    node_limit: int | None = None
    memory_limit: float | None = None
    verbose: bool = False
    progress: bool = False
    start: Mapping[str, FloatArray] | None = None
    callback: Callback | None = None
    native: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least, most in _NUMBERS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _number(name, value, least, most))
        for name, least in (("threads", 1), ("iteration_limit", 1), ("node_limit", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name != "seed":
                continue
            if isinstance(value, bool) or not (isinstance(value, int | numbers.Integral) and int(value) >= least):
                raise InputError(f"{name} must be an integer ≥ {least}; it is {_short(value)}")
            object.__setattr__(self, name, int(value) if name == "seed" else min(int(value), _COUNT))
        for name in ("verbose", "progress"):
            value = getattr(self, name)
            if not isinstance(value, int | np.bool_):
                raise InputError(f"{name} must be True or False; it is {_short(value)}")
            object.__setattr__(self, name, bool(value))
        if not isinstance(self.native, Mapping):
            raise InputError(f"native must map names of options to values; it is a {type(self.native).__name__}")
        if self.start is not None and not isinstance(self.start, Mapping):
            raise InputError(f"start must map labels of variables to arrays; it is a {type(self.start).__name__}")
        if self.callback is not None and not callable(self.callback):
            raise InputError(f"callback must be a function of one trace row; it is a {type(self.callback).__name__}")

    @classmethod
    def of(cls, options: Options | None = None, **overrides: Any) -> Options:
        """These options (the defaults where there are none) with some replaced.

        ``solve``, ``compare`` and ``path`` read their keywords here: a name of `COMMON` is a common option, every other one
        is the solver's own and is added to ``native``.

        Raises
        ------
        InputError
            A value that is out of range; ``options`` of another type.
        """
        if not (options is None or isinstance(options, Options)):
            raise InputError(f"options must be Options(...); they are a {type(options).__name__}; single ones are keywords")
        base = cls() if options is None else options
        if not overrides:
            return base
        common = {name: value for name, value in overrides.items() if name in COMMON}
        own = {name: value for name, value in overrides.items() if name not in COMMON and name != "native"}
        native = overrides.get("native", {})
        if not isinstance(native, Mapping):
            raise InputError(f"native must map names of options to values; it is a {type(native).__name__}")
        return replace(base, **common, native={**base.native, **native, **own})

    def tolerance(self, default: float) -> float:
        """The gap asked for, or the solver's default."""
        return default if self.tol is None else self.tol

    def after(self, seconds: float) -> Options:
        """These options when ``seconds`` of the time limit are spent; a millisecond is left (or the limit, if that is less)."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - seconds, min(self.time_limit, 1e-3)))

    def sharing(self, threads: int | None) -> Options:
        """These options in a process whose share of the machine is ``threads``: what takes all otherwise takes so many."""
        return self if self.threads is not None or threads is None else replace(self, threads=threads)

    def record(self) -> dict[str, Any]:
        """Return the plain values that differ from the defaults, for a stored result."""
        plain = {
            name: getattr(self, name)
            for name in ("time_limit", "tol", "threads", "iteration_limit", "node_limit", "memory_limit")
            if getattr(self, name) is not None
        }
        plain["seed"] = self.seed
        if self.start is not None:
            plain["start"] = sorted(self.start)
        if self.native:
            plain["native"] = {k: v if isinstance(v, (bool, int, float, str)) else repr(v) for k, v in self.native.items()}
        return plain


#: Names of the options that mean the same for every solver.
COMMON = frozenset(f.name for f in fields(Options)) - {"native"}
