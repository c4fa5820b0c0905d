"""MOSEK to the letter without a licence: tasks written and read back, multipliers judged by MOSEK's own dual residuals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.errors import ExportError, InputError, LicenceError, MissingPackageError, UnsupportedModelError
from marginopt.models import (
    PSD,
    Block,
    ConicSVM,
    Constraint,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.bare_form import BareForm
from marginopt.models.export.native.mosek import change_mosek, psd_order, to_mosek
from marginopt.models.export.native.mosek_read import form_of_task, read_task
from marginopt.models.program.bridges import EpigraphBridge
from marginopt.models.program.svec import smat, svec, svec_size
from marginopt.solvers.backends.mosek import Mosek, _watch, read_multipliers, read_solution
from marginopt.solvers.interface.bridge_chain import BridgeChain
from marginopt.solvers.interface.kept_model import ALL_PARTS, Kept, kept_parts
from marginopt.solvers.interface.recorder import Recorder
from marginopt.solvers.judging.certificate import certify
from marginopt.solvers.records.licence import LicenceState
from marginopt.solvers.records.options import Options
from marginopt.solvers.records.status import Status
from marginopt.solvers.solve import solve_problem

mosek = pytest.importorskip("mosek", reason="MOSEK is not installed")

RNG = np.random.default_rng(4)
N = 12
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2))])
Y = np.where(np.arange(N) % 2, 1.0, -1.0)


def mixed_cones(quadratic=False):
    """Every cone beside rows, with two second-order stacks and semidefinite cones of order 3."""
    rng = np.random.default_rng(1)
    n, d = 4, svec_size(3)
    constraints = (
        Constraint("psd", sp.csr_array(0.3 * rng.normal(size=(2 * d, n))), np.tile(svec(np.eye(3)), 2), PSD(d, 2)),
        Constraint("rows", sp.csr_array(rng.normal(size=(2, n))), np.ones(2), Nonnegative(2)),
        Constraint("soc", sp.csr_array(rng.normal(size=(6, n))), np.tile([4.0, 0.1, 0.2], 2), SecondOrder(3, 2)),
        Constraint("equal", sp.csr_array(rng.normal(size=(1, n))), np.zeros(1), Zero(1)),
        Constraint("rotated", sp.csr_array(rng.normal(size=(4, n))), np.array([3.0, 2.0, 0.1, 0.0]), RotatedSecondOrder(4)),
    )
    P = Quadratic(factor=rng.normal(size=(2, n))) if quadratic else None
    bounds = np.array([-np.inf, -2.0, -3.0, 0.5]), np.array([np.inf, np.inf, 3.0, 0.5])
    blocks = (Block("x", (3,)), Block("y", ()))
    return StandardForm("mixed", blocks, rng.normal(size=n), constraints, *bounds, np.zeros(n, bool), P, 0.25)


FORMS = {
    "hinge": HingeSVM(X, Y, lam=0.7).form,
    "l2": L2SVMDual(X, Y, 2.0).form,
    "meb": MEBDual(X).form,
    "zero-one": ZeroOneSVM(X, Y).form,
    "conic, lambda": ConicSVM(X, Y, lam=0.7).form,
    "conic, kappa": ConicSVM(X, Y, kappa=0.3).form,
    "every cone": mixed_cones(),
}


def same(ours: StandardForm, theirs: StandardForm, tol: float = 0.0) -> None:
    """Equal when materialised; MOSEK keeps linear rows and cones apart, so constraints are compared by label."""
    assert theirs.blocks == ours.blocks and theirs.name == ours.name
    assert {c.label for c in theirs.constraints} == {c.label for c in ours.constraints}
    for c in ours.constraints:
        other = theirs.constraint(c.label)
        assert other.cone == c.cone
        assert abs(other.F - c.F).max() <= tol
        np.testing.assert_allclose(other.g, c.g, rtol=tol, atol=tol)
    for name in ("q", "lower", "upper", "integer"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=tol, atol=tol)
    assert theirs.r == pytest.approx(ours.r, rel=tol, abs=tol)
    if ours.quadratic is None:
        assert theirs.quadratic is None
    else:
        assert abs(theirs.quadratic.csc - ours.quadratic.csc).max() <= tol


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("suffix", ["task", "jtask", "ptf"])
def test_task_is_read_back(tmp_path, name, suffix):
    form = FORMS[name]
    if suffix == "ptf" and form.quadratic is not None:
        form = EpigraphBridge(form).target  # MOSEK writes no quadratic terms in this format
    path = tmp_path / f"model.{suffix}"
    with to_mosek(form) as task:
        task.writedata(str(path))
    same(form, read_task(path), tol=0.0 if suffix == "task" else 1e-14)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "zero-one"])
def test_optimum_of_what_was_read_back(tmp_path, name):
    path = tmp_path / "model.task"
    with to_mosek(FORMS[name]) as task:
        task.writedata(str(path))
    ours, theirs = (solve_problem(form, "clarabel", Options(tol=1e-7)) for form in (FORMS[name], read_task(path)))
    # the points agree; how near the bound of a semidefinite cone comes to them depends on the processor (1.4e-7 on some)
    semidefinite = any(isinstance(c.cone, PSD) for c in FORMS[name].constraints)
    for result in (ours, theirs):
        assert result.claim.status is Status.OPTIMAL and result.certificate.primal_residual <= 1e-7
        assert semidefinite or result.status is Status.OPTIMAL
    rel = 2e-7 if semidefinite else 1e-7
    assert theirs.certificate.objective == pytest.approx(ours.certificate.objective, rel=rel, abs=1e-8)


def test_quadratic_objective_beside_cones_goes_to_its_epigraph(tmp_path):
    form = mixed_cones(quadratic=True)
    assert BridgeChain.plan(form, Mosek.info).names == ("EpigraphBridge",)
    assert not BridgeChain.plan(FORMS["hinge"], Mosek.info).bridges
    with to_mosek(form) as task:
        assert task.getnumqobjnz() == 0
        task.writedata(str(tmp_path / "model.task"))
    back = read_task(tmp_path / "model.task")
    same(EpigraphBridge(form).target, back)
    ours, theirs = (solve_problem(f, "clarabel", Options(tol=1e-8)) for f in (form, back))
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-7)


def test_integers_beside_semidefinite_cones_are_refused():
    form = mixed_cones()
    form = form.replace(integer=np.array([True, False, False, False]))
    with pytest.raises(ExportError, match="no integer variables beside semidefinite cones"):
        to_mosek(form)
    assert "together with" in Mosek().obstacle(BareForm(form))
    if Mosek().licence().usable:
        with pytest.raises(UnsupportedModelError, match="integer variables together with positive semidefinite cones"):
            solve_problem(form, "mosek", Options())


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_semidefinite_order_is_the_documented_one(order):
    """MOSEK: (S_11, √2 S_21, .., √2 S_n1, S_22, √2 S_32, ..)."""
    A = np.random.default_rng(order).normal(size=(order, order))
    S = A + A.T
    documented = [S[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(order) for i in range(j, order)]
    np.testing.assert_allclose(svec(S)[psd_order(order)], documented)


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
        with to_mosek(form) as task:
            task.putxx(mosek.soltype.itr, svec(S))
            violation = task.getpviolacc(mosek.soltype.itr, [0])[0]
        least = np.linalg.eigvalsh(S)[0]
        assert violation == pytest.approx(max(-least, 0.0), rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(smat(svec(S)), S)


def insert(task, form, x, z, zeta):
    """Put our solution into a task by the documented conventions, written here independently of the reader's code."""
    which = mosek.soltype.itr
    rows = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    y = np.concatenate([np.zeros(0), *(z[c.label] for c in rows)])
    task.putxx(which, x)
    task.putxc(which, np.concatenate([np.zeros(0), *(c.F @ x for c in rows)]))
    task.puty(which, y)
    task.putslc(which, np.maximum(y, 0))
    task.putsuc(which, np.maximum(-y, 0))
    task.putslx(which, np.maximum(zeta, 0))
    task.putsux(which, np.maximum(-zeta, 0))
    number = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            continue
        for piece in z[c.label].reshape(c.cone.count, c.cone.dim):
            if isinstance(c.cone, PSD):
                S = smat(piece)
                k = S.shape[0]
                piece = np.array([S[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(k) for i in range(j, k)])
            task.putaccdoty(which, number, piece)
            number += 1
    return which


@pytest.mark.parametrize("name", [name for name in FORMS if name != "zero-one"])
def test_dual_signs_by_mosek_itself(name):
    """MOSEK's own dual objective and dual residuals (which need no licence) of a solution in our signs."""
    form = FORMS[name]
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    x, zeta = form.join(result.values), form.join(result.reduced)
    with to_mosek(form) as task:
        which = insert(task, form, x, result.multipliers, zeta)
        scale = 1.0 + abs(result.certificate.objective)
        assert task.getprimalobj(which) == pytest.approx(result.certificate.objective, rel=1e-12)
        assert task.getdualobj(which) == pytest.approx(result.certificate.objective, abs=1e-6 * scale)
        assert max(task.getdviolvar(which, range(form.n))) <= 1e-7 * scale
        assert max(task.getpviolvar(which, range(form.n))) <= 1e-9
        if task.getnumcon():
            assert max(task.getdviolcon(which, range(task.getnumcon()))) <= 1e-9
            assert max(task.getpviolcon(which, range(task.getnumcon()))) <= 1e-7
        z, reduced = read_multipliers(mosek, task, form, which)
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
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    with to_mosek(form) as task:
        insert(task, form, form.join(result.values), result.multipliers, form.join(result.reduced))
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
    trace = observer.end(12, 5.0, 3.0)
    assert trace.column("objective").tolist() == [7.0, 5.0, 5.0]
    assert trace[0].iteration == 12 and trace[0].bound == 3.0 and trace[0].step == "incumbent"


def test_parameters_are_known_and_checked():
    form = FORMS["zero-one"]
    with to_mosek(form) as task:
        options = Options(tol=1e-4, time_limit=5.0, threads=1, node_limit=9, seed=3, native={"MSK_DPAR_MIO_TOL_FEAS": 1e-7})
        Mosek()._set_parameters(mosek, task, form, options)
        assert task.getdouparam(mosek.dparam.mio_tol_rel_gap) == 1e-4
        assert task.getdouparam(mosek.dparam.mio_tol_feas) == 1e-7
        assert task.getdouparam(mosek.dparam.optimizer_max_time) == 5.0
        assert task.getintparam(mosek.iparam.mio_max_num_relaxs) == 9
        assert task.getintparam(mosek.iparam.mio_seed) == 3
        with pytest.raises(InputError, match=r"no option 'MSK_DPAR_MIO_TOL_GAP'.*MSK_DPAR_MIO_TOL_"):
            Mosek()._set_parameters(mosek, task, form, Options(native={"MSK_DPAR_MIO_TOL_GAP": 1}))
        with pytest.raises(InputError, match="mosek does not take MSK_IPAR_NUM_THREADS = 'many'"):
            Mosek()._set_parameters(mosek, task, form, Options(native={"MSK_IPAR_NUM_THREADS": "many"}))


def test_reader_refuses_what_a_form_has_not(tmp_path):
    with mosek.Task() as task:
        task.appendvars(1)
        task.appendbarvars([3])
        with pytest.raises(ExportError, match="1 matrix variables"):
            form_of_task(task)
    with mosek.Task() as task:
        task.appendvars(1)
        task.appendcons(1)
        task.putconname(0, "between")
        task.putconbound(0, mosek.boundkey.ra, 0.0, 1.0)
        with pytest.raises(ExportError, match="'between' is ranged or free"):
            form_of_task(task)
    path = tmp_path / "broken.task"
    path.write_bytes(b"not a task")
    with pytest.raises(ExportError, match=r"cannot read .*broken\.task"):
        read_task(path)


def test_reader_turns_upper_rows_offsets_and_maximisation():
    with mosek.Task() as task:
        task.appendvars(2)
        task.putobjsense(mosek.objsense.maximize)
        task.putclist([0, 1], [1.0, 2.0])
        task.putcfix(3.0)
        task.appendcons(1)
        task.putarow(0, [0, 1], [1.0, 1.0])
        task.putconbound(0, mosek.boundkey.up, 0.0, 4.0)
        task.appendafes(1)
        task.putafefentry(0, 1, 2.0)
        task.putafeg(0, 5.0)
        task.appendacc(task.appendrminusdomain(1), [0], [7.0])
        form = form_of_task(task)
    assert form.maximise and form.q.tolist() == [-1.0, -2.0] and form.r == -3.0
    row, cone = form.constraints
    assert row.F.toarray().tolist() == [[-1.0, -1.0]] and row.g.tolist() == [4.0]  # x + y ≤ 4
    assert cone.F.toarray().tolist() == [[0.0, -2.0]] and cone.g.tolist() == [2.0]  # 2y + 5 - 7 ≤ 0
    assert (form.lower == 0).all() and (form.upper == 0).all()  # MOSEK fixes new variables at zero


def _moved(form, kinds):
    """The form with other numbers in the same places."""
    rng = np.random.default_rng(7)
    constraints = []
    for c in form.constraints:
        linear = isinstance(c.cone, (Zero, Nonnegative))
        F, g = c.F.copy(), c.g
        if ("F" if linear else "F of cones") in kinds:
            F.data = F.data * rng.uniform(0.5, 2, F.data.size)
        if ("g" if linear else "g of cones") in kinds:
            g = g + rng.normal(size=g.size)
        constraints.append(Constraint(c.label, F, g, c.cone))
    changes = {"constraints": tuple(constraints)}
    if "q" in kinds:
        changes["q"] = form.q + 1.0
    if "r" in kinds:
        changes["r"] = form.r - 3.0
    if "P" in kinds and form.quadratic is not None:
        changes["quadratic"] = Quadratic(matrix=sp.csc_array(2.5 * form.quadratic.csc))
    if "bounds" in kinds:
        free = ~np.isfinite(form.upper)
        changes |= {"upper": np.where(free, form.lower.max(initial=0.0, where=np.isfinite(form.lower)) + 9.0, form.upper)}
    return form.replace(**changes)


@pytest.mark.parametrize(
    "kinds", [frozenset({kind}) for kind in sorted(ALL_PARTS)] + [ALL_PARTS], ids=lambda k: "+".join(sorted(k))
)
@pytest.mark.parametrize("name", FORMS)
def test_an_updated_task_holds_what_a_new_one_does(name, kinds):
    """By MOSEK's own reading of both tasks; no licence is needed to put and get data."""
    old = FORMS[name]
    new = _moved(old, kinds)
    parts, why = kept_parts(old, new, any_bounds=True)
    assert not why
    assert parts <= kinds
    with to_mosek(old) as task, to_mosek(new) as fresh:
        change_mosek(task, old, new, parts)
        updated, built = form_of_task(task), form_of_task(fresh)
    assert str(built.diff(updated)) == "no difference"
    assert (str(form_of_new(old).diff(updated)) == "no difference") == (not parts)


def form_of_new(form):
    with to_mosek(form) as task:
        return form_of_task(task)


def test_the_backend_keeps_its_task(monkeypatch):
    """Two solves of one path: one task, the second time updated (the optimiser itself is replaced: it needs a licence)."""
    held = []

    def solved(self, task, form, options, begin):
        held.append((task, form_of_task(task)))
        return read_solution(mosek, task, form, mosek.rescode.ok, Recorder("mosek", options))

    monkeypatch.setattr(Mosek, "_solve", solved)
    kept, notes = Kept(), []
    forms = [HingeSVM(X, Y, lam=lam).form for lam in (0.7, 1.4, 1.4)]
    for form in forms:
        Mosek().solve_kept(form, Options(), kept)
        notes.append(str(kept.update))
    kept.close()
    assert notes == ["built", "updated in place: q", "updated in place: nothing"]
    assert held[0][0] is held[1][0] is held[2][0]
    for form, (_, found) in zip(forms, held, strict=True):
        assert str(form_of_new(form).diff(found)) == "no difference"


def test_licence_in_mosek_own_words(tmp_path):
    code = (
        "from marginopt.solvers.registry import get_solver, require\n"
        "from marginopt.errors import LicenceError\n"
        "licence = get_solver('mosek').licence()\n"
        "print(licence.state.name, licence.detail)\n"
        "try:\n    require(get_solver('mosek'))\nexcept LicenceError as error:\n    print(error)\n"
    )
    path = tmp_path / "mosek.lic"
    path.write_text("FEATURE PTS MOSEKLM 11.0 01-jan-2020 uncounted HOSTID=ANY SIGN=0000\n")
    environment = {**os.environ, "MOSEKLM_LICENSE_FILE": str(path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True)
    state, refusal = done.stdout.splitlines()
    assert state.startswith("MISSING The license manager reported") and "FlexNet Licensing error" in state
    assert refusal.startswith("mosek is installed and cannot be used (no licence): The license manager reported")


def test_without_a_licence_solving_is_refused():
    if Mosek().licence().state is not LicenceState.MISSING:
        pytest.skip("a MOSEK licence is installed")
    with pytest.raises(LicenceError, match="mosek is installed and cannot be used"):
        solve_problem(HingeSVM(X, Y), "mosek", Options())
    with pytest.raises(LicenceError, match="License cannot be located"):
        Mosek().solve_form(FORMS["hinge"], Options())


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mosek", None)
    with pytest.raises(MissingPackageError, match=r"marginopt\[commercial\]"):
        to_mosek(FORMS["hinge"])


@pytest.mark.licensed
@pytest.mark.parametrize("name", FORMS)
def test_licensed_optimum(name):
    """``pytest -m licensed``: the same optimum as the open solvers, certified."""
    if not Mosek().licence().usable:
        pytest.skip(f"no MOSEK licence: {Mosek().licence().detail}")
    form = FORMS[name]
    other = "scip" if form.integer.any() else "clarabel"
    ours, peer = solve_problem(form, "mosek", Options()), solve_problem(form, other, Options())
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(peer.objective, rel=1e-6)
