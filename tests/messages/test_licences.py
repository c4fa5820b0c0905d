"""Every state of a licence and of a missing package, word for word: tests/messages/golden/licences.txt.

Real ones where they can be had (the size-limited Gurobi of the pip package, MOSEK without a licence, false licence files), the
others by a simulated probe or by blocking imports. ``MARGINOPT_GOLDEN=write`` writes the file anew.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marginopt.errors import LicenceError, MissingPackageError
from marginopt.models import ConicSVM, HingeSVM, Model, ZeroOneSVM
from marginopt.solvers.backends import mosek as mosek_backend
from marginopt.solvers.backends.gurobi import find_licence
from marginopt.solvers.interface.solver import LicenceState
from marginopt.solvers.path import path
from marginopt.solvers.records import Options
from marginopt.solvers.registry import all_solvers, get_solver
from marginopt.solvers.solve import solve_problem

GOLDEN = Path(__file__).parent / "golden" / "licences.txt"
_RNG = np.random.default_rng(0)
_X = np.column_stack([np.ones(300), _RNG.normal(size=(300, 2))])
_Y = np.where(_X[:, 1] > 0, 1.0, -1.0)

_EXPIRED = "TYPE=ACADEMIC\nVERSION=13\nHOSTNAME=nowhere\nHOSTID=abcdef01\nUSERNAME=nobody\nEXPIRATION=2020-01-01\nKEY=AAAAAAAA\n"
_OLD = "FEATURE PTS MOSEKLM 11.0 01-jan-2020 uncounted HOSTID=ANY SIGN=0000\n"


@pytest.fixture(autouse=True)
def _fresh_probes() -> Iterator[None]:
    """Licences are probed once for each licence file; here each test probes for itself."""
    probes = (find_licence, mosek_backend._licence)
    for probe in probes:
        probe.cache_clear()
    yield
    for probe in probes:
        probe.cache_clear()


def _said(solver: str, model: Model, tmp_path: Path) -> str:
    """The state, and what ``solve`` and ``auto`` say of a model."""
    licence = get_solver(solver).licence()
    lines = [f"state: {licence.state.value}", f"detail: {licence.detail}"]
    try:
        result = solve_problem(model, solver, Options())
        lines.append(f"solve: {result.status}")
    except (LicenceError, MissingPackageError) as error:
        lines.append(f"solve: {type(error).__name__}: {error}")
    return _plain("\n".join(lines), tmp_path)


def _plain(text: str, tmp_path: Path) -> str:
    """Without what differs from machine to machine."""
    text = text.replace(str(tmp_path), "<folder>")
    text = re.sub(r"valid until \d{4}-\d\d-\d\d", "valid until <date>", text)
    text = re.sub(r"search path is '[^']*'", "search path is '<path>'", text)
    # which open solvers are installed differs too
    return re.sub(r"Without such a limit: [^.]*\.", "Without such a limit: <list>.", text)


# -- the states ---------------------------------------------------------------------------------------------------


def _gurobi_restricted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("gurobipy")
    if get_solver("gurobi").licence().state is LicenceState.FULL:
        pytest.skip("a full Gurobi licence is installed")
    return _said("gurobi", HingeSVM(_X, _Y), tmp_path)


def _gurobi_restricted_and_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("gurobipy")
    if get_solver("gurobi").licence().state is LicenceState.FULL:
        pytest.skip("a full Gurobi licence is installed")
    return _said("gurobi", ZeroOneSVM(_X[:10], _Y[:10]), tmp_path)


def _gurobi_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("gurobipy")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(tmp_path / "missing.lic"))
    return _said("gurobi", HingeSVM(_X, _Y), tmp_path)


def _gurobi_expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("gurobipy")
    monkeypatch.setenv("GRB_LICENSE_FILE", _file(tmp_path, _EXPIRED))
    return _said("gurobi", ZeroOneSVM(_X, _Y), tmp_path)


def _gurobi_nonsense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("gurobipy")
    monkeypatch.setenv("GRB_LICENSE_FILE", _file(tmp_path, "nothing of use\n"))
    return _said("gurobi", HingeSVM(_X, _Y), tmp_path)


def _gurobi_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The probe's model of 2,001 variables is solved without a word (simulated)."""
    _need("gurobipy")
    import gurobipy

    monkeypatch.setattr(gurobipy.Model, "optimize", lambda self: None)
    licence = get_solver("gurobi").licence()
    refused = licence.refusal(HingeSVM(_X, _Y).form)
    return _plain(f"state: {licence.state.value}\ndetail: {licence.detail}\nrefusal: {refused}", tmp_path)


def _mosek_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("mosek")
    if get_solver("mosek").licence().state is not LicenceState.MISSING:
        pytest.skip("a MOSEK licence is installed")
    return _said("mosek", ConicSVM(_X, _Y, lam=1.0), tmp_path)


def _mosek_false_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _need("mosek")
    if get_solver("mosek").licence().state is not LicenceState.MISSING:
        pytest.skip("a MOSEK licence is installed")
    monkeypatch.setenv("MOSEKLM_LICENSE_FILE", _file(tmp_path, _OLD))
    return _said("mosek", HingeSVM(_X, _Y), tmp_path)


