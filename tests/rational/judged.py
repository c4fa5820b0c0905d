"""The faults of an answer beside the optimum in rational arithmetic; empty where nothing is."""

from __future__ import annotations

import math
from fractions import Fraction

import marginopt as mo
from marginopt.solvers import Status

from .compositions import Compositions
from .flats import dot, fractions

__all__ = ["answer_fault", "closed_fault", "counted_fault", "report_fault"]

#: To which part of the optimum the gap must be closed, and how far from an optimum a value of 0 may be for rounding's sake.
CLOSED, ROUNDING = Fraction(1, 10**6), Fraction(1, 10**9)
#: Incumbents of logs may be short of a margin by 1e-9 of its terms, and cost less than the optimum by what that is worth.
_SHORT = Fraction(1, 10**6)


def answer_fault(result: mo.Result, exact: Compositions, optimum: Fraction | None, slack: Fraction = Fraction(1, 10**6)) -> str:
    """Of a solver's result: a bound above the optimum, OPTIMAL elsewhere, a point that does not cost what it says.

    ``slack`` is what the point may lack of a restriction or of a margin.
    """
    if optimum is None:
        return "" if result.status is Status.INFEASIBLE or result.status.stopped else f"{result.status}, but no point is allowed"
    if result.status is Status.INFEASIBLE:
        return f"infeasible, the optimum is {float(optimum)!r}"
    if str(result.bound_kind) == "proved" and _above(result.bound, optimum):
        return f"bound {result.bound!r} called proved above the truth {float(optimum)!r}"
    if result.status.stopped:
        return ""
    if result.status is Status.INACCURATE and "margins miss their thresholds" in result.evidence:
        return ""  # the optimum is no double's
    if result.status is not Status.OPTIMAL:
        return f"{result.status}, the optimum is {float(optimum)!r}"
    value, near = Fraction(float(result.objective)), CLOSED * optimum + ROUNDING
    if not optimum - near <= value <= optimum + near:
        return f"OPTIMAL at {result.objective!r}, the truth is {float(optimum)!r}"
    least = exact.at(fractions(result.values["w"]), slack)
    if least is None:
        return f"OPTIMAL at w = {result.values['w'].tolist()}, which is not allowed"
    far = 10 * slack * (1 + abs(value))
    return f"OPTIMAL at {result.objective!r}, its w costs {float(least)!r} at least" if least > value + far else ""


def counted_fault(result: mo.Result, exact: Compositions) -> str:
    """Of a result's w, with nothing forgiven but the roundings of linear rows: a cost above the stated one, broken counts."""
    if not result.values or not math.isfinite(result.objective) or not result.status.solved:
        return ""
    w, stated = fractions(result.values["w"]), Fraction(float(result.objective))
    cost, margins = exact.cost(w), [dot(a, w) for a in exact.rows]
    if cost > stated + CLOSED * abs(stated) + Fraction(1, 10**12):
        return f"{float(stated)!r} is stated, its w costs {float(cost)!r} counted exactly"
    if exact.counted and sum(bool(w[j]) for j in exact.counted) > exact.max_nonzeros:
        return f"{exact.max_nonzeros} coefficients may be non-zero, w = {result.values['w'].tolist()}"
    least = 1 - (ROUNDING if _says_that_kept_points_miss(result) else 0)
    if any(margins[i] < least for i in exact.kept_points) or any(sum(margins[i] < 1 for i in p) > k for p, k in exact.budgets):
        return f"w = {result.values['w'].tolist()} gives up points that must be kept, or more than a budget"
    return "" if exact.allowed(w, _row_slack(result)) else f"w = {result.values['w'].tolist()} is not allowed"


def _says_that_kept_points_miss(result: mo.Result) -> bool:
    """Return whether a continuous program's result says that no double beside its point keeps all of them."""
    certificate = result.certificate
    return certificate is not None and certificate.integrality is None and "margins miss their thresholds" in result.evidence


def _row_slack(result: mo.Result) -> Fraction:
    """Return how much rows may be missed by: roundings; of a continuous program as much as the result says besides."""
    certificate = result.certificate
    if certificate is None or certificate.integrality is not None:
        return ROUNDING
    return ROUNDING + min(Fraction(max(certificate.violations.values(), default=0.0)), 100 * ROUNDING)


def closed_fault(result: mo.Result, optimum: Fraction | None) -> str:
    """Of the bound of an engine that proves: the gap is closed to a millionth of the value."""
    if optimum is None or not result.status.solved:
        return ""
    gap = Fraction(float(result.objective)) - Fraction(float(result.bound)) if math.isfinite(result.bound) else None
    closed = gap is not None and gap <= CLOSED * abs(Fraction(float(result.objective))) + ROUNDING
    return "" if closed else f"gap from {result.bound!r} to {result.objective!r}, the truth is {float(optimum)!r}"


def report_fault(report: mo.proofs.ProofReport, optimum: Fraction | None, *, must: bool) -> str:
    """Of what the checker of a proof log says of it: more than the truth, or (``must``) that it is not valid."""
    if not report.valid:
        return f"the solver's own log is refused: {report.message}" if must else ""
    if optimum is not None and _above(report.bound, optimum):
        return f"bound {report.bound!r} of a valid log above the truth {float(optimum)!r}"
    below = math.isfinite(report.value) and (optimum is None or Fraction(report.value) < optimum - _SHORT * (1 + optimum))
    return f"a valid log has an incumbent of {report.value!r}, the optimum is {optimum and float(optimum)!r}" if below else ""


def _above(bound: float, optimum: Fraction) -> bool:
    """Return whether a bound is more than the optimum, not to any tolerance."""
    return bound == math.inf or (math.isfinite(bound) and Fraction(float(bound)) > optimum)
