"""MPS, LP and NL files of others: each line is read or refused by its number, as HiGHS, SCIP and Gurobi read it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import sys
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from data import nine_points
from effort import part
from facts import at
from program_texts import MPS, NL
from programs import form_of

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import Indicator, Model, Nonnegative, RotatedSecondOrder, SecondOrder, StandardForm
from marginopt.models.export.file_formats import file_formats, read_form, write_form
from marginopt.models.export.layout import sidecar_path

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "others"))
import peer_files as peers


def _read(text: str, folder: Path, name: str = "theirs.mps") -> StandardForm:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    form = mo.read(path)
    assert isinstance(form, StandardForm)
    return form


def _data(form: StandardForm) -> dict[str, object]:
    """Every number of a program, its rows in the order of their names."""
    rows = {
        name: (*row, g, str(c.cone)[:4])
        for c in form.constraints
        for name, row, g in zip(c.names(), c.F.toarray().tolist(), c.g.tolist(), strict=True)
    }
    fields = {name: np.asarray(getattr(form, name)).tolist() for name in ("q", "r", "lower", "upper", "integer", "maximise")}
    P = None if form.quadratic is None else form.quadratic.csc.toarray().tolist()
    return fields | {"names": form.names(), "rows": dict(sorted(rows.items())), "P": P}


#: What of the text is written otherwise, and how, with the same meaning.
SAME = {
    "c1 10 c2 -3": ["c1 1.0D1 c2 -3", "c1 1d+1 c2 -3", "c1 10 c2 -3 $ litres", "c1 10 c2 -3 * litres", "c1 +10. c2 -3.0E0"],
    "RHS\n": ["RHS\n    rhs obj 0\n"],
    "    rhs c1 10 c2 -3": ["    c1 10 c2 -3", "    c1 10\n    c2 -3", "    rhs c1 10\n    rhs c2 -3\n    other c1 7",
        "    rhs c1 10 c2 -3\n    rhs c1 10"],
    "    rng c2 5": ["    c2 -5", "    rng c2 5 obj 3"],
    " UP bnd x 4": [" UP x 4", " UI bnd x 4", " UP bnd x 4\n UP other x 9",
        " LO bnd x 0\n UP bnd x 4", " UP bnd x 4\n PL bnd y", " UP bnd x 4 $ most"],
    "NAME t\n": ["", "NAME t\nOBJSENSE\n    MIN\n", "NAME t\nOBJSENSE MINIMIZE\n", "NAME t\nOBJNAME\n    obj\n",
        "NAME t\nOBJSENSE\nMIN\n", "NAME t\nOBJNAME\nobj\n",
        "NAME other words FREE\n"],
    "ENDATA\n": ["ENDATA\nPRIORITIES\n x 2\n", "SOS\nENDATA\n", "ENDATA", "QUADOBJ\nENDATA\n"],
    " N obj\n": [" N obj $ Cost\n", " N obj\n N spare\n", "* a comment\n N obj\n", "\n N obj\n"],
    " G c2\nCOLUMNS": ["LAZYCONS\n G c2\nCOLUMNS", "USERCUTS\n G c2\nCOLUMNS"],
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, spellings in SAME.items() for new in spellings])
def test_a_spelling_of_mps_says_the_same(old: str, new: str, tmp_path: Path) -> None:
    assert MPS.count(old) == 1
    assert _data(_read(MPS.replace(old, new), tmp_path)) == _data(_read(MPS, tmp_path))


#: What is put into the text, the line that is blamed, and why.


@pytest.mark.parametrize(
    ("lines", "interval"),
    [
        ("", (0.0, 1.0)), (" LO bnd x 0", (0.0, np.inf)), (" LO bnd x 2", (2.0, np.inf)), (" UP bnd x 7", (0.0, 7.0)),
        (" PL bnd x", (0.0, np.inf)), (" MI bnd x", (-np.inf, np.inf)), (" FR bnd x", (-np.inf, np.inf)),
        (" BV bnd x", (0.0, 1.0)), (" LI bnd x 2", (2.0, np.inf)), (" UP other y 1", (0.0, 1.0)),
    ],
)  # fmt: skip
def test_bounds_of_integer_columns(lines: str, interval: tuple[float, float], tmp_path: Path) -> None:
    """[0, 1] where no bound is stated, for every reader that there is."""
    form = _read(MPS.replace(" UP bnd x 4", lines), tmp_path)
    assert form.integer.tolist() == [True, False]
    assert (form.lower[0], form.upper[0]) == interval


SMOOTH = MPS.replace("    m1 'MARKER' 'INTORG'\n", "").replace("    m2 'MARKER' 'INTEND'\n", "")
ONE_SIDED = MPS.replace("RANGES\n    rng c2 5\n", "")

#: Programs with quadratic parts and indicators, which two of the three peers at least read.
JUDGED = {
    "QMATRIX.mps": SMOOTH.replace("ENDATA", "QMATRIX\n    y y 4\n    x y 1\n    y x 1\n    x x 2\nENDATA"),
    "QCMATRIX of the objective.mps": SMOOTH.replace("ENDATA", "QCMATRIX obj\n    y y 4\n    x y 1\n    y x 1\n    x x 2\nENDATA"),
    "QSECTION of the objective.mps": SMOOTH.replace("ENDATA", "QSECTION obj\n    y y 4\n    y x 1\n    x x 2\nENDATA"),
    "two entries a line.mps": SMOOTH.replace("ENDATA", "QUADOBJ\n    x x 4 y 1\n    y y 4\nENDATA"),
    "QCMATRIX.mps": MPS.replace("ENDATA", "QCMATRIX c1\n    x x 3\n    x y 1\n    y x 1\n    y y 2\nENDATA"),
    "QCMATRIX of a row from below.mps": ONE_SIDED.replace("ENDATA", "QCMATRIX c2\n    x x -3\n    y y -2\nENDATA"),
    "INDICATORS.mps": ONE_SIDED.replace("UP bnd x 4", "UP bnd x 1").replace("c2 -3", "c2 2")
    .replace("ENDATA", "INDICATORS\n IF c2 x 1\nENDATA"),
    "INDICATORS at zero.mps": ONE_SIDED.replace("UP bnd x 4", "BV bnd x").replace("c2 -3", "c2 2")
    .replace("ENDATA", "INDICATORS\n IF c2 x 0\nENDATA"),
    "a variable of the objective's squares alone.mps": SMOOTH.replace(" UP bnd x 4", " UP bnd x 4\n LO bnd v -2\n UP bnd v 3")
    .replace("ENDATA", "QUADOBJ\n    x x 2\n    y x -1\n    y y 2\n    v x 1\n    v v 2\nENDATA"),
    "row.lp": "max\n obj: x + y\nst\n c: y + [ x ^2 + x * y + 2 y ^2 ] <= 4\nend\n",
    "row from below.lp": "max\n obj: x + y\nst\n c: y + [ - x ^2 - y ^2 ] >= -4\n d: y <= 3\nend\n",
    "cone.lp": "max\n obj: x + y\nst\n c: [ x ^2 - 2 y * z ] <= 0\n d: y + z <= 3\nend\n",
    "ball.lp": "max\n obj: x + z\nst\n c: [ x ^2 + z ^2 - y ^2 ] <= 0\n d: y <= 3\nend\n",
    "indicators.lp": "max\n obj: x + 3 b + 5 d - 0.5 y\nst\n c: b = 1 -> x - y <= 4\n e: d = 0 -> x = 2\n f: x <= 10\n"
    "binary\n b d\nend\n",
    "empty rows.lp": "max\n obj: x\nst\n c1: x <= 4\n c2: = +0\n c3: >= -1\nend\n",
    "bounds and binary.lp": "max\n obj: x + 2 y - z + v\nst\n c: x + y + z + v <= 9\nbounds\n x <= 0\n y <= 5\n z >= 0.5\n"
    " v free\n"
    "binary\n x y z v\nend\n",
    "never.lp": "max\n obj: x\nst\n c: x <= 9\nbounds\n x = 0.5\nbinary\n x\nend\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def judge() -> Callable[[Path], list[peers.Outcome]]:
    """The outcomes of HiGHS, SCIP and Gurobi for a file."""
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    readers = [peers.by_highs, peers.by_scip, peers.by_gurobi]
    return lambda path: [reader(str(path), 20.0) for reader in readers]


@pytest.mark.parametrize("name", JUDGED)
def test_the_program_is_the_one_that_two_peers_read(
    name: str, judge: Callable[[Path], list[peers.Outcome]], tmp_path: Path
) -> None:
    path = tmp_path / name.replace(" ", "-")
    path.write_text(JUDGED[name], encoding="utf-8")
    shared = peers.judgement(judge(path))
    assert shared is not None and shared.kind in ("optimal", "infeasible")
    ours = peers.by_us(str(path), 20.0)
    assert ours.kind == shared.kind
    if shared.kind == "optimal":
        assert ours.value == pytest.approx(shared.value, abs=1e-5)


def test_quadratic_rows_are_cones_under_their_names(tmp_path: Path) -> None:
    for name, cone in (("row.lp", RotatedSecondOrder), ("cone.lp", RotatedSecondOrder), ("ball.lp", SecondOrder)):
        form = _read(JUDGED[name], tmp_path, name)
        assert isinstance(form.constraint("c").cone, cone)


def test_what_all_readers_refuse_but_means_one_thing(tmp_path: Path) -> None:
    """A factor before *, a quadratic part without its half."""
    starred = _read("min\n obj: 3 * x + [ 2 * x ^2 + x y ]\nst\n c: 2 * x + y >= 1\nend\n", tmp_path, "starred.lp")
    assert starred.q.tolist() == [3.0, 0.0]
    assert starred.quadratic is not None
    assert starred.quadratic.csc.toarray().tolist() == [[4.0, 1.0], [1.0, 0.0]]
    halved, whole = (
        _read(f"max\n obj: x\nst\n c: [ x ^2 + y ^2 ]{end} <= 4\nend\n", tmp_path, "half.lp") for end in (" / 2", "")
    )
    assert [round(mo.solve(form, "clarabel", tol=1e-9).objective, 5) for form in (halved, whole)] == [round(8**0.5, 5), 2.0]
    assert starred.constraint("greater").F.toarray().tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize("row", ["0 >= 3", ">= 1", "= 2", "1 <= 0 <= 2"])
def test_rows_without_terms_that_never_hold(row: str, tmp_path: Path) -> None:
    form = _read(f"max\n obj: x\nst\n c1: x <= 4\n c2: {row}\nend\n", tmp_path, "never.lp")
    assert mo.solve(form, "highs").status.name == "INFEASIBLE"


# -- indicators -----------------------------------------------------------------------------------------------------


def _switched() -> list[Model]:
    X, y = (part[:7] for part in nine_points())
    group = (X[:, 1] > 0).astype(int)
    fair = mo.Margin(X, y, "zero-one", "half-l2", intercept="free", subject_to=[mo.parity(group, 0.3), mo.error_budget(-1, 0.5)])
    return [mo.ZeroOneSVM(X, y, lam=0.7, encoding="indicator"), mo.RampSVM(X, y, encoding="indicator"), fair]


SWITCHED = _switched()


@cache
def _optimum(k: int) -> float:
    return mo.solve(SWITCHED[k].form, "scip", tol=1e-8).objective


@pytest.mark.parametrize(("k", "suffix"), part(product(range(len(SWITCHED)), (".lp", ".mps")), 1, kind=lambda cell: cell[0]))
def test_indicators_go_through_files(suffix: str, k: int, tmp_path: Path) -> None:
    """The file reads back to an equal form; without its sidecar, and by Gurobi and SCIP, it has the same optimum."""
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    model, optimum = SWITCHED[k], _optimum(k)
    path = model.write(tmp_path / f"model{suffix}")
    assert any(isinstance(c.cone, Indicator) for c in model.form.constraints)
    assert model.form.diff(read_form(path)).empty
    sidecar_path(path).unlink()
    plain = read_form(path)
    assert isinstance(plain.constraint("switched").cone, Indicator)
    assert mo.solve(plain, "scip", tol=1e-8).objective == pytest.approx(optimum, abs=1e-5)
    for by in (peers.by_scip, peers.by_gurobi):
        assert by(str(path), 30.0).value == pytest.approx(optimum, abs=1e-5)
    again = write_form(plain, tmp_path / f"again{suffix}")
    assert plain.diff(read_form(again)).empty


def test_both_sides_of_a_switched_row(tmp_path: Path) -> None:
    form = _read("max\n obj: x\nst\n c: b = 1 -> x - y = 4\nbinary\n b\nend\n", tmp_path, "both.lp")
    switched = form.constraint("switched")
    assert switched.names() == ["c (switch)", "c", "c (other side) (switch)", "c (other side)"]
    assert form.names() == ["x", "b", "y"]
    assert switched.F.toarray().tolist() == [[0, -1, 0], [1, 0, -1], [0, -1, 0], [-1, 0, 1]]
    assert switched.g.tolist() == [1.0, -4.0, 1.0, 4.0]


# -- sidecars and compressed files ----------------------------------------------------------------------------------


def _hinge() -> mo.HingeSVM:
    return mo.HingeSVM(*nine_points(), lam=0.7)


def _carried(suffix: str) -> StandardForm:
    """A program of the richest kind that the format carries: quadratic, conic, or linear."""
    carries = {feature.name for feature in file_formats()[suffix].carries}
    if "QUADRATIC" in carries:
        return _hinge().form
    if "ROTATED" in carries:
        return mo.ConicSVM(*nine_points(), lam=0.7).form
    X, y = nine_points()
    return mo.Margin(X, y, "hinge", "l1", intercept="free").form


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_a_file_that_was_saved_again_has_its_labels_in_any_order(suffix: str, tmp_path: Path) -> None:
    """HiGHS writes the columns in another order."""
    import highspy

    path = _hinge().write(tmp_path / f"model{suffix}")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.writeModel(str(path))
    before, after = mo.solve(_hinge(), "clarabel"), mo.solve(read_form(path), "clarabel")
    for label, value in before.values.items():
        np.testing.assert_allclose(after.values[label], value, atol=1e-5)
    text = path.read_text(encoding="utf-8").replace("w_0", "weight_0")
    path.write_text(text, encoding="utf-8")
    assert [b.label for b in read_form(path).blocks] == ["x"]
    assert "weight_0" in read_form(path).names()


@pytest.mark.parametrize("suffix", sorted(set(file_formats()) - {".npz", ".mof.json"}))
def test_a_sidecar_says_nothing_of_another_text(suffix: str, tmp_path: Path) -> None:
    """Another program takes the name: it is read as it is without any sidecar, and its own sidecar is no hindrance."""
    model = _carried(suffix)
    other = model.replace(q=model.q[::-1] + 1.0, name="other")
    if suffix in (".lp", ".mps", ".ptf"):  # the names are in the file
        other = StandardForm(
            "other", (mo.models.Block("apples", (model.n,)),), model.q, (), model.lower, model.upper, model.integer
        )
    path, alone = write_form(model, tmp_path / f"model{suffix}"), write_form(other, tmp_path / f"alone{suffix}")
    names_file = sidecar_path(alone)
    content = names_file.read_text(encoding="utf-8")
    names_file.unlink()
    for beside in (".col", ".row"):
        alone.with_suffix(beside).unlink(missing_ok=True)
    path.write_bytes(alone.read_bytes())
    assert _data(read_form(path)) == _data(read_form(alone))
    sidecar_path(path).write_text(content, encoding="utf-8")
    assert read_form(path).equals(other)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("suffix", sorted(file_formats()))
def test_every_format_is_read_compressed(suffix: str, ending: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    form = _carried(suffix)
    path = write_form(form, tmp_path / f"model{suffix}")
    packed = path.with_name(path.name + ending)
    packed.write_bytes(pack(path.read_bytes()))
    assert mo.read(packed).equals(form)  # with the sidecar of the plain file
    packed.write_bytes(pack(path.read_bytes())[:40])
    with pytest.raises(DataError, check=at(packed)):
        mo.read(packed)


# -- NL -------------------------------------------------------------------------------------------------------------

#: min x² + y over x² + xy + y² ≤ 3, x + y ≥ 1, y integer, with two suffixes.


def test_nl_suffixes_and_quadratic_rows(tmp_path: Path) -> None:
    form = _read(NL, tmp_path, "theirs.nl")
    assert isinstance(form.constraint("c0").cone, RotatedSecondOrder)
    assert form.integer.tolist() == [False, True]
    path = tmp_path / "theirs.nl"
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    theirs = peers.by_scip(str(path), 20.0)
    assert mo.solve(form, "scip", tol=1e-8).objective == pytest.approx(theirs.value, abs=1e-5)
    assert math.isfinite(theirs.value)


def test_common_expressions_of_nl_stand_for_what_they_define(tmp_path: Path) -> None:
    """V2 = 2x + y², V3 = V2 - 1: in a row and in the objective the same as written out."""
    head = NL.replace(" 0 0 0 0 0\nS0", " 1 1 0 0 0\nS0")
    assert head != NL
    common = head.replace("C1\nn0\n", "C1\nn0\nV2 1 0\n0 2\no5\nv1\nn2\nV3 1 0\n2 1\nn-1\n")
    plain = NL.replace("O0 0\no5\nv0\nn2\n", "O0 0\no54\n4\no5\nv0\nn2\no2\nn2\nv0\no5\nv1\nn2\nn-1\n")
    named = common.replace("O0 0\no5\nv0\nn2\n", "O0 0\no0\no5\nv0\nn2\nv3\n")
    assert _data(_read(named, tmp_path, "named.nl")) == _data(_read(plain, tmp_path, "plain.nl"))
    for wrong in (named.replace("V3", "V2"), named.replace("V2 1 0", "V1 1 0"), named.replace("\nv3\n", "\nv4\n")):
        with pytest.raises(DataError, check=at("wrong.nl", None)):
            _read(wrong, tmp_path, "wrong.nl")


# -- numbers --------------------------------------------------------------------------------------------------------

#: Formats whose writers may be FORTRAN programs, and those of integers and cones beside them.
_FORMATS_OF_NUMBERS = (".mps", ".dat-s", ".cbf", ".nl", ".qplib")


def _with_number(suffix: str, spelling: str, folder: Path) -> tuple[Path, int]:
    """Write min 1234.5 x - y over the unit box with a number spelt otherwise; return the file and the number's line."""
    form = form_of([1234.5, -1.0], [("row", np.ones((1, 2)), [1.0], Nonnegative(1))], lower=np.zeros(2), upper=np.ones(2))
    path = write_form(form, folder / f"box{suffix}")
    for beside in (sidecar_path(path), path.with_suffix(".col"), path.with_suffix(".row")):
        beside.unlink(missing_ok=True)
    text = path.read_text(encoding="utf-8")
    assert text.count("1234.5") == 1
    path.write_text(text.replace("1234.5", spelling), encoding="utf-8")
    return path, text[: text.index("1234.5")].count("\n") + 1


@pytest.mark.parametrize("spelling", ["1.2345D3", "+12345d-1", "1234.5E+00", "001234.50"])
@pytest.mark.parametrize("suffix", _FORMATS_OF_NUMBERS)
def test_exponents_of_fortran_are_read(suffix: str, spelling: str, tmp_path: Path) -> None:
    form = mo.read(_with_number(suffix, spelling, tmp_path)[0])
    assert isinstance(form, StandardForm)
    assert form.q.tolist() == [1234.5, -1.0]


@pytest.mark.parametrize("spelling", ["nan", "1_234.5", "0x1p3", "1234.5x", "١٢٣", "1e999", "inf", "1.2345D", "--1"])
@pytest.mark.parametrize("suffix", _FORMATS_OF_NUMBERS)
def test_what_is_no_number_is_refused_by_its_line(suffix: str, spelling: str, tmp_path: Path) -> None:
    path, line = _with_number(suffix, spelling, tmp_path)
    with pytest.raises(DataError, check=at(path, line)):
        mo.read(path)
