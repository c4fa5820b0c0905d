"""MOSEK's licence: its own words, refusals, and with one the optimum of the open solvers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from facts import about, missing, unlicensed
from mosek_tasks import FORMS, X, Y

from marginopt.errors import InputError, LicenceError, MissingPackageError
from marginopt.models import HingeSVM
from marginopt.models.export.mosek_task import to_mosek
from marginopt.solvers.backends.mosek import Mosek
from marginopt.solvers.interface.solver import LicenceState
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem


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
    assert state.startswith("MISSING ") and "FlexNet Licensing error" in state  # in MOSEK's own words
    assert "mosek" in refusal and "FlexNet Licensing error" in refusal


def test_without_a_licence_solving_is_refused():
    if Mosek().licence().state is not LicenceState.MISSING:
        pytest.skip("a MOSEK licence is installed")
    with pytest.raises(LicenceError, check=unlicensed("mosek")):
        solve_problem(HingeSVM(X, Y), "mosek", Options())
    with pytest.raises(LicenceError, check=unlicensed("mosek")):
        Mosek().solve_form(FORMS["hinge"], Options())


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mosek", None)
    with pytest.raises(MissingPackageError, check=missing("mosek")):
        to_mosek(FORMS["hinge"])


def test_an_environment_of_the_user_s_is_used_and_stays_open() -> None:
    import mosek

    if Mosek().licence().usable:
        pytest.skip("a MOSEK licence is installed")
    with mosek.Env() as env:
        options = Options(native={"env": env})
        assert Mosek().licence_under(options).state is LicenceState.FULL  # MOSEK decides, not the licence found here
        with pytest.raises(LicenceError, check=unlicensed("mosek")):
            solve_problem(HingeSVM(X, Y), "mosek", options)
        assert env.Task().getnumvar() == 0
    with pytest.raises(InputError, check=about("env")):
        solve_problem(HingeSVM(X, Y), "mosek", Options(native={"env": "cloud"}))


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
