"""``compare``, stored results, and the public face."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from facts import about, at

import marginopt as mo
from marginopt.errors import DataError, InputError


@pytest.fixture
def model() -> mo.Model:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    return mo.L2SVMDual(X, np.where(rng.random(20) < 0.5, -1.0, 1.0), C=3.0, kernel=mo.RBF(0.4))


def test_everything_in_all_exists() -> None:
    for name in mo.__all__:
        assert getattr(mo, name) is not None


def test_completion_shows_what_is_for_users_alone() -> None:
    shown = {name for name in dir(mo) if not name.startswith("__")}
    assert shown == {name for name in mo.__all__ if not name.startswith("__")} | {"deep"}
    assert len(mo.__all__) <= 75


def test_what_a_prompt_calls_is_a_typed_function() -> None:
    for group in (mo.solvers, mo.relaxations, mo.estimators, mo.formulations):
        assert "table" in group.__all__
        assert str(group()) == str(group.table())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("all_estimators", "estimators"),
        ("Licence", "solvers"),
        ("WriteError", "errors"),
        ("PerspectiveRelaxation", "relaxations"),
    ],
)
def test_a_name_of_a_group_says_where_it_is(name: str, group: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(mo, name)
    assert raised.value.name == name
    assert getattr(getattr(mo, group), name) is not None


def test_compare_gives_results_ratios_and_reasons(model: mo.Model) -> None:
    table = mo.compare(model, ["clarabel", "mfw", "zero-one-bb", "mosek"], tol=1e-5)
    assert set(table.results) >= {"clarabel", "mfw"}
    assert table["clarabel"].objective == pytest.approx(table["mfw"].objective, rel=1e-5)
    records = {r["solver"]: r for r in table.records()}
    assert records["zero-one-bb"]["status"] == "not run"
    assert "ZeroOneProblem" in records["zero-one-bb"]["reason"]
    assert min(r["ratio"] for r in records.values() if "ratio" in r) == 1.0
    assert table.to_markdown().partition("\n\n")[0].count("\n") == 5
    with pytest.raises(KeyError):
        table["zero-one-bb"]
    with pytest.raises(KeyError):
        table["scip"]


def test_compare_refuses_misspelt_names_before_any_work(model: mo.Model) -> None:
    with pytest.raises(InputError, check=about("clarabell")):
        mo.compare(model, ["clarabell"])
    with pytest.raises(InputError, check=about("solvers")):
        mo.compare(model, "clarabel")


def test_a_stored_result_reads_back(model: mo.Model, tmp_path: Path) -> None:
    result = mo.solve(model, "mfw", tol=1e-4)
    path = result.save(tmp_path / "result")
    back = mo.io.load_result(path)
    assert path.suffix == ".npz"
    assert (back.status, back.objective, back.bound, back.gap) == (result.status, result.objective, result.bound, result.gap)
    np.testing.assert_array_equal(back.values["a"], result.values["a"])
    np.testing.assert_array_equal(back.trace.column("gap"), result.trace.column("gap"))
    assert [row.step for row in back.trace] == [row.step for row in result.trace]
    assert back.unverified  # the file's claims alone
    certified = mo.io.load_result(path, model)
    assert not certified.unverified
    assert (certified.status, certified.bound_kind) == (result.status, result.bound_kind)
    assert certified.objective == pytest.approx(result.objective, rel=1e-12)


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, check=at("missing.npz")):
        mo.io.load_result(tmp_path / "missing.npz")
    other = tmp_path / "other.npz"
    np.savez(other, x=np.zeros(2))
    with pytest.raises(DataError, check=at(other)):
        mo.io.load_result(other)


def test_a_solver_that_cannot_read_a_model_names_those_that_can(model: mo.Model) -> None:
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    conic = mo.ConicSVM(X, np.array([1.0, -1, 1, -1, 1, 1]), lam=1.0)
    with pytest.raises(mo.errors.UnsupportedModelError, check=about("piqp")):
        mo.solve(conic, "piqp")


def test_convergence_plot_has_a_line_for_each_trace(model: mo.Model) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    axes = mo.compare(model, ["fw", "mfw"], tol=1e-3).plot_convergence()
    assert len(axes.get_lines()) == 2
    plt.close(axes.figure)
