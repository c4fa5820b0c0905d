"""Abilities of qpsolvers' interfaces that these do not state: from their documentation, and by trial."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.program.form import Quadratic
from ..interface.native_options import near_misses

__all__ = ["abilities", "accurate", "definite", "documented", "refusal", "swallows_unknown", "takes", "takes_dense"]


#: How the interfaces call what the common options say.
_TOLERANCES = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel", "primal_tol", "abstol", "reltol", "feastol")


@functools.cache
def documented(name: str) -> frozenset[str]:
    """Option names of an interface: its parameters and what its documentation sets in double backquotes."""
    from qpsolvers.solvers import solve_function

    function = solve_function[name]
    named = set(inspect.signature(function).parameters) - {"problem", "kwargs", "verbose"}
    return frozenset(named | set(re.findall(r"``(\w+)``", function.__doc__ or "")) - {"None", "True", "False"})


@functools.cache
def swallows_unknown(name: str) -> bool:
    """Return whether an interface takes a nonsense option without a word."""
    return tried(name, np.eye(2), np.zeros(2), 2.0, marginopt_has_no_such_option=1) is not None


@functools.cache
def takes(name: str, option: str, value: Any) -> bool:
    """Return whether an interface takes an option: its documentation says so, or it does not refuse it as it refuses others."""
    if option in documented(name):
        return True
    return not swallows_unknown(name) and tried(name, np.eye(2), np.zeros(2), 2.0, **{option: value}) is not None


@functools.cache
def abilities(name: str) -> frozenset[str]:
    """Return the abilities of the solver: bounds on one side only, a semidefinite P, no P at all.

    Tried on min ½x'Px + q'x over x_1 + x_2 = 1, x ≥ 0 (and x ≤ 2, where it needs both bounds), whose only solution is given.
    """
    one, settings = np.array([1.0, 1.0]), accurate(name, 1e-9)
    half_open = _finds(tried(name, np.eye(2), 0.0 * one, np.inf, **settings), (0.5, 0.5))
    upper = np.inf if half_open else 2.0
    tries = (
        ("linear", np.zeros((2, 2)), np.array([1.0, 0.0]), (0.0, 1.0)),
        ("semidefinite", np.array([[2.0, -2.0], [-2.0, 2.0]]), -one, (0.5, 0.5)),
        ("semidefinite diagonal", np.diag([1.0, 0.0]), 0.0 * one, (0.0, 1.0)),
    )
    found = {what for what, P, q, x in tries if _finds(tried(name, P, q, upper, **settings), x)}
    return frozenset(found | ({"half-open bounds"} if half_open else set()))


def _finds(answer: Any, x: tuple[float, float]) -> bool:
    return answer is not None and bool(answer.found) and answer.x is not None and bool(np.abs(answer.x - x).max() <= 1e-4)


def accurate(name: str, tol: float) -> dict[str, Any]:
    """Settings for this accuracy in the interface's own names.

    An absolute gap beside a relative one is set far lower: it must not pass for the relative one on small objectives.
    """
    small = ("eps_duality_gap_abs", "abstol")
    settings: dict[str, Any] = {o: 1e-4 * tol if o in small else tol for o in _TOLERANCES if takes(name, o, 1e-8)}
    if takes(name, "check_duality_gap", True):
        settings["check_duality_gap"] = True
    return settings


def tried(name: str, P: FloatArray, q: FloatArray, upper: float, /, **settings: Any) -> Any:
    """The answer to a problem in two variables; None where the interface raises or warns."""
    import qpsolvers

    def native(matrix: FloatArray) -> Any:
        return matrix if takes_dense(name) else sp.csc_matrix(matrix)

    bounds = np.zeros(2), np.full(2, upper)
    problem = qpsolvers.Problem(native(P), q, None, None, native(np.ones((1, 2))), np.ones(1), *bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return qpsolvers.solve_problem(problem, name, **settings)
        except Exception:  # noqa: BLE001 - what it raises differs from solver to solver; that it does is the answer
            return None


def takes_dense(name: str) -> bool:
    """Return whether the solver takes dense matrices."""
    import qpsolvers

    return name in qpsolvers.dense_solvers


def refusal(name: str, native: Mapping[str, Any], error: Exception) -> InputError:
    """The interface's refusal in its own words, and the names near to those that it refuses alone as well."""
    said = str(error)
    first = said.strip().splitlines()[0] if said.strip() else type(error).__name__
    # a compiled interface lists its parameters, then what it was called with
    known = documented(name) | set(re.findall(r"\b([a-z]\w+): ", said.partition("Invoked with")[0]))
    strangers = [o for o in native if o not in known and tried(name, np.eye(2), np.zeros(2), 2.0, **{o: native[o]}) is None]
    others = f" (it has {', '.join(sorted(documented(name)))})"
    hints = "".join(f"; it has no option {option!r}{near_misses(option, known) or others}" for option in strangers)
    return InputError(f"{name} does not take the options {dict(native)!r}: {first}{hints}")


_KNOWN: weakref.WeakKeyDictionary[Quadratic, bool] = weakref.WeakKeyDictionary()


def definite(quadratic: Quadratic) -> bool:
    """Return whether P has a Cholesky factor whose squared diagonal is above rounding; remembered as long as P lives."""
    if quadratic not in _KNOWN:
        P = quadratic.csc
        diagonal = P.diagonal()
        known = bool((diagonal > 0).all())
        if known:
            try:
                factor = scipy.linalg.cholesky(P.toarray(), lower=True, overwrite_a=True, check_finite=False)
                rounding = 10 * diagonal.size * np.finfo(np.float64).eps * float(diagonal.max())
                known = bool(factor.diagonal().min() ** 2 > rounding)
            except np.linalg.LinAlgError:
                known = False
        _KNOWN[quadratic] = known
    return _KNOWN[quadratic]