def _mosek(refused: dict[str, str]) -> Callable[[Path, pytest.MonkeyPatch], str]:
    """MOSEK's licence manager simulated: features that it refuses, with its code's name."""

    def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        _need("mosek")
        import mosek

        def checkout(self: Any, feature: Any) -> None:
            if feature in codes:
                raise mosek.Error(codes[feature], "the license has expired" if "expired" in str(codes[feature]) else "no feature")

        codes = {getattr(mosek.feature, name): getattr(mosek.rescode, code) for name, code in refused.items()}
        monkeypatch.setattr(mosek.Env, "checkoutlicense", checkout)

        def said(module: Any, environment: Any, error: Any) -> str:
            return str(error.msg)

        monkeypatch.setattr(mosek_backend, "_error_message", said)
        licence = get_solver("mosek").licence()
        lines = [f"state: {licence.state.value}", f"detail: {licence.detail}", f"usable: {licence.usable}"]
        if licence.state is not LicenceState.FULL:
            with pytest.raises(LicenceError) as caught:
                solve_problem(HingeSVM(_X, _Y), "mosek", Options())
            lines.append(f"solve: LicenceError: {caught.value}")
        return _plain("\n".join(lines), tmp_path)

    return state


def _missing(solver: str) -> Callable[[Path, pytest.MonkeyPatch], str]:
    """The solver's package blocked."""

    def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setitem(sys.modules, all_solvers(discover=False)[solver].info.module, None)
        with pytest.raises(MissingPackageError) as caught:
            solve_problem(HingeSVM(_X[:20], _Y[:20]), solver, Options())
        return _plain(f"solve: {type(caught.value).__name__}: {caught.value}", tmp_path)

    return state


def _auto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what ``auto`` records where Gurobi's licence is too small and the package of the first choice is missing."""
    _need("gurobipy")
    if get_solver("gurobi").licence().state is LicenceState.FULL:
        pytest.skip("a full Gurobi licence is installed")
    from marginopt.models import RampSVM
    from marginopt.solvers.registry import choose_solver

    powers = np.hstack([_X, _X[:, 1:] ** 2, _X[:, 1:] ** 3])  # too many coefficients for boxes
    chosen = [choose_solver(RampSVM(powers, _Y), Options())]
    monkeypatch.setitem(sys.modules, "piqp", None)
    chosen.append(choose_solver(HingeSVM(_X, _Y), Options()))
    picked = solve_problem(HingeSVM(_X[:20], _Y[:20]), "auto", Options()).details["picked"]
    return _plain("\n".join(f"picked: {why}" for why in (*(why for _, why in chosen), picked)), tmp_path)


def _need(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


def _file(tmp_path: Path, content: str) -> str:
    path = tmp_path / "false.lic"
    path.write_text(content, encoding="ascii")
    return str(path)


_PACKAGES = ("clarabel", "gurobi", "highs", "mosek", "osqp", "piqp", "scip", "scs")
STATES: dict[str, Callable[[Path, pytest.MonkeyPatch], str]] = {
    "gurobi: restricted, the model too large": _gurobi_restricted,
    "gurobi: restricted, the model small enough": _gurobi_restricted_and_small,
    "gurobi: no licence file": _gurobi_without,
    "gurobi: expired (a false licence file)": _gurobi_expired,
    "gurobi: not a licence": _gurobi_nonsense,
    "gurobi: full (simulated)": _gurobi_full,
    "mosek: no licence": _mosek_without,
    "mosek: a false licence file": _mosek_false_file,
    "mosek: expired (simulated)": _mosek({"pts": "err_license_expired"}),
    "mosek: linear models only (simulated)": _mosek({"pton": "err_license_feature"}),
    "mosek: full (simulated)": _mosek({}),
    "auto: what it passed over": _auto,
    **{f"missing package: {name}": _missing(name) for name in _PACKAGES},
}


def test_every_backend_of_a_package_of_its_own_is_here() -> None:
    names = {name for name, solver in all_solvers(discover=False).items() if solver.info.package and not solver.info.views}
    assert names == set(_PACKAGES)


def _golden() -> dict[str, str]:
    sections = re.split(r"^\[(.+)\]\n", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: body.strip() for title, body in zip(sections[::2], sections[1::2], strict=True)}


@pytest.mark.parametrize("name", STATES)
def test_the_state_is_told_as_in_the_golden_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = STATES[name](tmp_path, monkeypatch)
    if os.environ.get("MARGINOPT_GOLDEN") == "write":
        known = _golden() if GOLDEN.exists() else {}
        known[name] = message
        text = "".join(f"[{title}]\n{known[title]}\n\n" for title in STATES if title in known)
        GOLDEN.write_text(text.rstrip() + "\n", encoding="utf-8")
    assert message == _golden()[name]


def test_the_golden_file_has_no_other_states() -> None:
    assert set(_golden()) == set(STATES)


@pytest.mark.licensed
def test_a_full_gurobi_licence_solves_what_the_restricted_one_refuses() -> None:
    _need("gurobipy")
    licence = get_solver("gurobi").licence()
    if licence.state is not LicenceState.FULL:
        pytest.skip(f"no full Gurobi licence ({licence.state.value}): {licence.detail}")
    model = HingeSVM(_X, _Y)
    ours, peer = solve_problem(model, "gurobi", Options()), solve_problem(model, "clarabel", Options())
    assert ours.objective == pytest.approx(peer.objective, rel=1e-6)


@pytest.mark.licensed
@pytest.mark.parametrize("parameter", ["lam", "kappa"])
def test_licensed_mosek_updates_give_what_rebuilding_gives(parameter: str) -> None:
    _need("mosek")
    licence = get_solver("mosek").licence()
    if not licence.usable:
        pytest.skip(f"no MOSEK licence: {licence.detail}")
    model = HingeSVM(_X, _Y) if parameter == "lam" else ConicSVM(_X[:60], _Y[:60], kappa=0.1)
    values = np.geomspace(0.05, 0.5, 10)
    updated_path = path(model, parameter, values, solver="mosek")
    anew = path(model, parameter, values, solver="mosek", update=False)
    assert updated_path.in_place_updates == 9
    np.testing.assert_allclose(updated_path.objectives, anew.objectives, rtol=1e-6)
