"""``auto`` and solvers from outside: the session's compete by their rank, packages' serve what nobody else reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.errors import UnsupportedModelError
from marginopt.models import L2SVMDual
from marginopt.models.model import Model
from marginopt.models.program.form import StandardForm
from marginopt.solvers import SolverInfo, registry
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.interface.solver import Purpose
from marginopt.solvers.registry import EXTENSIONS, choose_solver, resolve_solver
from marginopt.solvers.simplex.smo import SMO


def ranked(purpose: Purpose, rank: int, name: str = "mine") -> Clarabel:
    kind = type("Ranked", (Clarabel,), {"info": replace(Clarabel.info, name=name, rank={purpose: rank})})
    solver: Clarabel = kind()
    return solver


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    yield
    for name in EXTENSIONS.session:
        EXTENSIONS.remove(name)


def hinge() -> mo.HingeSVM:
    return mo.HingeSVM(*clouds(0, 20), 1.0)


def test_the_best_rank_is_taken_whoever_has_it() -> None:
    first = mo.solve(hinge(), "auto").solver
    mo.register(ranked(Purpose.QUADRATIC, 99))
    assert mo.solve(hinge(), "auto").solver == first
    mo.register(ranked(Purpose.QUADRATIC, 1), replace=True)  # of equals, the one that the session registered
    result = mo.solve(hinge(), "auto")
    assert result.solver == "mine" and result.solved
    assert result.picked.startswith("mine: ")
    mo.register(ranked(Purpose.CONIC, 0), replace=True)
    assert mo.solve(hinge(), "auto").solver == first  # another class of problems


def test_a_solver_that_reads_structure() -> None:
    model = L2SVMDual(*clouds(0, 20), C=2.0, kernel=mo.RBF(0.5))

    class Renamed(SMO):
        info: SolverInfo = replace(SMO.info, name="renamed", rank={Purpose.STRUCTURE: 0})

    mo.register(Renamed())
    assert mo.solve(model).solver == "renamed"
    assert mo.solve(hinge()).solver != "renamed"  # what it does not read is passed over


def test_what_auto_may_take_is_in_the_key_of_a_stored_cell() -> None:
    mo.register(ranked(Purpose.QUADRATIC, 0))
    key = resolve_solver("auto").key
    assert key[0] == "auto" and "mine" in key[1]


class Formless(mo.HingeSVM):
    """A model that only an outside solver reads: it has no form."""

    @property
    def form(self) -> StandardForm:
        raise UnsupportedModelError("it is no conic program")


def test_packages_come_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ranked(Purpose.QUADRATIC, 0, "packaged")
    monkeypatch.setattr(EXTENSIONS, "usable", lambda: {"packaged": package, **EXTENSIONS.session})
    assert mo.solve(hinge()).solver != "packaged"  # installing it changes no result
    monkeypatch.setattr(registry, "all_solvers", lambda *, discover: {})
    assert choose_solver(hinge(), mo.solvers.Options())[0] == "packaged"


def test_no_package_is_looked_for_while_one_of_ours_reads_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> dict[str, Clarabel]:
        raise AssertionError("a package was looked for")

    monkeypatch.setattr(EXTENSIONS, "usable", never)
    assert mo.solve(hinge()).solved


def test_a_model_without_a_form_is_the_packages_to_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Formless(*clouds(0, 20), 1.0)
    with pytest.raises(UnsupportedModelError):
        choose_solver(model, mo.solvers.Options())

    class Reader(SMO):
        info = SolverInfo("reader", "reads models without a form", rank={Purpose.STRUCTURE: 1})

        def obstacle(self, model: Model) -> str | None:
            return None if isinstance(model, Formless) else "it reads models without a form alone"

    monkeypatch.setattr(EXTENSIONS, "usable", lambda: {"reader": Reader()})
    assert choose_solver(model, mo.solvers.Options())[0] == "reader"
    assert np.isfinite(mo.solve(hinge()).objective)
