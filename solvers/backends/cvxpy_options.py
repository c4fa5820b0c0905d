"""Names of the common options in the interfaces of CVXPY, which has no names of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..records.options import Options

__all__ = ["INNER", "implied_bound", "known_names", "settings_of", "tight"]

#: Names as paths of keys.
_TOLERANCES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "SCIPY": (("scipy_options", "primal_feasibility_tolerance"), ("scipy_options", "dual_feasibility_tolerance")),
    "CLARABEL": (("tol_gap_abs",), ("tol_gap_rel",), ("tol_feas",)),
    "SCS": (("eps_abs",), ("eps_rel",)),
    "ECOS": (("abstol",), ("reltol",), ("feastol",)),
    "CVXOPT": (("abstol",), ("reltol",), ("feastol",)),
    "QOCO": (("abstol",), ("reltol",)),
}
_MIP_GAP: Mapping[str, tuple[str, ...]] = {"SCIPY": ("scipy_options", "mip_rel_gap")}
_TIME: Mapping[str, tuple[str, ...]] = {
    "SCIPY": ("scipy_options", "time_limit"),
    "CLARABEL": ("time_limit",),
    "SCS": ("time_limit_secs",),
    "GLPK": ("glpk", "tm_lim"),
    "GLPK_MI": ("tm_lim",),
    "CBC": ("maximumSeconds",),
}
#: Interfaces that count time in whole milliseconds, and take their default for what is no whole number.
_MILLISECONDS = frozenset({"GLPK", "GLPK_MI"})
_ITERATIONS: Mapping[str, tuple[str, ...]] = {
    "CLARABEL": ("max_iter",),
    "SCS": ("max_iters",),
    "ECOS": ("max_iters",),
    "CVXOPT": ("max_iters",),
    "QOCO": ("max_iters",),
}
#: Interfaces that search until nothing better is left and tell no bound: what they take for nothing, with its default, as a share
#: of the objective f and of 1 + |f|.
_LEFT: Mapping[str, tuple[tuple[str, float], tuple[str, float]]] = {"GLPK_MI": (("mip_gap", 0.0), ("tol_obj", 1e-7))}
_GLPK = frozenset(
    {"msg_lev", "meth", "pricing", "r_test", "tol_bnd", "tol_dj", "tol_piv"}
    | {"obj_ll", "obj_ul", "it_lim", "tm_lim", "out_frq", "out_dly", "presolve"}
)
_GLPK_MI = frozenset(
    {"msg_lev", "br_tech", "bt_tech", "pp_tech", "fp_heur", "gmi_cuts", "mir_cuts", "cov_cuts", "clq_cuts"}
    | {"tol_int", "tol_obj", "mip_gap", "tm_lim", "out_frq", "out_dly", "presolve", "binarize"}
)
#: Further names of interfaces that do not refuse what they do not know, from their documentation.
_FURTHER: Mapping[str, frozenset[str]] = {
    "CVXOPT": frozenset({"kktsolver", "refinement"}),
    "GLPK": frozenset({"glpk"}),
    "GLPK_MI": _GLPK_MI,
}
#: Names within an option that is a mapping.
INNER: Mapping[str, frozenset[str]] = {"glpk": _GLPK}


def known_names(name: str) -> frozenset[str]:
    """The option names of this interface that are known here."""
    paths = [*_TOLERANCES.get(name, ()), *(table[name] for table in (_MIP_GAP, _TIME, _ITERATIONS) if name in table)]
    return frozenset(path[0] for path in paths) | _FURTHER.get(name, frozenset())


def tight(name: str) -> dict[str, Any]:
    """Tolerances of this interface, small."""
    settings: dict[str, Any] = {}
    for path in _TOLERANCES.get(name, ()):
        _put(settings, path, 1e-8)
    return settings


def settings_of(name: str, options: Options, default: float, *, mixed: bool) -> tuple[dict[str, Any], frozenset[str]]:
    """Keyword arguments for the interface, and which common options found a place among them.

    Parameters
    ----------
    name : str
        CVXPY's.
    options : Options
    default : float
        The solver's tolerance where none is given.
    mixed : bool
        Whether there are integers: the tolerance is that of the gap then.
    """
    tol, settings, taken = options.tolerance(default), dict[str, Any](), set()
    if mixed:
        if name in _MIP_GAP:
            _put(settings, _MIP_GAP[name], tol)
        if name in _LEFT:
            settings[_LEFT[name][1][0]] = min(max(1e-2 * tol, 1e-12), _LEFT[name][1][1])
    else:
        for path in _TOLERANCES.get(name, ()):
            _put(settings, path, max(1e-2 * tol, 1e-10))
    for option, table in (("time_limit", _TIME), ("iteration_limit", _ITERATIONS)):
        value = getattr(options, option)
        if value is not None and name in table:
            whole = option == "time_limit" and name in _MILLISECONDS
            _put(settings, table[name], math.ceil(1e3 * min(value, 2e6)) if whole else value)
            taken.add(option)
    for key, value in options.native.items():
        inner = settings.get(key, {})  # copied: interfaces add to what they are given
        settings[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return settings, frozenset(taken)


def implied_bound(name: str, settings: Mapping[str, Any], objective: float) -> float | None:
    """Return the bound that an interface without bounds claims with the word "optimal" for integers; None where it is not known.

    GLPK cuts off what is better by less than tol_obj (1 + |f|), and stops at a relative gap of mip_gap.
    """
    if name not in _LEFT:
        return None
    (gap, gap_default), (small, small_default) = _LEFT[name]
    size = abs(objective)
    return objective - float(settings.get(gap, gap_default)) * size - float(settings.get(small, small_default)) * (1.0 + size)


def _put(settings: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        settings = settings.setdefault(key, {})
    settings[path[-1]] = value
