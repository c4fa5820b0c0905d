"""Backend of SCS: operator splitting for quadratic objectives over second-order, semidefinite, exponential and power cones.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones; z are the multipliers of its rows. svec stacks the
upper triangle of a symmetric matrix column by column, entries off the diagonal times √2.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, SolverError, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.program.cones import PSD, Feature, Nonnegative, SecondOrder, Zero, svec_size
from ...models.program.exponential_cones import Exponential, Power
from ...models.program.form import StandardForm, multipliers_by_label
from ..interface.backend import Backend
from ..interface.native_options import check_native, ignored_options_note, start_point
from ..interface.solver import Gives, KeptModel, Purpose, SolverInfo
from ..interface.timeouts import run_with_timeout
from ..records import Answer, Options, Status

#: SCS's exit flags, documented with its API. The inaccurate ones count as a limit.
_STATUS = {
    1: Status.OPTIMAL,
    2: Status.ITERATION_LIMIT,
    -6: Status.ITERATION_LIMIT,
    -7: Status.ITERATION_LIMIT,
    0: Status.FAILED,
    -1: Status.UNBOUNDED,
    -2: Status.INFEASIBLE,
    -3: Status.STALLED,
    -4: Status.FAILED,
    -5: Status.INTERRUPTED,
}

#: SCS keeps its settings in C and offers no list of them: these are from its documentation.
_SETTINGS = (
    "normalize", "scale", "adaptive_scale", "rho_x", "max_iters", "eps_abs", "eps_rel", "eps_infeas", "alpha", "time_limit_secs",
    "verbose", "acceleration_lookback", "acceleration_interval", "write_data_filename", "log_csv_filename", "linear_solver",
)  # fmt: skip

_SUPPORTED_OPTIONS = frozenset({"time_limit", "iteration_limit", "start"})


@dataclass(frozen=True, eq=False)
class _Workspace:
    """SCS's solver object with its data."""

    solver: Any
    order: IntArray  #: the form's rows in SCS's order
    A: sp.csc_matrix  #: -F, rows in SCS's order
    b: FloatArray  #: g, in SCS's order
    solved: bool = False  #: the solver holds the last point of a path, from which it starts


class Scs(Backend):
    """SCS, which reads A x + s = b, s in K, cones in a fixed order: here A = -F, b = g, rows permuted, and its y is the form's z.

    Its semidefinite cone is the *lower* triangle by columns, √2 off the diagonal: a permutation of the form's svec.
    """

    info = SolverInfo(
        name="scs",
        rank={Purpose.CONIC: 3},
        summary="operator splitting, quadratic objective over conic constraints",
        package="scs",
        module="scs",
        reads=frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.PSD, Feature.EXPONENTIAL, Feature.POWER}),
        bounds=False,
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        tolerance=1e-4,
        first_order=True,
        time_limit_caveat="one factorisation, before the first iteration",
        threads_of="scs",  # its factorisation is MKL's
        reference="O'Donoghue: Operator splitting for a homogeneous embedding of the linear complementarity problem, 2021",
    )

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer for native tolerances two orders (absolute ones four, as they add up) below the requested gap."""
        begin = time.perf_counter()
        return self._solve(self._build(form, options, begin), form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept workspace, from its last point on, with b and c updated; SCS cannot change P and A."""
        begin = time.perf_counter()

        def change(workspace: _Workspace, _: StandardForm, parts: frozenset[str]) -> _Workspace:
            b = form.rows_matrix()[1][workspace.order] if workspace.order.size else workspace.b
            workspace.solver.update(b if parts & {"g", "g of cones"} else None, np.array(form.q) if "q" in parts else None)
            return replace(workspace, b=b, solved=True)

        updatable = frozenset({"q", "r", "g", "g of cones"})
        build = functools.partial(self._build, form, options, begin)
        return self._solve(kept_model.native_for(form, updatable, build, change), form, options, begin)

    def _build(self, form: StandardForm, options: Options, begin: float) -> _Workspace:
        import scs

        F, g = form.csr_rows()
        order, cone = _layout(form)
        A, b = (-F.take_rows(order)).csc, g[order]
        if not order.size:  # SCS needs a row: 0'x ≤ 1
            A, b, cone = sp.csc_matrix((1, form.n)), np.ones(1), {"l": 1}
        data = {"A": A, "b": b, "c": np.array(form.q)}
        if form.quadratic is not None:
            data["P"] = form.quadratic.upper
        return _Workspace(self._load(scs, data, cone, options, begin), order, A, b)

    def _solve(self, workspace: _Workspace, form: StandardForm, options: Options, begin: float) -> Answer:
        start, details = start_point(form, options)
        loaded = time.perf_counter()
        warm_start = {} if start is None else {"x": start, "s": workspace.b - workspace.A @ start}
        warm = workspace.solved or start is not None
        answer = run_with_timeout(lambda: workspace.solver.solve(warm_start=warm, **warm_start), options, begin)
        solved = time.perf_counter()
        return _read(
            form,
            answer,
            workspace.order,
            loaded - begin,
            solved - loaded,
            details | ignored_options_note(options, _SUPPORTED_OPTIONS),
        )

    def _load(self, scs: Any, data: dict[str, Any], cone: dict[str, Any], options: Options, begin: float) -> Any:
        check_native("scs", options.native, _SETTINGS)
        tol = options.residual_tolerance(self.info.tolerance)
        settings: dict[str, Any] = {"verbose": options.verbose, "eps_abs": 1e-4 * tol, "eps_rel": 1e-2 * tol}
        if options.time_limit is not None:
            settings["time_limit_secs"] = options.time_limit
        if options.iteration_limit is not None:
            settings["max_iters"] = options.iteration_limit
        try:
            # SCS catches Ctrl-C while it factorises, and forgets it before its first iteration
            call = functools.partial(scs.SCS, data, cone, **{**settings, **options.native})
            return run_with_timeout(call, options, begin, catches_interrupts=True)
        except (TypeError, ValueError, KeyError) as error:
            if options.native:
                raise InputError(
                    f"scs does not take the options {short_text(dict(options.native))}: {error}", name="options"
                ) from error
            raise SolverError(f"scs refuses the problem: {error}", solver="scs") from error


