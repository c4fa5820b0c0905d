"""Pairs of points that a box excludes: valid, paid once, as many as possible."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from marginopt.solvers.exact.loops.matching import WIDEST, empty_match_arrays
from marginopt.solvers.zero_one.loops import box_pairs, entry
from marginopt.solvers.zero_one.loops.box_records import FREE, KEPT, VIOLATED, BoxData, empty_workspace


def case(seed, n=90, p=4, half=0.6, weighted=False):
    """Rows y·(1, x), a small box around a w of some length."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    rows = y[:, None] * np.column_stack([np.ones(n), rng.standard_normal((n, p - 1))])
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    w = 2.0 * rng.standard_normal(p)
    width = half * rng.uniform(0.2, 1.0, p)
    data = BoxData(rows, weights, np.linalg.norm(rows, axis=1), y > 0, False, 1.0, 0.0)
    return data, w - width, w + width, w


@entry
def paired(data, node, m, relaxation, pairs):
    return box_pairs.pack_pairs(data, node, m, relaxation, pairs)


@entry
def edged(G, rows, columns, most, env, half, pairs):
    box_pairs.set_exclusion_edges(G, rows, columns, most, env, half, pairs)


@entry
def sorted_by(key, m, order, pairs):
    box_pairs.sort_by_decreasing_key(key, m, order, pairs)


def pack_pairs(data, lo, hi, w, z=None):
    n, p = data.rows.shape
    z = np.full(n, FREE) if z is None else z
    l = np.minimum(data.rows * lo, data.rows * hi).sum(axis=1)
    node, relaxation, room, _ = empty_workspace(n, p)
    vector = {"lo": lo, "hi": hi, "w": w, "idx": np.arange(n), "z": z, "l": l, "G": data.rows.T}
    for name, values in vector.items():
        getattr(node, name)[:] = values
    total, count = paired(data, node, n, relaxation, room)
    z[:] = node.z
    return total, room.points[:count].copy(), room.price[:count].copy(), relaxation.left.copy(), z


def greatest(data, lo, hi, i, j):
    d = data.rows[i] + data.rows[j]
    return np.maximum(d * lo, d * hi).sum(axis=-1)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_excluded_by_the_box_and_paid_once(weighted):
    met = 0
    for seed in range(30):
        data, lo, hi, w = case(seed, half=0.3 + 0.05 * (seed % 10), weighted=weighted)
        total, pairs, price, left, z = pack_pairs(data, lo, hi, w)
        met += len(pairs)
        assert (z == FREE).all()
        assert (greatest(data, lo, hi, pairs[:, 0], pairs[:, 1]) < 2.0).all()
        assert (data.positive[pairs[:, 0]] != data.positive[pairs[:, 1]]).all()
        spent = np.bincount(pairs.ravel(), np.repeat(price, 2), len(left))
        assert (spent + left <= data.weights).all() and spent + left == pytest.approx(data.weights)
        assert total == pytest.approx(price.sum())
    assert met > 300


@pytest.mark.parametrize("scale", [1e-40, 1e-12, 1e-4, 1.0, 1e6, 1e30, 1e150])
def test_pairs_at_the_edge_of_rounding_are_excluded_exactly(scale):
    """A lattice: the largest sums of many pairs are 2 but for the last digits, features of any scale. In rational arithmetic."""
    count = wrong = ties = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        unit = scale ** rng.integers(0, 2, 3).astype(float)
        w, width = rng.integers(-9, 10, 3) / 10.0 + 0.01, np.array([1.0, 2.0, 3.0]) * [0.1, 1e-3][seed % 2]
        slopes = rng.integers(-3, 4, (40, 3)) / 3.0
        slopes[:, 0] = (1.0 + rng.integers(-12, 1, 40) * width[0] / 3.0 - slopes[:, 1:] @ w[1:]) / w[0]  # g_i'w = 1 - k·width/3
        data = BoxData(slopes * unit, np.ones(40), np.linalg.norm(slopes * unit, axis=1), np.arange(40) < 20, False, 1.0, 0.0)
        lo, hi = (w - width) / unit, (w + width) / unit
        lo[0] = hi[0] = w[0] / unit[0]  # so that the other two coordinates alone decide, in steps of width/3
        one, other = np.arange(20), np.arange(20, 40)
        ties += int((abs(greatest(data, lo, hi, other[:, None], one[None, :]) - 2.0) < 1e-12).sum())
        low, high = [Fraction(x) for x in lo], [Fraction(x) for x in hi]
        for i, j in pack_pairs(data, lo, hi, w / unit)[1]:
            count += 1
            d = [Fraction(a) + Fraction(b) for a, b in zip(data.rows[i], data.rows[j], strict=True)]
            wrong += sum(max(x * a, x * b) for x, a, b in zip(d, low, high, strict=True)) >= 2
    assert wrong == 0 and count > 100 and ties > 500, (wrong, count, ties)


