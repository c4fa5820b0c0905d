"""Notebooks: one mechanism shows everything, escaped; tables become frames; a notebook runs; what is saved is read back."""

from __future__ import annotations

import asyncio
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about, at

import marginopt as mo
from marginopt.display import Display, Displayable, Tabular
from marginopt.errors import DataError
from marginopt.solvers.path import SolutionPath
from marginopt.solvers.records import Trace, TraceRow

X = np.column_stack([np.ones(12), np.random.default_rng(0).normal(size=(12, 2))])
Y = np.where(X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0)
HINGE = mo.HingeSVM(X, Y, lam=1.0)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """One of everything that a notebook shows."""
    comparison = mo.compare(HINGE, ["clarabel", "piqp", "mfw"])
    result = comparison["clarabel"]
    return {
        "model": HINGE,
        "form": HINGE.form,
        "result": result,
        "certificate": result.certificate,
        "trace": mo.solve(mo.L2SVMDual(X, Y), "mfw").trace,
        "comparison": comparison,
        "path": mo.path(HINGE, "lam", [0.5, 1.0, 2.0], solver="clarabel"),
        "profile": mo.performance_profile({"a": comparison}),
        "instance": mo.load("wdbc"),
        "solvers": mo.solvers(),
        "formulations": mo.models.formulations(),
        "estimators": mo.estimators(),
    }


def test_everything_is_shown_by_one_renderer(shown: dict[str, Any]) -> None:
    for name, thing in shown.items():
        assert isinstance(thing, Displayable), name
        page = thing._repr_html_()
        assert page == thing.display().html() and page.startswith('<div class="marginopt">')
        assert not re.search(r"https?:[^<]*src=|<script|\\son\\w+=", page), name
    assert "residuals" in shown["result"]._repr_html_() and "optimal" in shown["result"]._repr_html_()
    assert shown["model"]._repr_latex_().startswith("\\[")


def test_a_table_has_words_at_the_left_and_nothing_for_what_is_not_known() -> None:
    page = Display(head=("name", "count"), rows=(("a", "1"), ("...",)), words=("name",)).html()
    left = ' style="text-align:left"'
    assert f"<tr><td{left}>a</td><td>1</td></tr><tr><td{left} colspan=2>...</td></tr>" in page
    trace = Trace((TraceRow(0, 0.0, -1.0),)).display()
    assert dict(zip(trace.head, trace.rows[0], strict=True)) == {
        "iteration": "0", "seconds": "0", "objective": "-1", "bound": "", "gap": "", "active": "", "step": "",
    }  # fmt: skip


def test_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>&\"'"
    page = Display(evil, ((evil, evil),), (evil, evil), ((evil,), (evil, evil)), evil, evil).html()
    assert "<script" not in page and page.count("&lt;script&gt;") == 10
    instance = mo.instances.Instance(X[:, 1:], Y, name=evil, source=evil)
    assert "<script" not in instance._repr_html_()


def test_tables_become_frames(shown: dict[str, Any]) -> None:
    pd = pytest.importorskip("pandas")
    lengths = {"trace": len(shown["trace"]), "comparison": 3, "path": 3, "profile": 3, "solvers": len(shown["solvers"].rows),
               "formulations": len(shown["formulations"]), "estimators": len(shown["estimators"])}  # fmt: skip
    for name, length in lengths.items():
        assert isinstance(shown[name], Tabular)
        table = shown[name].to_frame()
        assert isinstance(table, pd.DataFrame) and len(table) == length, name
    np.testing.assert_allclose(shown["path"].to_frame()["objective"], shown["path"].objectives)
    np.testing.assert_array_equal(shown["trace"].to_frame()["gap"], shown["trace"].column("gap"))
    data = shown["instance"].to_frame()
    assert list(data.columns)[-1] == "label" and data.shape == (569, 31)
    np.testing.assert_array_equal(data.iloc[:, :-1].to_numpy(), shown["instance"].X)


def test_a_report_s_tables_become_frames() -> None:
    pytest.importorskip("pandas")
    small = mo.instances.Instance(X, Y, name="points", intercept=True)
    report = mo.relaxations.gap_report([small], exact=None, progress=False)
    table = report.to_frame()
    assert len(table) == len(report.rows) and {"bound", "gap_low", "gap_high", "kind"} <= set(table.columns)
    assert report.to_frame("instances")["zeta_high"][0] == report.best[report.instances[0].key].high
    with pytest.raises(mo.errors.InputError, check=about("table")):
        report.to_frame("all")


def test_comparisons_and_paths_are_saved_and_read_back(shown: dict[str, Any], tmp_path: Path) -> None:
    comparison, path = shown["comparison"], shown["path"]
    again = mo.solvers.Comparison.load(comparison.save(tmp_path / "comparison"), HINGE)
    assert len(mo.solvers.Comparison.load(tmp_path / "comparison", HINGE).rows) == len(again.rows)  # the name as it was given
    assert [row.reason for row in again.rows] == [row.reason for row in comparison.rows]
    assert str(again["clarabel"].status) == "optimal" and not again["clarabel"].unverified
    assert again["clarabel"].objective == comparison["clarabel"].objective
    assert mo.solvers.Comparison.load(tmp_path / "comparison.npz")["clarabel"].unverified
    back = SolutionPath.load(path.save(tmp_path / "path.npz"), HINGE)
    assert back.values == path.values and not any(r.unverified for r in back)
    np.testing.assert_array_equal(back.objectives, path.objectives)
    with pytest.raises(DataError, check=at("comparison.npz")):
        SolutionPath.load(tmp_path / "comparison.npz")
    with pytest.raises(DataError):
        SolutionPath.load(tmp_path / "path.npz", mo.HingeSVM(2.0 * X, Y, lam=1.0))


NOTEBOOK = [
    "import numpy as np, marginopt as mo\nX = np.array([[1., 0.], [1, 1], [1, 2], [1, 3]]); y = np.array([-1., -1, 1, 1])",
    "model = mo.HingeSVM(X, y)\nmodel",
    "model.form",
    "result = mo.solve(model, 'clarabel', progress=True)\nresult",
    "mo.compare(model, ['clarabel', 'piqp'])",
    "mo.path(model, 'lam', [0.5, 1.0], solver='clarabel')",
    "mo.instances.Instance(X[:, 1:], y, name='four <points>')",
    "mo.gap_report([mo.instances.Instance(X[:, 1:], y, name='four')], exact='scip')",
]


def test_a_notebook_shows_them(tmp_path: Path) -> None:
    """Executed by nbclient in a kernel of its own; outputs are looked at."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK])
    if sys.platform == "win32":
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own machinery
        where = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=where).execute()
    pages = ["".join(o["data"].get("text/html", "") for o in c.outputs if "data" in o) for c in book.cells]
    assert all('<div class="marginopt' in page for page in pages[1:])
    assert r"\begin{aligned}" in pages[1] and "optimal" in pages[3] and "four &lt;points&gt;" in pages[6]
    latex = [o["data"]["text/latex"] for o in book.cells[1].outputs if "text/latex" in o.get("data", {})]
    assert latex and latex[0].startswith("\\[")
    for cell, begin in ((book.cells[3], "clarabel:"), (book.cells[7], "[")):  # one line that changes, and nothing on a stream
        lines = [o["data"]["text/plain"] for o in cell.outputs if "text/html" not in o.get("data", {}) and "data" in o]
        assert len(lines) == 1 and lines[0].startswith(begin) and "\n" not in lines[0]
        assert all("name" not in o for o in cell.outputs)
