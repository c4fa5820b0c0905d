"""Reports, strengthening and fixing by solvers that are objects, or pairs with options, as a plug-in or a script has them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from data import Points, clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import StandardForm, ZeroOneSVM
from marginopt.relaxations import BigM, Conic, GapReport, fix_variables, gap_report, strengthen
from marginopt.relaxations.report.runner import CellStore
from marginopt.solvers import Answer, Options, SolverInfo
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.backends.scip import Scip
from marginopt.solvers.registry import EXTENSIONS, all_solvers, resolve_solver

CALLS: list[str] = []


@dataclass(frozen=True)
class Recorded(Clarabel):
    """Clarabel as somebody's own backend: it notes that it was called."""

    mark: str = "plain"
    watch: Callable[[], None] | None = field(default=None, repr=False)

    info: ClassVar[SolverInfo] = replace(Clarabel.info, name="recorded", rank={})

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        CALLS.append(self.mark)
        return super().solve_form(form, options)


class RecordedScip(Scip):
    """SCIP likewise, and no data class."""

    info: ClassVar[SolverInfo] = replace(Scip.info, name="recorded-scip", rank={})

    def __init__(self, mark: str = "plain") -> None:
        self.mark = mark

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        CALLS.append(self.mark)
        return super().solve_form(form, options)


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    CALLS.clear()
    yield
    for name in EXTENSIONS.session:
        EXTENSIONS.remove(name)


def test_options_are_those_of_solve() -> None:
    by_name = report(exact="zero-one-bb", node_limit=9, seed=2)
    at_once = report(exact="zero-one-bb", options=mo.solvers.Options(node_limit=9, seed=2))
    assert [c.seed for c in by_name.exacts] == [c.seed for c in at_once.exacts] == [2]
    assert [(c.status, c.bound) for c in by_name.exacts] == [(c.status, c.bound) for c in at_once.exacts]


def report(**asked: Any) -> GapReport:
    arguments: dict[str, Any] = {"relaxations": [BigM("zero"), Conic()], "exact": None, "progress": False, "time_limit": 60.0}
    return gap_report([Points(*clouds(1, 12))], **{**arguments, **asked})


def test_cells_by_objects_and_pairs_are_those_by_names(tmp_path: Path) -> None:
    named = report(solver="clarabel", exact=["scip", "zero-one-bb"])
    asked = report(solver=Recorded("mine"), exact=[RecordedScip(), ("zero-one-bb", {"engine": "boxes"})])
    assert CALLS == ["mine", "mine", "plain"]
    assert [c.solver for c in asked.exacts] == ["recorded-scip", "zero-one-bb(engine='boxes')"]
    assert [c.solver for c in asked.relaxations] == ["recorded(mark='mine')"] * 2
    for ours, theirs in zip(named.relaxations, asked.relaxations, strict=True):
        assert theirs.bound == pytest.approx(ours.bound, rel=1e-6)
    assert all(c.proven for c in (*named.exacts, *asked.exacts))
    assert len({round(c.incumbent or 0.0, 6) for c in (*named.exacts, *asked.exacts)}) == 1
    assert asked.meta["options"]["relaxation solver"] == "recorded(mark='mine')"
    assert asked.meta["options"]["exact"] == ["recorded-scip", "zero-one-bb(engine='boxes')"]
    paths = asked.write(tmp_path / "report.json")
    assert GapReport.from_json(paths[0]).exacts == asked.exacts


def test_one_pair_is_one_exact_solver() -> None:
    gaps = report(relaxations=[BigM("zero")], exact=("zero-one-bb", {"time_limit": 7.0}))
    assert [(c.solver, c.time_limit) for c in gaps.exacts] == [("zero-one-bb(time_limit=7)", 7.0)]


def test_auto_with_options_goes_to_the_solver_that_it_picks() -> None:
    gaps = report(relaxations=[BigM("zero")], exact=[("auto", {"engine": "conflicts"})], solver=("auto", {"tol": 1e-5}))
    assert [c.solver for c in gaps.exacts] == ["zero-one-bb(engine='conflicts')"]
    assert gaps.relaxations[0].solver == mo.solve(BigM("zero").apply(ZeroOneSVM(*clouds(1, 12)))).solver


def test_a_stored_report_knows_an_object_again_by_class_and_parameters(tmp_path: Path) -> None:
    store = tmp_path / "cells.db"
    report(solver=Recorded("a"), exact=[RecordedScip("a")], store=store)
    assert CALLS == ["a", "a", "a"]
    again = report(solver=Recorded("a"), exact=[RecordedScip("a")], store=store)
    assert CALLS == ["a", "a", "a"]  # nothing is computed again
    assert len(again.relaxations) == 2
    report(solver=Recorded("b"), exact=[RecordedScip("b")], store=store)
    assert CALLS[3:] == ["b", "b", "b"]  # another parameter is another solver
    report(solver=(Recorded("b"), {"tol": 1e-4}), store=store)
    assert CALLS[6:] == ["b", "b"]  # and so are other options
    assert CellStore(store).counts() == {"instance": 1, "relaxation": 6, "exact": 2}


