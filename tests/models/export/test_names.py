"""Names that a file gives: its variables and rows keep them, and whatever speaks of them uses them."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.data_names import DataNames
from marginopt.errors import InputError
from marginopt.models.export.file_formats import write_form
from marginopt.models.export.layout import sidecar_path
from marginopt.models.program.form import Block

DIET = """NAME diet
ROWS
 N cost
 G protein
 L fat
 E weight
 G iron
COLUMNS
    rice cost 2.5 protein 1
    rice weight 1
    beans cost 3 protein 4
    beans weight 1 iron 2
    oil.cold cost 1 fat 9
    oil.cold weight 1
RHS
    rhs protein 8 fat {fat}
    rhs weight 5 iron 1
RANGES
    rng protein 20
BOUNDS
 UP bnd rice 4
ENDATA
"""


def _diet(folder: Path, fat: float = 30.0) -> Path:
    path = folder / "diet.mps"
    path.write_text(DIET.format(fat=fat), encoding="utf-8")
    return path


def _rows(form: mo.StandardForm) -> list[str]:
    return [name for c in form.constraints for name in c.names()]


def test_an_mps_file_keeps_the_names_that_an_independent_reader_finds(tmp_path: Path) -> None:
    path = _diet(tmp_path)
    form = mo.read(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    assert form.names() == list(highs.getLp().col_names_)
    assert set(highs.getLp().row_names_) <= set(_rows(form))
    assert sorted(set(_rows(form)) - set(highs.getLp().row_names_)) == ["protein (other side)"]
    for c in form.constraints:  # each row holds what its name says
        for name, entries in zip(c.names(), c.F.toarray(), strict=True):
            assert (name == "weight") == (np.count_nonzero(entries) == 3)


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".ptf", ".mof.json", ".npz"])
def test_names_survive_every_format_that_has_some(suffix: str, tmp_path: Path) -> None:
    form = mo.read(_diet(tmp_path))
    path = write_form(form, tmp_path / f"again{suffix}")
    again = mo.read(path)
    assert again.names() == form.names() and _rows(again) == _rows(form) and again.equals(form)


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".ptf", ".mof.json"])
def test_without_a_sidecar_the_variables_have_the_names_of_the_file(suffix: str, tmp_path: Path) -> None:
    path = write_form(mo.read(_diet(tmp_path)), tmp_path / f"again{suffix}")
    sidecar_path(path).unlink(missing_ok=True)
    again = mo.read(path)
    assert [name.replace("_", ".") for name in again.names()] == ["rice", "beans", "oil.cold"]


def test_a_conflict_speaks_in_the_names_of_the_file(tmp_path: Path) -> None:
    """With 4 of rice at most and no oil, 5 in weight need a bean; fat ≤ -1 needs less than no oil."""
    conflict = mo.solvers.conflict(mo.read(_diet(tmp_path, fat=-1.0)))
    assert "fat" in str(conflict) and "oil.cold" in str(conflict)


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, check=about("x")):
        Block("x", (3,), given_names=("a", "b"))


#: Class names with signs that formats and LaTeX treat apart, a line break, and letters beyond ASCII.
_ODD_CLASSES = ("no \\ \n\n; written by marginopt", "it's 100% é名 * # $" * 20)


def _of_odd_classes(loss: str, regulariser: str) -> mo.Margin:
    X = np.column_stack([np.ones(8), np.random.default_rng(3).normal(size=8)])
    y = np.where(np.arange(8) % 2, 1.0, -1.0)
    return mo.Margin(X, y, loss=loss, regulariser=regulariser, data_names=DataNames(("a", "b c"), _ODD_CLASSES))


@pytest.mark.parametrize(
    ("suffix", "loss", "regulariser"),
    [
        *((suffix, "hinge", "l1") for suffix in (".lp", ".mps", ".cbf", ".ptf", ".dat-s", ".nl", ".qplib", ".mof.json", ".npz")),
        (".lp", "hinge", "l2"),
        (".mps", "zero-one", "l2"),
    ],
)
def test_class_names_are_read_back_from_every_format(tmp_path: Path, suffix: str, loss: str, regulariser: str) -> None:
    model = _of_odd_classes(loss, regulariser)
    form = mo.read(model.write(tmp_path / f"odd{suffix}"))
    assert form.class_names == model.class_names == _ODD_CLASSES
    assert form.equals(model.form)
    assert str(form).splitlines()[-1] == str(model.form).splitlines()[-1] == f"  note: {model.data_names.class_note}"


@pytest.mark.parametrize(("suffix", "mark"), [(".lp", "\\"), (".mps", "*"), (".cbf", "#"), (".ptf", "    #")])
def test_comments_of_a_file_say_which_class_is_positive(tmp_path: Path, suffix: str, mark: str) -> None:
    model = _of_odd_classes("hinge", "l1")
    lines = model.write(tmp_path / f"odd{suffix}").read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix(f"{mark} ") for line in lines if line.startswith(f"{mark} ")]
    assert "".join(model.data_names.class_note.split()) in "".join("".join(comments).split())
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_other_readers_skip_the_comments_on_classes(tmp_path: Path, suffix: str) -> None:
    model = _of_odd_classes("hinge", "l1")
    path = model.write(tmp_path / f"odd{suffix}")
    expected = mo.solve(model, "highs").objective
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(expected, rel=1e-7)
    gurobipy = pytest.importorskip("gurobipy")
    with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.read(str(path), environment) as program:
        program.optimize()
        assert program.ObjVal == pytest.approx(expected, rel=1e-7)
    pyscipopt = pytest.importorskip("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.optimize()
    assert scip.getObjVal() == pytest.approx(expected, rel=1e-7)
