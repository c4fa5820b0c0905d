"""HiGHS's active-set method for convex quadratic programs: its interruption, and proximal steps where it ends beside an optimum.

The method has no callback and does not look at the clock while it prepares. It runs in a thread beside which Python does both.
Its log has a line every few iterations, and an error raised there ends the run; before the first line nothing can, and the call
is left to end by itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.program.form import StandardForm
from ..certification.rays import ray_residual
from ..interface.recorder import Recorder
from ..interface.subprocess_limit import LEFT, CallTimeout, ended, timeout_at
from ..records.answer import Answer
from ..records.options import Options
from ..records.status import Status

__all__ = ["LEFT", "LeftRun", "Proximal", "run_decided", "run_quadratic"]

#: Shifts of P in proximal steps, relative to its largest entry, in the order in which they are tried; how many steps.
_SHIFTS, _STEPS = (1e-5, 1e-3, 1e-2), 100
#: Residual of stationarity, relative to the largest term, that counts as none.
_STILL = 1e-10


class LeftRun(CallTimeout):
    """The run did not end when it was to; the HiGHS object is not to be touched any more."""

    def answer(self, recorder: Recorder, build_seconds: float, details: dict[str, Any]) -> Answer:
        """No point: HiGHS hands over none before it ends."""
        said = {"left": "HiGHS's quadratic solver was left: it gives no point before it ends"}
        return Answer(
            status=self.status,
            native_status=LEFT,
            trace=recorder.end(0, None, None),
            build_seconds=build_seconds,
            solve_seconds=recorder.seconds,
            details={**details, **said},
        )


def run_decided(highspy: Any, highs: Any) -> None:
    """Run; a presolve that proves no more than "one of both" is turned off."""
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        highs.setOptionValue("presolve", "off")
        highs.run()


def run_quadratic(
    highspy: Any, highs: Any, form: StandardForm, options: Options, stop: threading.Event, begin: float
) -> Proximal | None:
    """Run the quadratic program, with proximal steps where they are needed; ``begin`` is when the time limit began.

    Raises
    ------
    LeftRun
        ``stop`` was set, or the time limit has passed.
    """
    found: list[Proximal | None] = []
    over = threading.Event()

    def line(event: Any) -> None:
        if over.is_set() or stop.is_set():
            raise LeftRun(Status.INTERRUPTED)

    def work() -> None:
        run_decided(highspy, highs)
        shifted = "qp_regularization_value" in options.native
        found.append(None if shifted else _mended(highspy, highs, form, options))

    highs.setOptionValue("log_to_console", options.verbose)
    highs.setOptionValue("output_flag", True)  # else there are no lines
    highs.cbLogging.clear()  # of a kept model
    highs.cbLogging.subscribe(line)
    try:
        whole = ended(work, stop, timeout_at(begin, options.time_limit))
    except LeftRun:
        whole = False
    if not whole:
        over.set()
        raise LeftRun(Status.INTERRUPTED if stop.is_set() else Status.TIME_LIMIT)
    return found[0]


@dataclass(frozen=True, eq=False)
class Proximal:
    """Proximal steps that were taken, with which shift of P, and the ray that they tend to where f is unbounded."""

    steps: int
    shift: float
    ray: FloatArray | None = None


def _mended(highspy: Any, highs: Any, form: StandardForm, options: Options) -> Proximal | None:
    """Proximal steps where the active-set method left no stationary point; None where it did, or was stopped."""
    found: Proximal | None = None
    stopped = {"kTimeLimit", "kInterrupt", "kInfeasible", "kUnbounded"}
    if options.iteration_limit is not None or "qp_iteration_limit" in options.native:
        stopped.add("kIterationLimit")
    F, _ = form.rows_matrix()
    for shift in _SHIFTS:
        if highs.getModelStatus().name in stopped or _stationary(highs, form, F):
            break
        if found is not None and found.ray is not None:
            break
        found = _proximal(highspy, highs, form, F, shift)
    return found


def _stationary(highs: Any, form: StandardForm, F: sp.csr_array) -> bool:
    solution = highs.getSolution()
    if highs.getModelStatus().name != "kOptimal" or not solution.dual_valid:
        return False
    terms = form.gradient(np.array(solution.col_value)), F.T @ np.array(solution.row_dual), np.array(solution.col_dual)
    scale = 1.0 + max(float(np.abs(term).max(initial=0.0)) for term in terms)
    return float(np.abs(terms[0] - terms[1] - terms[2]).max(initial=0.0)) <= _STILL * scale


def _proximal(highspy: Any, highs: Any, form: StandardForm, F: sp.csr_array, relative: float) -> Proximal:
    """x_{k+1} = argmin f(x) + ½ρ||x - x_k||² until ρ(x_{k+1} - x_k), the multipliers' error for f, vanishes.

    Where f is unbounded the steps tend to a ray of it.
    """
    assert form.quadratic is not None
    shift = relative * max(float(np.abs(form.quadratic.csc.data).max(initial=0.0)), 1e-3)
    highs.setOptionValue("qp_regularization_value", shift)
    columns, x = np.arange(form.n, dtype=np.int32), np.zeros(form.n)
    for k in range(1, _STEPS + 1):
        highs.changeColsCost(form.n, columns, form.q - shift * x)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        step = np.array(highs.getSolution().col_value) - x
        x = x + step
        size = float(np.abs(step).max(initial=0.0))
        if size == 0.0 or _stationary(highs, form, F):
            break
        if k > 1 and ray_residual(form, step / size) <= 1e-9:
            return Proximal(k, shift, step / size)
    return Proximal(k, shift)