def test_names_have_the_keys_that_old_stores_have() -> None:
    assert all(resolve_solver(name).key == name for name in all_solvers())
    assert resolve_solver("auto").key == "auto"
    assert resolve_solver(Clarabel()).key == "clarabel"  # the registry's own, made anew
    assert resolve_solver(("smo", {"tol": 1e-9})).key == ["smo", {"tol": "1e-09"}]


def test_a_name_of_the_session_is_the_object_behind_it() -> None:
    mo.register(Recorded("a"))
    first = resolve_solver("recorded").key
    mo.register(Recorded("b"), replace=True)
    assert resolve_solver("recorded").key != first
    assert resolve_solver(Recorded("a")).key == first
    assert resolve_solver("auto").key == "auto"  # it has no rank, so auto cannot take it


def test_a_parameter_without_identity_is_refused_before_anything_is_solved(tmp_path: Path) -> None:
    solver = Recorded("watched", watch=lambda: None)
    report(solver=solver)
    CALLS.clear()
    with pytest.raises(InputError, check=about("recorded")):
        report(solver=solver, store=tmp_path / "cells.db")
    assert not CALLS and not (tmp_path / "cells.db").exists()


@pytest.mark.parametrize("option", [{"seed": 1}, {"start": {}}])
def test_seeds_and_starts_of_exact_solvers_are_the_reports(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, check=about("seed", "start")):
        report(exact=[("scip", option)])


@pytest.mark.parametrize("name", sorted(all_solvers()))
def test_every_solver_travels_to_another_process(name: str) -> None:
    requested = resolve_solver((name, {"tol": 1e-5}))
    there = pickle.loads(pickle.dumps(requested))
    assert there.solver is requested.solver  # by its name: found in the registry there
    assert (there.label, there.native_options) == (requested.label, requested.native_options)


def test_an_object_travels_as_it_is() -> None:
    there = pickle.loads(pickle.dumps(resolve_solver(Recorded("a"))))
    assert there.solver == Recorded("a")


def test_strengthening_and_fixing_by_an_object() -> None:
    model = ZeroOneSVM(*clouds(2, 14))
    strong = strengthen(model, solver=Recorded("gamma"))
    assert strong.encoding == "strengthened" and "gamma" in CALLS
    fixing = fix_variables(strong, solver=(Recorded("fix"), {"tol": 1e-8}))
    assert "fix" in CALLS
    assert fixing.upper_bound == pytest.approx(strong.incumbent_value)


def test_relaxations_by_name_are_the_objects() -> None:
    by_name, by_object = (report(relaxations=problem, exact=None) for problem in (["conic", "big-m"], [Conic(), BigM("zero")]))
    assert [(cell.relaxation, cell.bound) for cell in by_name.relaxations] == [
        (cell.relaxation, cell.bound) for cell in by_object.relaxations
    ]
    assert [cell.relaxation for cell in report(relaxations="conic", exact=None).relaxations] == [Conic().name]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"relaxations": ["conc"]}, "conc"),
        ({"relaxations": 3}, "relaxations"),
        ({"relaxations": [Conic]}, "relaxation"),
        ({"lam": "a"}, "lam"),
        ({"lam": []}, "lam"),
        ({"kappa": "a"}, "kappa"),
        ({"seeds": 3}, "seeds"),
        ({"progress": np.zeros(0)}, "progress"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        report(**asked)


def test_a_mapping_names_instances_and_replicates() -> None:
    draws = [mo.instances.gaussian_clusters(12, 2, 0.7, seed=seed) for seed in range(3)]
    gaps = gap_report({"one": draws[0], "set": draws[1:]}, [BigM("zero")], exact=None, progress=False)
    assert [(c.instance, c.family) for c in gaps.instances] == [("one", draws[0].family), ("set[1]", "set"), ("set[2]", "set")]
    assert len({c.objective for c in gaps.instances}) == 3


def test_draws_of_one_name_in_a_list() -> None:
    draws = [mo.instances.gaussian_clusters(12, 2, 0.7, seed=seed) for seed in range(2)]
    with pytest.raises(InputError) as error:
        gap_report(draws, [BigM("zero")], exact=None, progress=False)
    assert error.value.name == "instances"
    with pytest.raises(InputError) as error:
        gap_report([draws], [BigM("zero")], exact=None, progress=False)
    assert error.value.name == "problems"
