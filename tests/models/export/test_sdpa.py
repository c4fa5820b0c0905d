"""SDPA sparse files: reading with the format's freedoms, refusals with a line, writing; the same optimum through CBF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from facts import at
from hypothesis import HealthCheck, given, settings, strategies as st

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import PSD, Block, Constraint, Nonnegative, StandardForm, Zero
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.models.export.layout import sidecar_path
from marginopt.models.model import BareForm
from marginopt.models.program.cones import smat, svec
from marginopt.models.program.lagrangian import dual_bound_value
from marginopt.solvers import Answer, Options, Status
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge

#: min 10 x1 + 20 x2 over x1 F1 + x2 F2 - F0 in two blocks of order 2.
PLAIN = """"A sample problem"
* two comments
2 = mDIM
2 = nBLOCK
(2, {2}) = bLOCKsTRUCT
{10.0, 20.0}
0 1 1 1 1.0
0 1 2 2 2.0
0 2 1 1 3.0
0 2 2 2 4.0
1 1 1 1 1.0
1 1 2 2 1.0

2 1 2 2 1.0
2 2 1 1 5.0
2 2 1 2 2.0
2 2 2 2 6.0
"""


def put(folder: Path, text: str, name: str = "a.dat-s") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def matrices(form: StandardForm, x: np.ndarray) -> list[np.ndarray]:
    """The matrices of the semidefinite blocks and diagonals at a point."""
    return [smat(c.F @ x + c.g) if isinstance(c.cone, PSD) else np.diag(c.F @ x + c.g) for c in form.constraints]


def test_a_sample_problem_has_its_matrices_and_optimum(tmp_path: Path) -> None:
    form = read_form(put(tmp_path, PLAIN))
    first, second = matrices(form, np.array([1.0, 1.0]))
    np.testing.assert_allclose(first, [[0.0, 0.0], [0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(second, [[2.0, 2.0], [2.0, 2.0]])
    np.testing.assert_array_equal(form.q, [10.0, 20.0])
    assert mo.solve(form, "clarabel").objective == pytest.approx(30.0, abs=1e-5)
    assert np.isinf(form.lower).all() and np.isinf(form.upper).all() and not form.integer.any()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 2 1 2 2.0", "2 2 2 1 2.0"),
        ("2 2 1 2 2.0", "{2, 2, 1, 2}, +2.0e0"),
        ("(2, {2}) = bLOCKsTRUCT", "2\n2"),
        ("{10.0, 20.0}", "10\n+2.0E+01"),
        ("\n", "\r\n"),
        ("\n", "\r"),
    ],
)
def test_freedoms_of_the_format(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "a.dat-s"
    path.write_bytes(PLAIN.replace(old, new).encode())
    assert read_form(path).equals(read_form(put(tmp_path, PLAIN, "b.sdpa")))


def test_negative_sizes_are_diagonal_blocks(tmp_path: Path) -> None:
    """min 2 x1 + x2, x1 ≥ 1, x1 + x2 ≥ 3, -x2 ≥ -4: both linear blocks and a semidefinite one of order 1."""
    text = "2\n2\n-2 1\n2 1\n0 1 1 1 1\n1 1 1 1 1\n0 1 2 2 3\n1 1 2 2 1\n2 1 2 2 1\n0 2 1 1 -4\n2 2 1 1 -1\n"
    form = read_form(put(tmp_path, text))
    assert [c.cone for c in form.constraints] == [Nonnegative(2), Nonnegative(1)]
    np.testing.assert_array_equal(form.constraints[0].g, [-1.0, -3.0])
    assert mo.solve(form, "highs").objective == pytest.approx(4.0)
    whole = read_form(put(tmp_path, text.replace("0 1 1 1 1\n", "0 1 1 1 1.5\n") + "*INTEGER\n*1\n*2\n", "i.dat-s"))
    np.testing.assert_array_equal(whole.integer, [True, True])
    assert mo.solve(whole, "highs").objective == pytest.approx(5.0)
    assert mo.solve(whole.relax_integrality(), "highs").objective == pytest.approx(4.5)


_HEAD = "2\n2\n2 -2\n1 1\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("2\n3\n2 2\n1.0 2.0\n", 4),
        ("x\n", 1),
        ("2 3\n", 1),
        ("1\n1\n0\n1\n", 3),
        ("1\n1\n2 2\n1\n", 3),
        ("2\n1\n2\n1 x 2\n", 4),
        (_HEAD + "1 2 1 2 1\n", 5),
        (_HEAD + "3 1 1 1 1\n", 5),
        (_HEAD + "1 3 1 1 1\n", 5),
        (_HEAD + "1 1 3 1 1\n", 5),
        (_HEAD + "1 1 0 1 1\n", 5),
        (_HEAD + "1 1 1 1\n", 5),
        (_HEAD + "1 1 1 1 1 1\n", 5),
        (_HEAD + "1 1 1 1 nan\n", 5),
        (_HEAD + "1 1 1.0 1 1\n", 5),
        (_HEAD + "1 1 1 2 1\n1 1 2 1 1\n", 6),
        (_HEAD + "1 1 1 1 1\n1 1 1 1 1\n", 6),
        (_HEAD + "1 1 1 1 1\n*INTEGER\nx\n", 7),
        (_HEAD + "1 1 1 1 1\n*INTEGER\n*3\n", 7),
        (_HEAD + "1 1 1 1 1\n*RANK1\n*1\n", 6),
    ],
)
def test_refused_with_a_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(DataError, check=at("a.dat-s", line)):
        read_form(put(tmp_path, text))


def drawn(rng: np.random.Generator, integers: bool) -> StandardForm:
    """A bounded form with equalities, inequalities and stacks of matrices; 0 is in the interior of what is not an equality."""
    n, order, count = int(rng.integers(1, 4)), int(rng.integers(2, 4)), int(rng.integers(1, 3))
    dim = PSD.of_order(order).dim
    equal = Constraint("even", sp.csr_array(rng.normal(size=(1, n))), np.zeros(1), Zero(1))
    rows = Constraint("rows", sp.csr_array(rng.normal(size=(2, n))), np.ones(2), Nonnegative(2))
    unit = np.tile([1.0 if i == j else 0.0 for j in range(order) for i in range(j + 1)], count)
    matrix = Constraint("matrix", sp.csr_array(rng.normal(size=(dim * count, n))), unit, PSD(dim, count))
    bounds = np.where(rng.random(n) < 0.5, -2.0, -3.5)
    return StandardForm(
        "drawn", (Block("u", (n,)),), rng.normal(size=n), (rows, matrix, equal), bounds, -bounds, np.full(n, integers)
    )  # fmt: skip


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([".dat-s", ".sdpa"]))
def test_written_files_read_back_equal_and_mean_the_same_without_the_sidecar(
    tmp_path: Path, seed: int, integers: bool, suffix: str
) -> None:
    rng = np.random.default_rng(seed)
    form = drawn(rng, integers)
    path = write_form(form, tmp_path / f"a{suffix}")
    assert form.equals(read_form(path))
    sidecar_path(path).unlink()
    bare = read_form(path)
    assert (bare.integer == form.integer).all()
    for x in rng.normal(size=(20, form.n)) * 0.5:
        assert bare.objective(x) == pytest.approx(form.objective(x))
        outside = max((c.cone.violation(c.F @ x + c.g) for c in form.constraints), default=0.0)
        again = max((c.cone.violation(c.F @ x + c.g) for c in bare.constraints), default=0.0)
        assert (outside > 1e-9) == (again > 1e-9)
    if not integers:
        assert mo.solve(bare, "clarabel").objective == pytest.approx(mo.solve(form, "clarabel").objective, abs=1e-5)


def test_a_constant_of_the_objective_reaches_other_readers(tmp_path: Path) -> None:
    """It is the cost of a variable that is fixed at 1, and a constant again where the sidecar says so."""
    form = drawn(np.random.default_rng(0), False).replace(r=1.5)
    path = write_form(form, tmp_path / "a.dat-s")
    assert form.equals(read_form(path))
    sidecar_path(path).unlink()
    bare = read_form(path)
    assert bare.n == form.n + 1 and bare.r == 0.0
    assert mo.solve(bare, "clarabel").objective == pytest.approx(mo.solve(form, "clarabel").objective, abs=1e-5)


def test_multipliers_on_a_face_prove_an_optimum_that_the_solver_misses(tmp_path: Path) -> None:
    """min x1 over ((x1, x2), (x2, 1)) ⪰ 0: Y = e1 e1' alone is feasible in the dual, which has no strict interior."""
    form = read_form(put(tmp_path, "2\n1\n2\n1 0\n1 1 1 1 1\n2 1 1 2 1\n0 1 2 2 -1\n"))
    computed = {form.constraints[0].label: np.array([1.0 + 1e-9, 2e-10, 3e-9])}
    exact = {form.constraints[0].label: np.array([1.0, 0.0, 0.0])}
    assert dual_bound_value(form, None, exact) == 0.0
    answer = Answer(Status.OPTIMAL, multipliers=computed, values={"x": np.array([1e-5, 0.0])}, objective=1e-5, bound=1e-5)
    result = judge(BareForm(form), Clarabel(), answer, Options(), OPEN_LICENCE)
    assert result.status is Status.OPTIMAL and abs(result.objective) < 1e-10
    assert result.bound is not None and -1e-10 < result.bound <= result.objective and result.bound_kind == "proved"


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_multipliers_keep_their_rows_of_zeros(zeros: int) -> None:
    rng = np.random.default_rng(zeros)
    half = rng.normal(size=(4, 2))
    half[:zeros] = 0.0
    inside = smat(PSD.of_order(4).moved_into_dual(svec(half @ half.T)))
    assert not inside[:zeros].any() and (np.linalg.eigvalsh(inside[zeros:, zeros:]) > 0.0).all()
    diagonal = svec(np.diag([0.0, 2.0, 0.5, 0.0]))
    np.testing.assert_array_equal(PSD.of_order(4).moved_into_dual(diagonal), diagonal)
