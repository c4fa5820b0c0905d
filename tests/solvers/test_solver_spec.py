"""Options at one door, and solvers asked for by name, as objects, or with options of their own."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import HingeSVM
from marginopt.solvers import Options, path
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.box.descent import BoxDescent
from marginopt.solvers.records import COMMON_OPTIONS, TraceRow
from marginopt.solvers.registry import all_solvers, get_solver, resolve_solver, resolve_solvers


@pytest.fixture(scope="module")
def model() -> HingeSVM:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    return HingeSVM(X, np.where(X[:, 1] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0), lam=1.0)


@pytest.mark.parametrize("name", [name for name in all_solvers(discover=False) if name.endswith("-bb")])
def test_number_options_of_the_exact_solvers_are_checked_when_the_solver_is_made(name: str) -> None:
    solver: Any = get_solver(name)
    for option in [item.name for item in fields(solver) if item.type in ("int", "float")]:
        for wrong in ("three", -1):
            with pytest.raises(InputError, check=about(option)):
                replace(solver, **{option: wrong})


def test_common_options_are_told_from_native_ones() -> None:
    options = Options.of(Options(tol=1e-3, native={"a": 1, "b": 1}), tol=1e-9, node_limit=5, b=2, native={"c": 3})
    assert (options.tol, options.node_limit) == (1e-9, 5)
    assert options.native == {"a": 1, "b": 2, "c": 3}
    assert {f.name for f in fields(Options)} - {"native"} == COMMON_OPTIONS
    with pytest.raises(InputError, check=about("options")):
        Options.of({"tol": 1e-3})  # type: ignore[arg-type]


def test_keywords_prevail_over_options_and_a_pair_over_both(model: HingeSVM) -> None:
    options = Options(tol=1e-4, seed=7)
    assert mo.solve(model, "clarabel", options).options == {"tol": 1e-4, "seed": 7}
    assert mo.solve(model, "clarabel", options, tol=1e-5).options["tol"] == 1e-5
    paired = mo.solve(model, ("clarabel", {"tol": 1e-6, "max_iter": 50}), options, tol=1e-5)
    assert paired.options == {"tol": 1e-6, "seed": 7, "native": {"max_iter": 50}}
    limited = mo.solve(model, (Clarabel(), {"iteration_limit": 1}))
    assert limited.status is mo.Status.ITERATION_LIMIT


def test_misspelt_common_options_are_met_by_their_names(model: HingeSVM) -> None:
    with pytest.raises(InputError, check=about("time_limt")):
        mo.solve(model, "scs", time_limt=3)
    with pytest.raises(InputError, check=about("nodelimit")):
        mo.compare(model, ["clarabel"], nodelimit=3)
    with pytest.raises(InputError, check=about("max_iter")):
        mo.compare(model, ["clarabel"], max_iter=3)


def test_compare_takes_names_objects_and_pairs(model: HingeSVM) -> None:
    table = mo.compare(
        model, ["clarabel", Clarabel(), ("clarabel", {"tol": 1e-9}), ("clarabel", {"max_iter": 1}), "auto"], iteration_limit=200
    )
    assert [row.solver for row in table.rows] == [
        "clarabel #1",
        "clarabel #2",
        "clarabel(tol=1e-09)",
        "clarabel(max_iter=1)",
        "auto",
    ]
    assert table["clarabel(tol=1e-09)"].options["tol"] == 1e-9
    assert table["clarabel(max_iter=1)"].status is mo.Status.ITERATION_LIMIT
    assert table["auto"].options["iteration_limit"] == 200
    assert len(table.results) == 5


def test_labels_show_the_parameters_of_an_object() -> None:
    first = fields(BoxDescent)[0]
    assert resolve_solver(BoxDescent()).label == "boxqp"
    assert "=" not in resolve_solver(BoxDescent(**{first.name: getattr(BoxDescent(), first.name)})).label
    assert resolve_solver(("auto", {"seed": 2})).label == "auto(seed=2)"


@pytest.mark.parametrize("wrong", [[], "clarabel", Clarabel()])
def test_a_list_of_solvers_is_needed(wrong: object) -> None:
    with pytest.raises(InputError, check=about("solvers")):
        resolve_solvers(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [("clarabel", 3), ("clarabel",), 5])
def test_what_is_no_solver_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        resolve_solver(wrong)  # type: ignore[arg-type]


def test_a_path_takes_objects_pairs_and_every_common_option(model: HingeSVM) -> None:
    seen: list[TraceRow] = []

    def watch(row: TraceRow) -> None:
        seen.append(row)

    values = [0.5, 1.0, 2.0]
    by_name = path(model, "lam", values, solver="clarabel")
    by_pair = path(model, "lam", values, solver=(Clarabel(), {"tol": 1e-8}), callback=watch, memory_limit=1e9)
    np.testing.assert_allclose(by_pair.objectives, by_name.objectives, rtol=1e-5)
    assert by_pair.in_place_updates == by_name.in_place_updates == 2
    assert seen
    assert all(r.options["memory_limit"] == 1e9 for r in by_pair)
