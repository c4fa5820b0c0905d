"""The standard form: sizes, names, values by label, new forms that share arrays, bad forms."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about

from marginopt.errors import InputError, TooLargeError
from marginopt.models.kernels.gram import MatrixGram
from marginopt.models.model import as_model
from marginopt.models.program.cones import PSD, Feature, Nonnegative, RotatedSecondOrder, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic


def small(**changes: object) -> StandardForm:
    """min ½||x||² + t over x in R², t in {0, 1}, symmetric S of order 2."""
    n = 6
    fields: dict[str, object] = {
        "name": "small",
        "blocks": (Block("x", (2,)), Block("t", ()), Block("S", (2, 2), symmetric=True)),
        "q": np.array([0.0, 0, 1, 0, 0, 0]),
        "constraints": (
            Constraint("rows", sp.csr_array(np.eye(n)[:2]), np.ones(2), Nonnegative(2)),
            Constraint("cone", sp.csr_array(np.eye(n)[:3]), np.zeros(3), RotatedSecondOrder(3)),
            Constraint("semi", sp.csr_array(np.eye(n)[3:]), np.zeros(3), PSD.of_order(2)),
        ),
        "lower": np.array([-np.inf, -np.inf, 0, -np.inf, -np.inf, -np.inf]),
        "upper": np.array([np.inf, np.inf, 1, np.inf, np.inf, np.inf]),
        "integer": np.arange(n) == 2,
        "quadratic": Quadratic(matrix=np.diag([1.0, 1, 0, 0, 0, 0])),
        "r": 0.5,
    }
    return StandardForm(**{**fields, **changes})  # type: ignore[arg-type]


def test_sizes_names_features() -> None:
    form = small()
    assert (form.n, form.rows, form.has_bounds) == (6, 8, True)
    assert form.names() == ["x[0]", "x[1]", "t", "S[0,0]", "S[0,1]", "S[1,1]"]
    assert form.features == {Feature.QUADRATIC, Feature.ROTATED, Feature.PSD, Feature.INTEGER}
    assert form.constraint("rows").names() == ["rows[0]", "rows[1]"]
    assert form.constraint("cone").names() == ["cone[0]", "cone[1]", "cone[2]"]
    assert Constraint("c", sp.csr_array((4, 1)), np.zeros(4), RotatedSecondOrder(2, 2)).names() == [
        "c[0,0]",
        "c[0,1]",
        "c[1,0]",
        "c[1,1]",
    ]
    assert Constraint("c", sp.csr_array((1, 1)), np.zeros(1), Zero(1)).names() == ["c"]
    assert Block("B", (2, 2)).names() == ["B[0,0]", "B[0,1]", "B[1,0]", "B[1,1]"]
    assert form.bytes >= 6 * 8 * 3
    with pytest.raises(InputError, check=about("row")):
        form.constraint("row")


def test_values_by_label_both_ways() -> None:
    form = small()
    x = np.array([1.0, 2, 1, 4, np.sqrt(2.0) * 5, 6])
    values = form.split(x)
    np.testing.assert_allclose(values["S"], [[4, 5], [5, 6]])
    assert values["t"].shape == ()
    np.testing.assert_allclose(form.join(values), x)
    assert form.objective(x) == pytest.approx(0.5 * 5 + 1 + 0.5)
    np.testing.assert_allclose(form.gradient(x), [1, 2, 1, 0, 0, 0])
    with pytest.raises(InputError, check=about("values")):
        form.join({"x": np.zeros(2)})
    with pytest.raises(InputError, check=about("x")):
        form.join({**values, "x": np.zeros(3)})


def test_new_forms_share_arrays_and_leave_the_old_one_alone() -> None:
    form = small()
    other = form.replace(r=2.0)
    assert other.q is form.q
    assert other.constraints is form.constraints
    assert form.r == 0.5
    relaxed = form.relax_integrality()
    assert Feature.INTEGER not in relaxed.features
    assert form.integer.any()
    bounded = form.with_bounds(np.zeros(6), np.ones(6))
    assert np.isinf(form.lower).any()
    assert (bounded.upper == 1).all()
    for array in (form.q, form.lower, form.upper, form.integer, form.constraints[0].g):
        assert not array.flags.writeable


def test_rows_matrix() -> None:
    form = small()
    F, g = form.rows_matrix()
    assert F.shape == (8, 6)
    F, g = form.rows_matrix(["semi", "rows"])
    np.testing.assert_array_equal(g, [0, 0, 0, 1, 1])
    F, g = form.replace(constraints=()).rows_matrix()
    assert (F.shape, g.shape) == ((0, 6), (0,))


@pytest.mark.parametrize("sparse", [False, True])
def test_quadratic_in_all_its_shapes(sparse: bool) -> None:
    R = np.array([[1.0, 0, 2], [0, 3, 0]])
    P = R.T @ R
    x = np.array([1.0, -1, 2])
    shapes = [
        Quadratic(matrix=sp.csc_array(P) if sparse else P),
        Quadratic(factor=sp.csr_array(R) if sparse else R),
        Quadratic(operator=MatrixGram(P)),
    ]
    for quadratic in shapes:
        assert quadratic.n == 3
        np.testing.assert_allclose(quadratic.product(x), P @ x)
        np.testing.assert_allclose(quadratic.csc.toarray(), P)
        assert quadratic.csc.has_sorted_indices
        np.testing.assert_array_equal(quadratic.upper.toarray(), np.triu(quadratic.csc.toarray()))
        np.testing.assert_array_equal(quadratic.lower.toarray(), np.tril(quadratic.csc.toarray()))
        assert (quadratic.column_count_bounds >= np.diff(quadratic.csc.indptr)).all()


def test_triangles_of_a_dense_p_without_zeros() -> None:
    R = np.random.default_rng(0).normal(size=(7, 7))
    quadratic = Quadratic(matrix=R + R.T)
    for computed, expected in ((quadratic.upper, np.triu(R + R.T)), (quadratic.lower, np.tril(R + R.T))):
        assert computed.has_canonical_format
        np.testing.assert_array_equal(computed.toarray(), expected)


def test_reading_p_as_csc_leaves_the_given_matrix_alone() -> None:
    P = sp.csc_array((np.array([0.0, 2, 0, 2]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    for array in (P.data, P.indices, P.indptr):
        array.flags.writeable = False
    assert Quadratic(matrix=P).csc.nnz == 2
    assert P.nnz == 4


def test_too_large_says_how_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1000")
    with pytest.raises(TooLargeError, check=about("X")):
        _ = Quadratic(operator=MatrixGram(np.eye(20))).materialised
    for text in ("much", "inf"):
        monkeypatch.setenv("MARGINOPT_MAX_BYTES", text)
        with pytest.raises(InputError, check=about("MARGINOPT_MAX_BYTES")):
            _ = Quadratic(operator=MatrixGram(np.eye(20))).materialised


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"q": np.zeros(5)}, "q"),
        ({"q": np.full(6, np.nan)}, "q"),
        ({"r": np.inf}, "q"),
        ({"lower": np.full(6, np.nan)}, "q"),
        ({"integer": np.zeros(2, dtype=bool)}, "integer"),
        ({"quadratic": Quadratic(matrix=np.eye(2))}, "P"),
        ({"blocks": (Block("x", (3,)), Block("x", (3,)))}, "labels"),
        (
            {"constraints": (Constraint("narrow", sp.csr_array((1, 2)), np.zeros(1), Zero(1)),)},
            "F",
        ),
    ],
)
def test_bad_forms(changes: dict[str, object], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        small(**changes)


def test_bad_pieces() -> None:
    with pytest.raises(InputError, check=about("F")):
        Constraint("c", sp.csr_array((2, 3)), np.zeros(2), Zero(3))
    with pytest.raises(InputError, check=about("F")):
        Constraint("c", sp.csr_array(np.array([[np.nan]])), np.zeros(1), Zero(1))
    with pytest.raises(InputError, check=about("matrix")):
        Quadratic()
    with pytest.raises(InputError, check=about("matrix")):
        Quadratic(matrix=np.eye(2), factor=np.eye(2))
    with pytest.raises(InputError, check=about("P")):
        Quadratic(matrix=np.array([[1.0, 1], [0, 1]]))
    with pytest.raises(InputError, check=about("P")):
        Quadratic(matrix=np.ones((2, 3)))


def test_integers_given_as_numbers_become_a_mask() -> None:
    assert small(integer=np.array([0, 0, 1, 0, 0, 0])).integer.dtype == bool


def test_forms_travel_between_processes() -> None:
    form = small()
    again = pickle.loads(pickle.dumps(form))
    assert again.equals(form)
    assert again.slices == form.slices


@pytest.mark.parametrize("zero", [False, True])
def test_a_dense_p_by_column_is_scipy_s(zero: bool) -> None:
    """Where no entry is zero the columns are written down without a search: the same entry by entry, and on both sides."""
    P = np.random.default_rng(0).uniform(1.0, 2.0, (7, 7))
    P = 0.5 * (P + P.T)
    P[0, 3] = np.nextafter(P[3, 0], 0.0)
    if zero:
        P[2, 5] = P[5, 2] = 0.0
    computed, expected = Quadratic(matrix=P).csc, sp.csc_array(P)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(computed, part), getattr(expected, part))
        assert getattr(computed, part).dtype == getattr(expected, part).dtype


@pytest.mark.parametrize("storage", ["matrix", "sparse matrix", "factor", "sparse factor", "operator"])
def test_quadratic_terms_that_cancel_are_evaluated_beyond_the_rounding_of_their_terms(storage: str) -> None:
    """R'R of integers up to 2^20 is exact, and R x at a rounded null vector of R is 1e-16 of its terms."""
    rng = np.random.default_rng(3)
    rows = rng.integers(-(2**20), 2**20, size=(2, 5)).astype(np.float64)
    null = np.linalg.svd(rows)[2][-1]
    P = rows.T @ rows
    stored = {
        "matrix": Quadratic(matrix=P),
        "sparse matrix": Quadratic(matrix=sp.csc_array(P)),
        "factor": Quadratic(factor=rows),
        "sparse factor": Quadratic(factor=sp.csr_array(rows)),
        "operator": Quadratic(operator=MatrixGram(P)),
    }[storage]
    exact = [sum((Fraction(p) * Fraction(v) for p, v in zip(row, null.tolist(), strict=True)), Fraction(0)) for row in P.tolist()]
    square = sum((Fraction(v) * e for v, e in zip(null.tolist(), exact, strict=True)), Fraction(0))
    value, error = stored.rounded_product(null)
    assert all(abs(Fraction(v) - e) <= Fraction(t) for v, t, e in zip(value.tolist(), error.tolist(), exact, strict=True))
    assert (error <= 1e-4 * stored.product_error(null)).all()
    rounded = stored.evaluate(null)
    assert abs(Fraction(rounded.value) - square) <= Fraction(rounded.error)


def test_the_statement_of_a_form_that_maximises_has_its_own_sign() -> None:
    model = as_model(small(maximise=True))
    assert (
        model.statement.sense == "maximise"
        and model.statement.objective.text == "-(" + as_model(small()).statement.objective.text + ")"
    )
