"""MOSEK's conventions by MOSEK itself, without a licence: semidefinite orders, signs, statuses, callbacks, parameters."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from mosek_reader import form_of_task
from mosek_tasks import FORMS, REAL, X, Y, form_of_new, solved
from programs import form_of

from marginopt.errors import InputError
from marginopt.models import PSD, Block, Constraint, HingeSVM, Nonnegative, StandardForm, Zero
from marginopt.models.export.mosek_task import mosek_svec_order, to_mosek
from marginopt.models.program.cones import smat, svec, svec_size
from marginopt.solvers.backends.mosek import Mosek, _start, _watch, read_multipliers, read_solution
from marginopt.solvers.certification.certificate import certify
from marginopt.solvers.interface.recorder import Recorder
from marginopt.solvers.interface.solver import KeptModel
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

mosek = pytest.importorskip("mosek", reason="MOSEK is not installed")


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_semidefinite_order_is_the_documented_one(order):
    """MOSEK: (S_11, √2 S_21, .., √2 S_n1, S_22, √2 S_32, ..)."""
    A = np.random.default_rng(order).normal(size=(order, order))
    S = A + A.T
    documented = [S[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(order) for i in range(j, order)]
    np.testing.assert_allclose(svec(S)[mosek_svec_order(order)], documented)


def test_semidefinite_domain_is_evaluated_by_mosek():
    """MOSEK's own violation of svec(S) in the domain is zero on S ⪰ 0 and -λ_min otherwise, whatever the entries' order."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 4))
    for S in (A @ A.T, A @ A.T - 2.0 * np.eye(4)):
        d = svec_size(4)
        blocks = (Block("S", (4, 4), symmetric=True),)
        rows = (Constraint("psd", sp.csr_array(sp.eye_array(d)), np.zeros(d), PSD(d)),)
        free = np.full(d, np.inf)
        form = StandardForm("psd", blocks, np.zeros(d), rows, -free, free, np.zeros(d, bool))
        with to_mosek(form.replace(lower=np.full(d, -1e6))) as task:  # free columns are a matrix variable
            task.putxx(mosek.soltype.itr, svec(S))
            violation = task.getpviolacc(mosek.soltype.itr, [0])[0]
        least = np.linalg.eigvalsh(S)[0]
        assert violation == pytest.approx(max(-least, 0.0), rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(smat(svec(S)), S)


@pytest.mark.parametrize("name", REAL)
def test_dual_signs_by_mosek_itself(name):
    """MOSEK's own dual objective and dual residuals (which need no licence) of a solution in our signs."""
    form = FORMS[name]
    with solved(name) as (task, result, which):
        zeta = form.join(result.reduced)
        scale = 1.0 + abs(result.certificate.objective)
        assert task.getprimalobj(which) == pytest.approx(result.certificate.objective, rel=1e-12)
        assert task.getdualobj(which) == pytest.approx(result.certificate.objective, abs=1e-6 * scale)
        scalars, matrices = range(task.getnumvar()), range(task.getnumbarvar())
        assert max(task.getdviolvar(which, scalars)) <= 1e-7 * scale
        assert max(task.getpviolvar(which, scalars)) <= 1e-9
        if matrices:
            assert max(task.getdviolbarvar(which, matrices)) <= 1e-7 * scale
            assert max(task.getpviolbarvar(which, matrices)) <= 1e-7
        if task.getnumcon():
            assert max(task.getdviolcon(which, range(task.getnumcon()))) <= 1e-9
            assert max(task.getpviolcon(which, range(task.getnumcon()))) <= 1e-7
        z, reduced = read_multipliers(mosek, task, form, which)
        native = read_solution(
            mosek, Ended(task, "optimal", "prim_and_dual_feas"), form, mosek.rescode.ok, Recorder("mosek", Options())
        )
    np.testing.assert_allclose(form.join(native.values), form.join(result.values), rtol=1e-14, atol=1e-14)
    for label, values in result.multipliers.items():
        np.testing.assert_allclose(z[label], values, rtol=1e-14)
    np.testing.assert_array_equal(reduced, zeta)
    assert certify(form, result.values, z, reduced).dual_residual <= 1e-7


class Ended:
    """A task as it is after ``optimize``: a real one, whose solution was inserted, with the statuses that MOSEK would set."""

    def __init__(self, task, solution, problem):
        self._task, self._solution, self._problem = task, solution, problem

    def __getattr__(self, name):
        return getattr(self._task, name)

    def getsolsta(self, which):
        return getattr(mosek.solsta, self._solution)

    def getprosta(self, which):
        return getattr(mosek.prosta, self._problem)


@pytest.mark.parametrize(
    ("solution", "problem", "code", "status"),
    [
        ("optimal", "prim_and_dual_feas", "ok", Status.OPTIMAL),
        ("prim_infeas_cer", "prim_infeas", "ok", Status.INFEASIBLE),
        ("dual_infeas_cer", "dual_infeas", "ok", Status.UNBOUNDED),
        ("unknown", "prim_infeas", "ok", Status.INFEASIBLE),
        ("unknown", "unknown", "trm_max_time", Status.TIME_LIMIT),
        ("unknown", "unknown", "trm_max_iterations", Status.ITERATION_LIMIT),
        ("unknown", "unknown", "trm_user_callback", Status.INTERRUPTED),
        ("unknown", "unknown", "trm_stall", Status.STALLED),
        ("unknown", "unknown", "ok", Status.FAILED),
    ],
)
def test_statuses(solution, problem, code, status):
    form = FORMS["hinge"]
    with solved("hinge") as (task, result, _):
        ended = Ended(task, solution, problem)
        native = read_solution(mosek, ended, form, getattr(mosek.rescode, code), Recorder("mosek", Options()))
    assert native.status is status
    assert native.native_status == f"{problem}, {solution}, {code}"
    point = status not in (Status.INFEASIBLE, Status.UNBOUNDED)
    assert (native.values is not None) is point
    assert (native.farkas is not None) is (solution == "prim_infeas_cer")
    if point:
        assert native.objective == pytest.approx(result.certificate.objective, rel=1e-9)
        assert native.bound == pytest.approx(result.certificate.objective, rel=1e-6)


def test_ended_without_any_solution():
    with to_mosek(FORMS["hinge"]) as task:
        native = read_solution(mosek, task, FORMS["hinge"], mosek.rescode.trm_max_time, Recorder("mosek", Options()))
    assert native.status is Status.TIME_LIMIT and native.values is None


def test_callback_records_and_stops():
    real, whole = defaultdict(float), defaultdict(int)
    real[mosek.dinfitem.mio_obj_int], real[mosek.dinfitem.mio_obj_bound] = 7.0, 3.0
    whole[mosek.iinfitem.mio_num_int_solutions], whole[mosek.iinfitem.mio_num_solved_nodes] = 1, 12
    observer = Recorder("mosek", Options(callback=lambda row: row.objective < 6))
    assert _watch(mosek, observer, mosek.callbackcode.new_int_mio, real, whole, {}) == 0
    real[mosek.dinfitem.mio_obj_int] = 5.0
    assert _watch(mosek, observer, mosek.callbackcode.new_int_mio, real, whole, {}) == 1
    trace = observer.final_trace(12, 5.0, 3.0)
    assert trace.column("objective").tolist() == [7.0, 5.0, 5.0]
    assert trace[0].iteration == 12 and trace[0].bound == 3.0 and trace[0].step == "incumbent"


@pytest.mark.parametrize("measure", ["intpnt_primal_feas", "intpnt_dual_feas"])
def test_an_infeasible_iterate_of_the_interior_point_bounds_nothing(measure):
    numbers, seen = mosek.dinfitem, []
    for infeasible in (0.1, 1e-12):
        real = defaultdict(float, {getattr(numbers, measure): infeasible, numbers.intpnt_dual_obj: 3.0})
        observer = Recorder("mosek", Options(callback=lambda row: bool(seen.append(row.bound))))
        assert _watch(mosek, observer, mosek.callbackcode.intpnt, real, defaultdict(int), {}) == 0
    assert np.isnan(seen[0]) and seen[1] == 3.0


def test_parameters_are_known_and_checked():
    form = FORMS["zero-one"]
    with to_mosek(form) as task:
        options = Options(tol=1e-4, time_limit=5.0, threads=1, node_limit=9, seed=3, native={"MSK_DPAR_MIO_TOL_FEAS": 1e-7})
        Mosek()._set_parameters(mosek, task, form, options)
        assert task.getdouparam(mosek.dparam.mio_tol_rel_gap) == pytest.approx(0.9e-4)
        assert task.getdouparam(mosek.dparam.mio_tol_feas) == 1e-7
        assert task.getdouparam(mosek.dparam.optimizer_max_time) == 5.0
        assert task.getintparam(mosek.iparam.mio_max_num_relaxs) == 9
        assert task.getintparam(mosek.iparam.mio_seed) == 3
        with pytest.raises(InputError, check=about("MSK_DPAR_MIO_TOL_GAP")):
            Mosek()._set_parameters(mosek, task, form, Options(native={"MSK_DPAR_MIO_TOL_GAP": 1}))
        with pytest.raises(InputError, check=about("MSK_IPAR_NUM_THREADS")):
            Mosek()._set_parameters(mosek, task, form, Options(native={"MSK_IPAR_NUM_THREADS": "many"}))


@pytest.mark.parametrize("duals", [False, True])
def test_the_start_of_a_linear_program_is_its_basis(duals):
    """A vertex of HiGHS: as many basic variables and rows as there are rows, with independent columns, and simplex limits."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 12))
    rows = [("rows", A[:6], 0.1 - A[:6] @ rng.random(12), Nonnegative(6)), ("equal", A[6:], -A[6:] @ rng.random(12), Zero(2))]
    form = form_of(rng.random(12), rows, np.zeros(12), np.full(12, 5.0))
    vertex = solve_problem(form, "highs", Options(native={"solver": "simplex"}))
    options = Options(start=vertex.values, iteration_limit=7, native={"dual_start": vertex.multipliers} if duals else {})
    with to_mosek(form) as task:
        assert _start(mosek, task, form, options) == {}
        Mosek()._set_parameters(mosek, task, form, options)
        for parameter in (mosek.iparam.sim_max_iterations, mosek.iparam.intpnt_max_iterations, mosek.iparam.bi_max_iterations):
            assert task.getintparam(parameter) == 7
        assert task.getintparam(mosek.iparam.optimizer) == mosek.optimizertype.free_simplex
        basic = [np.array([k == mosek.stakey.bas for k in keys]) for keys in _keys(task)]
        np.testing.assert_allclose(task.getxx(mosek.soltype.bas), vertex.values["x"], atol=1e-12)
    basis = np.hstack([A, -np.eye(8)])[:, np.concatenate(basic)]
    assert basis.shape == (8, 8) and np.linalg.cond(basis) < 1e6


def _keys(task):
    """Return the status keys of variables and of rows in the basic solution."""
    return task.getskx(mosek.soltype.bas), task.getskc(mosek.soltype.bas)


def test_the_backend_keeps_its_task(monkeypatch):
    """Two solves of one path: one task, the second time updated (the optimiser itself is replaced: it needs a licence)."""
    held = []

    def ended(self, task, form, options, begin):
        held.append((task, form_of_task(task)))
        return read_solution(mosek, task, form, mosek.rescode.ok, Recorder("mosek", options))

    monkeypatch.setattr(Mosek, "_solve", ended)
    kept_model, notes = KeptModel(), []
    forms = [HingeSVM(X, Y, lam=lam).form for lam in (0.7, 1.4, 1.4)]
    for form in forms:
        Mosek().solve_kept(form, Options(), kept_model)
        notes.append(str(kept_model.update))
    kept_model.close()
    assert notes == ["built", "updated in place: q", "updated in place: nothing"]
    assert held[0][0] is held[1][0] is held[2][0]
    for form, (_, result) in zip(forms, held, strict=True):
        assert form_of_new(form).diff(result).empty