def test_margins_beyond_single_precision_exclude_every_column_and_none_beyond_the_last():
    room, half = empty_match_arrays(80, 2), np.array([1e-3, 1e-3])
    most = np.concatenate([[-1e40, -1e35, 1e40], np.zeros(70)])
    edged(np.ones((2, 73)), np.arange(3), np.arange(3, 73), most, np.zeros(73), half, room)
    met = [sum(int(word) << (64 * q) for q, word in enumerate(row)) for row in room.adjacent[:3, :2]]
    assert met == [2**70 - 1, 2**70 - 1, 0]


@pytest.mark.parametrize("spread", [1e-9, 1.0, 1e12])
@pytest.mark.parametrize("m", [0, 1, 2, 300])
def test_positions_come_by_falling_margin(spread, m):
    key = 1.0 + spread * np.random.default_rng(m).standard_normal(300)
    key[::3] = key[0]  # equal ones keep their order
    key[1:20:4] *= -1e290
    order = np.full(300, -1)
    sorted_by(key, m, order, empty_match_arrays(300, 2))
    assert order[:m].tolist() == np.argsort(-key[:m], kind="stable").tolist()
    assert (order[m:] == -1).all()


def test_as_many_as_any_matching():
    """Against SciPy's maximum matching in the graph of the pairs that are worth it."""
    counts = []
    for seed in range(30):
        data, lo, hi, w = case(seed, n=150, half=0.3 + 0.05 * (seed % 10))
        _, pairs, _, _, _ = pack_pairs(data, lo, hi, w)
        u = data.rows @ w
        env = np.maximum(1 - u, 0) / np.maximum(1 - np.minimum(data.rows * lo, data.rows * hi).sum(axis=1), 1e-9)
        one, other = np.flatnonzero(data.positive), np.flatnonzero(~data.positive)
        edge = greatest(data, lo, hi, one[:, None], other[None, :]) < 2.0 - 1e-12
        edge &= env[one][:, None] + env[other][None, :] < 1.0
        counts.append(len(pairs))
        assert len(pairs) == (maximum_bipartite_matching(csr_array(edge), perm_type="column") >= 0).sum()
    assert max(counts) > 30 and min(counts) < max(counts)


def test_kept_points_exclude_others():
    excluded = emptied = 0
    for seed in range(40):
        data, lo, hi, w = case(seed, half=0.3)
        z = np.full(len(data.weights), FREE)
        kept_at_w = data.rows @ w >= 1.0
        z[np.arange(len(z)) % 7 == seed % 7 if seed % 2 else kept_at_w & (np.arange(len(z)) % 3 == 0)] = KEPT
        before = z.copy()
        total, pairs, price, left, z = pack_pairs(data, lo, hi, w, z)
        mask = before == KEPT
        if total == np.inf:
            emptied += 1
            assert mask[pairs[0]].all() and greatest(data, lo, hi, *pairs[0]) < 2.0
            continue
        gone = np.flatnonzero((before == FREE) & (z == VIOLATED))
        excluded += gone.size
        for point in gone:
            assert (greatest(data, lo, hi, np.full(mask.sum(), point), np.flatnonzero(mask)) < 2.0).any()
        assert (z[mask] == KEPT).all() and (left[gone] == 0.0).all() and (left[mask] == 0.0).all()
        assert total == pytest.approx(price.sum())
    assert excluded > 5 and emptied > 5


def test_the_packing_is_a_lower_bound_of_the_violations_in_the_box():
    for seed in range(20):
        data, lo, hi, w = case(seed, half=0.5, weighted=bool(seed % 2))
        total, *_ = pack_pairs(data, lo, hi, w)
        points = np.random.default_rng(seed).uniform(lo, hi, (2000, lo.size))
        cost = ((points @ data.rows.T < 1.0) * data.weights).sum(axis=1)
        assert 0.0 < total <= cost.min() * (1 + 1e-12)


def test_many_points_are_cut_down_to_those_near_their_margin():
    n = 2 * WIDEST + 3000
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    rows = y[:, None] * np.column_stack([np.ones(n), rng.standard_normal(n)])
    data = BoxData(rows, np.ones(n), np.linalg.norm(rows, axis=1), y > 0, False, 1.0, 0.0)
    w = np.array([0.0, 1.0])
    _, pairs, _, _, _ = pack_pairs(data, w - 0.01, w + 0.01, w)
    assert WIDEST >= len(pairs) > 0.5 * WIDEST
    assert (greatest(data, w - 0.01, w + 0.01, pairs[:, 0], pairs[:, 1]) < 2.0).all()
