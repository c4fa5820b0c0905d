"""Backend of PIQP: proximal interior point for dense and sparse quadratic programs.

The form is min ½x'Px + q'x + r subject to linear rows and bounds; z are the multipliers of its rows and ζ those of its bounds.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..certification.rays import farkas_residual, ray_residual
from ..interface.backend import Backend, LinearRows, dense_block_order
from ..interface.native_options import check_native, ignored_options_note, set_native_options
from ..interface.recorder import interrupt_flag
from ..interface.solver import Gives, KeptModel, Purpose, SolverInfo
from ..records import Answer, Options, Status

_STATUS = {
    "PIQP_SOLVED": Status.OPTIMAL,
    "PIQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
    "PIQP_NUMERICS": Status.STALLED,
    "PIQP_UNSOLVED": Status.FAILED,
    "PIQP_INVALID_SETTINGS": Status.FAILED,
}

#: Largest residual (`solvers.certification.rays`) of a ray that counts as a proof: a claim without a ray is dropped.
_RAY = 1e-5
#: PIQP's tolerance for its rays in its own scaling: with the default 1e-4 it ends before they are proofs in the form's scale.
_CLAIM = 1e-2 * _RAY

#: Share of non-zeros in P and the rows from which the dense solver is faster.
_DENSE = 0.25

#: Seconds of a whole solve for each unit of n³ (dense), for each pair of non-zeros in a row of P or F (sparse, 20,000 x 50), and
#: for each unit of the cube of `dense_block_order` (2,000 x 2,000, 1% dense).
_FACTOR, _PAIR, _FILLED = 1e-9, 8e-8, 3e-9

_SUPPORTED_OPTIONS = frozenset({"iteration_limit"})


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of a whole solve, by its factorisations."""
    F, _ = form.rows_matrix()
    pairs = float(np.square(np.diff(F.indptr), dtype=np.float64).sum())
    if form.quadratic is not None:  # as many in each column
        pairs += float(np.square(form.quadratic.column_count_bounds).sum())
    return min(_FACTOR * form.n**3, _PAIR * pairs + _FILLED * float(dense_block_order(form)) ** 3)


