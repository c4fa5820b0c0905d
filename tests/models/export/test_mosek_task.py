"""MOSEK tasks written and read back, what a form has not, and tasks updated in place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from mosek_reader import form_of_task, read_task
from mosek_tasks import FORMS, MATRICES, REAL, form_of_new, mixed_cones, stated_by_hand

from marginopt.errors import ExportError, UnsupportedModelError
from marginopt.models import PSD, Constraint, Nonnegative, Quadratic, StandardForm, Zero
from marginopt.models.export.mosek_task import change_mosek, to_mosek, updatable_parts
from marginopt.models.model import BareForm
from marginopt.models.program.bridges import EpigraphBridge
from marginopt.solvers.backends.mosek import Mosek
from marginopt.solvers.interface.backend import BridgeChain
from marginopt.solvers.interface.solver import ALL_PARTS, changed_parts
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

mosek = pytest.importorskip("mosek", reason="MOSEK is not installed")


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
    form, stated = FORMS[name], stated_by_hand(name)
    if suffix == "ptf" and form.quadratic is not None:
        form = stated = EpigraphBridge(form).target  # MOSEK writes no quadratic terms in this format
    path = tmp_path / f"model.{suffix}"
    with to_mosek(form) as task:
        assert task.getnumbarvar() == sum(form.constraint(label).cone.count for label in MATRICES.get(name, ()))
        task.writedata(str(path))
    same(stated, read_task(path), tol=0.0 if suffix == "task" and name not in MATRICES else 1e-14)


@pytest.mark.parametrize("name", REAL)
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
    with pytest.raises(ExportError, check=about("MOSEK")):
        to_mosek(form)
    assert "together with" in Mosek().obstacle(BareForm(form))
    if Mosek().licence().usable:
        with pytest.raises(UnsupportedModelError):
            solve_problem(form, "mosek", Options())


def test_reader_refuses_what_a_form_has_not(tmp_path):
    with mosek.Task() as task:
        task.appendvars(1)
        task.appendcons(1)
        task.putconname(0, "between")
        task.putconbound(0, mosek.boundkey.ra, 0.0, 1.0)
        with pytest.raises(ExportError, check=about("between")):
            form_of_task(task)
    path = tmp_path / "broken.task"
    path.write_bytes(b"not a task")
    with pytest.raises(ExportError):
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
    parts, why = changed_parts(old, new, any_bounds=True)
    assert not why
    assert parts <= kinds
    if parts - updatable_parts(new, ALL_PARTS):  # the backend builds the task again
        assert any(isinstance(c.cone, PSD) for c in new.constraints)
        return
    with to_mosek(old) as task, to_mosek(new) as fresh:
        change_mosek(task, old, new, parts)
        updated, built = form_of_task(task), form_of_task(fresh)
    assert built.diff(updated).empty
    assert (form_of_new(old).diff(updated).empty) == (not parts)