def _read(form: StandardForm, answer: Any, order: IntArray, build: float, seconds: float, details: dict[str, Any]) -> Answer:
    info = answer["info"]
    native_status = str(info["status"])
    status = _STATUS.get(int(info["status_val"]), Status.FAILED)
    if status is Status.ITERATION_LIMIT and "reached time_limit" in native_status:
        status = Status.TIME_LIMIT
    z = np.zeros(order.size)
    z[order] = answer["y"][: order.size]
    x = np.asarray(answer["x"])
    ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
    usable = not ray and np.isfinite(x).all() and np.isfinite(z).all()
    return Answer(
        status=status,
        native_status=native_status,
        values=form.split(x) if usable else None,
        multipliers=multipliers_by_label(form, z) if usable else None,
        objective=float(info["pobj"]) + form.r if usable else None,
        bound=float(info["dobj"]) + form.r if usable else None,
        farkas=multipliers_by_label(form, z) if status is Status.INFEASIBLE else None,
        ray=form.split(x) if status is Status.UNBOUNDED else None,
        iterations=int(info["iter"]),
        build_seconds=build,
        solve_seconds=seconds,
        details=details,
    )


def psd_positions(order: int) -> IntArray:
    """Return the positions of the entries of SCS's order (lower triangle by columns) in svec (upper triangle by columns)."""
    column, row = np.triu_indices(order)  # by rows of the upper triangle: columns of the lower one
    return np.asarray(row * (row + 1) // 2 + column)


def _layout(form: StandardForm) -> tuple[IntArray, dict[str, Any]]:
    """Return the form's rows in SCS's order, and SCS's dictionary of cones.

    The order is: zero, nonnegative, second-order, semidefinite, exponential, power.
    """
    starts = np.cumsum([0, *(c.rows for c in form.constraints)])
    pieces: dict[str, list[IntArray]] = {"z": [], "l": [], "q": [], "s": [], "ep": [], "p": []}
    q: list[int] = []
    s: list[int] = []
    exponents: list[float] = []
    for start, c in zip(starts, form.constraints, strict=False):
        rows = np.arange(start, start + c.rows)
        if isinstance(c.cone, Zero):
            pieces["z"].append(rows)
        elif isinstance(c.cone, Nonnegative):
            pieces["l"].append(rows)
        elif isinstance(c.cone, SecondOrder):
            pieces["q"].append(rows)
            q += [c.cone.dim] * c.cone.count
        elif isinstance(c.cone, Exponential):
            pieces["ep"].append(rows)
        elif isinstance(c.cone, Power):
            pieces["p"].append(rows)
            exponents += [c.cone.alpha] * c.cone.count
        else:
            assert isinstance(c.cone, PSD)
            inside = psd_positions(c.cone.order)
            pieces["s"].append((rows.reshape(c.cone.count, svec_size(c.cone.order))[:, inside]).ravel())
            s += [c.cone.order] * c.cone.count
    indices = [np.concatenate(pieces[kind]) if pieces[kind] else np.zeros(0, dtype=np.int64) for kind in pieces]
    cone = {"z": indices[0].size, "l": indices[1].size, "q": q, "s": s, "ep": indices[4].size // 3, "p": exponents}
    return np.concatenate(indices), {kind: size for kind, size in cone.items() if size}


#: Read by `solvers.registry`.
SOLVERS = (Scs(),)