class Piqp(Backend):
    """PIQP, which reads A x = b, h_l ≤ G x ≤ h_u and bounds; it has no time limit, no warm start and no interruption.

    Its multipliers are y of A x = b, z_l and z_u of the two sides of G x, z_bl and z_bu of the bounds, with Px + c + A'y + G'(z_u
    - z_l) + z_bu - z_bl = 0 and c = q: z is -y on equalities and z_l on inequalities, ζ = z_bl - z_bu.
    """

    info = SolverInfo(
        name="piqp",
        rank={Purpose.QUADRATIC: 1},
        summary="proximal interior point for quadratic programs",
        package="piqp",
        module="piqp",
        reads=frozenset({Feature.QUADRATIC}),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.UPDATES}),
        time_limit_caveat="anything: it has no time limit",
        uninterruptible_seconds=_uninterruptible_seconds,
        reference="Schwan, Jiang, Kuhn, Jones: PIQP: a proximal interior-point quadratic programming solver, 2023",
    )

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of the dense or sparse code; native tolerances are two orders or more below the requested gap, the
        relative ones at least 1e-11 and 1e-12.
        """
        begin = time.perf_counter()
        rows = LinearRows.of(form)
        return self._solve(self._build(rows, options), rows, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept solver, updated in place if the sparsity patterns are the same."""
        begin, rows = time.perf_counter(), LinearRows.of(form)

        def change(native: tuple[Any, bool], _: StandardForm, parts: frozenset[str]) -> tuple[Any, bool]:
            solver, dense = native
            changed = _data(rows, dense, parts)
            if changed:
                solver.update(**changed)
            return native

        native = kept_model.native_for(form, _PARTS | {"r"}, functools.partial(self._build, rows, options), change)
        return self._solve(native, rows, options, begin)

    def _build(self, rows: LinearRows, options: Options) -> tuple[Any, bool]:
        """Return a native solver, and whether it is the dense one."""
        import piqp

        form = rows.form
        P = sp.csc_array((form.n, form.n)) if form.quadratic is None else form.quadratic.csc
        filled = P.nnz + rows.E.nnz + rows.G.nnz
        dense = filled >= _DENSE * form.n * (form.n + rows.equal.size)
        solver = piqp.DenseSolver() if dense else piqp.SparseSolver()
        self._set(solver.settings, options)

        solver.setup(**_data(rows, dense, _PARTS))
        return solver, dense

    def _solve(self, native: tuple[Any, bool], rows: LinearRows, options: Options, begin: float) -> Answer:
        (solver, dense), form = native, rows.form
        loaded = time.perf_counter()
        with interrupt_flag() as flag:  # Ctrl-C is heard when the call ends, and its point is kept
            status_name = solver.solve().name
        solved = time.perf_counter()
        status = Status.INTERRUPTED if flag.is_set() else _STATUS.get(status_name, Status.FAILED)
        answer = solver.result
        x, info = np.array(answer.x), answer.info
        z = rows.multipliers(-np.array(answer.y), np.array(answer.z_l))
        reduced = np.array(answer.z_bl) - np.array(answer.z_bu)
        details = {"code": "dense" if dense else "sparse", **ignored_options_note(options, _SUPPORTED_OPTIONS)}
        farkas = ray = None
        if status is Status.INFEASIBLE:
            farkas = {label: part / _size(*z.values(), reduced) for label, part in z.items()}
            status = status if farkas_residual(form, farkas) <= _RAY else Status.STALLED
        if status is Status.UNBOUNDED:
            ray = x / _size(x)
            status = status if ray_residual(form, ray) <= _RAY else Status.STALLED
        reached = status_name in ("PIQP_SOLVED", "PIQP_MAX_ITER_REACHED", "PIQP_NUMERICS")
        usable = reached and all(np.isfinite(part).all() for part in (x, reduced, *z.values()))
        return Answer(
            status=status,
            native_status=status_name,
            values=form.split(x) if usable else None,
            multipliers=z if usable else None,
            reduced=reduced if usable else None,
            objective=float(info.primal_obj) + form.r if usable else None,
            bound=float(info.dual_obj) + form.r if usable else None,
            farkas=farkas,
            ray=None if ray is None else form.split(ray),
            iterations=int(info.iter),
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=details,
        )

    def _set(self, settings: Any, options: Options) -> None:
        # exempt (text): attributes of PIQP's settings
        check_native("piqp", options.native, [name for name in dir(settings) if not name.startswith("_")])
        settings.verbose = options.verbose
        tol = max(1e-2 * options.residual_tolerance(self.info.tolerance), 1e-11)
        settings.eps_rel, settings.eps_duality_gap_rel = tol, 0.1 * tol
        # the two tolerances add up: an absolute one must not count as a relative one for small objectives
        settings.eps_abs, settings.eps_duality_gap_abs = 1e-2 * tol, 1e-4 * tol
        settings.check_duality_gap = True
        settings.eps_primal_inf = settings.eps_dual_inf = _CLAIM
        if options.iteration_limit is not None:
            settings.max_iter = options.iteration_limit
        set_native_options("piqp", options.native, functools.partial(setattr, settings))


def _size(*parts: FloatArray) -> float:
    return max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0) or 1.0


#: Parts of a form that PIQP can update.
_PARTS = frozenset({"P", "q", "F", "g", "bounds"})


def _data(rows: LinearRows, dense: bool, parts: frozenset[str]) -> dict[str, Any]:
    """Return the arguments of PIQP's setup, or those of the named parts of a form."""
    form = rows.form

    def native(matrix: Any) -> Any:
        return np.asfortranarray(matrix.toarray()) if dense else sp.csc_matrix(matrix)

    data: dict[str, Any] = {}
    if "P" in parts:
        data["P"] = native(sp.csc_array((form.n, form.n)) if form.quadratic is None else form.quadratic.csc)
    if "q" in parts:
        data["c"] = np.array(form.q)
    if "bounds" in parts:
        data |= {"x_l": np.array(form.lower), "x_u": np.array(form.upper)}
    if not parts & {"F", "g"}:
        return data
    if rows.e.size:
        data |= {"A": native(rows.E), "b": -rows.e}
    if rows.h.size:
        data |= {"G": native(rows.G), "h_l": -rows.h}
    return data


#: Read by `solvers.registry`.
SOLVERS = (Piqp(),)
