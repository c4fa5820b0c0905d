"""Scoring systems by supports: the optimum of SLIM with a price for each feature, proved by what points of one cell must cost.

    min Σ_i e_i + N C0 ||ρ||_0 + N C1 ||ρ||_1,   e_i = 1 unless y_i (ρ_0 + x_i'ρ) ≥ 1,   ρ integer, |ρ_j| ≤ 10, |ρ_0| ≤ 100

(Ustun and Rudin, 2015; MIPLIB 2017 lists ``adult-regularized`` as open). Points that agree on the features of a support S stand
in one cell and get one score: of its points of the two classes the fewer are misclassified. Two bounds follow, both in integers.

- With support S the errors are at least E(S) = Σ over cells of min(points of class +1, points of class -1).
- E falls as S grows. Supports that hold I, and beyond it at least one feature of J, cost at least E(I ∪ J) + price (|I| + 1).

The search decides feature by feature (in the order of a greedy choice) whether it is in I, and cuts by the second bound with J
the undecided features. More than ``most`` features need no search: their price and the errors with all features are above the
incumbent. What the first bound leaves is enumerated over all integer coefficients, the cheapest first; where more than three
features are left below the best value, the run says that nothing is proved.

    MARGINOPT_DATA=DIR python benchmarks/supports.py adult [C0]        # 0.01
"""

from __future__ import annotations

import bz2
import itertools
import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import numba as nb
import numpy as np

LARGEST, INTERCEPT = 10, 100
#: Supports of more features are not enumerated.
ENUMERATED = 3


def distinct(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of the features as codes (d × n), and how many points of each class they hold."""
    rows, back = np.unique(table[:, 1:], axis=0, return_inverse=True)
    codes = np.array([np.unique(column, return_inverse=True)[1] for column in rows.T])
    one = table[:, 0] == 1
    return codes, np.bincount(back.ravel(), one).astype(np.int64), np.bincount(back.ravel(), ~one).astype(np.int64)


@nb.njit
def refine(cells, count, codes, levels, finer, positive, negative, P, Q, seen):  # type: ignore[no-untyped-def]
    """Split cells by one more feature: (E, number of cells); ``finer`` receives the cell of each row."""
    seen[: levels * count] = -1
    new = 0
    for i in range(cells.size):
        k = levels * cells[i] + codes[i]
        if seen[k] < 0:
            seen[k], P[new], Q[new] = new, 0, 0
            new += 1
        m = seen[k]
        finer[i] = m
        P[m] += positive[i]
        Q[m] += negative[i]
    errors = 0
    for c in range(new):
        errors += min(P[c], Q[c])
    return errors, new


@nb.njit
def search(codes, levels, positive, negative, unit, price, cut, most, room):  # type: ignore[no-untyped-def]
    """Supports of at most ``most`` features with unit·E + price·size < cut: (nodes, such costs and masks; None if too many)."""
    d, n = codes.shape
    P, Q, seen = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(levels * n, np.int64)
    cells, counts = np.zeros((most + 1, n), np.int64), np.ones(most + 1, np.int64)
    all_in, other = np.empty(n, np.int64), np.empty(n, np.int64)
    following, chosen = np.zeros(most + 2, np.int64), np.zeros(most + 1, np.int64)
    left, nodes, found, k = np.zeros((room, 2), np.int64), 0, 0, 0
    while k >= 0:
        j = following[k]
        if j >= d or k == most:
            k -= 1
            continue
        nodes += 1
        all_in[:], count, errors = cells[k], counts[k], 0
        for t in range(j, d):
            errors, count = refine(all_in, count, codes[t], levels, other, positive, negative, P, Q, seen)
            all_in, other = other, all_in
        if unit * errors + price * (k + 1) >= cut:
            k -= 1
            continue
        following[k] = j + 1
        errors, counts[k + 1] = refine(cells[k], counts[k], codes[j], levels, cells[k + 1], positive, negative, P, Q, seen)
        chosen[k] = j
        k += 1
        following[k] = j + 1
        if unit * errors + price * k < cut:
            if found == room:
                return nodes, None
            left[found, 0] = unit * errors + price * k
            for t in range(k):
                left[found, 1] |= 1 << chosen[t]
            found += 1
    return nodes, left[:found]


def greedy_order(codes: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> list[int]:
    """Features, each the one that lowers E most beside those before it."""

    def errors(cells: np.ndarray) -> int:
        return int(np.minimum(np.bincount(cells, positive), np.bincount(cells, negative)).sum())

    left, order, cells = list(range(len(codes))), [], np.zeros(codes.shape[1], dtype=np.int64)
    while left:
        finer = [np.unique(cells * (codes.max() + 1) + codes[j], return_inverse=True)[1] for j in left]
        best = int(np.argmin([errors(f) for f in finer]))
        order.append(left.pop(best))
        cells = finer[best]
    return order


def best_points(
    values: np.ndarray, positive: np.ndarray, negative: np.ndarray, tie: Fraction
) -> tuple[Fraction, tuple[int, ...]]:
    """Errors + tie Σ|ρ_j| at the best integer coefficients of a support, all of them tried: values (n × k) are whole numbers."""
    whole = np.rint(values).astype(np.int64)
    if not np.array_equal(whole, values):
        raise SystemExit("features must be whole numbers")
    cells, back = np.unique(whole, axis=0, return_inverse=True)
    P, Q = (np.bincount(back.ravel(), c).astype(np.int64) for c in (positive, negative))
    shift = np.arange(-INTERCEPT, INTERCEPT + 1)
    best: tuple[Fraction, tuple[int, ...]] | None = None
    for rho in itertools.product(range(-LARGEST, LARGEST + 1), repeat=cells.shape[1]):
        score = (cells @ np.array(rho))[:, None] + shift
        errors = P @ (score <= 0) + Q @ (score >= 0)
        at = int(np.argmin(errors))
        cost = int(errors[at]) + tie * sum(map(abs, rho))
        if best is None or cost < best[0]:
            best = (cost, (int(shift[at]), *rho))
    assert best is not None
    return best


def main(name: str, c0: Fraction) -> None:
    path = Path(os.environ["MARGINOPT_DATA"]) / "slim" / f"{name}.csv.bz2"
    with bz2.open(path, "rt") as file:
        header = file.readline().strip().split(",")[1:]
        table = np.loadtxt(file, delimiter=",")
    N, d = len(table), len(header)
    if d > 62:
        raise SystemExit(f"{name} has {d} features; supports are kept as masks of 62 bits")
    codes, positive, negative = distinct(table)
    order = greedy_order(codes, positive, negative)
    codes, levels = np.ascontiguousarray(codes[order]), int(codes.max()) + 1
    price = N * c0
    tie = min(Fraction(1), price / (LARGEST * d + INTERCEPT)) / 2  # N C1 = ½ min(1, N C0 / Σ_j max|ρ_j|), the intercept counted
    X, one = table[:, 1:], (table[:, 0] == 1).astype(np.int64)

    def full(support: list[int]) -> tuple[Fraction, tuple[int, ...]]:
        cost, points = best_points(X[:, support], one, 1 - one, tie)
        return cost + price * sum(p != 0 for p in points[1:]), points

    value, support, points = min((*_swap(full(order[:k]), order[:k]),) for k in range(4))
    print(f"{name}: {N} points, {codes.shape[1]} distinct rows, {d} features; greedy value {float(value):.12g}", flush=True)
    least = int(np.minimum(positive, negative).sum())
    most = next(k for k in range(d + 1) if k == d or least + price * (k + 1) >= value)
    begin = time.process_time()
    unit = price.denominator * value.denominator  # everything in integers
    nodes, left = search(codes, levels, positive, negative, unit, int(price * unit), int(value * unit), most, 100_000)
    print(f"{nodes} nodes of supports of at most {most} features, {time.process_time() - begin:.0f} s", flush=True)
    if left is None:
        raise SystemExit("too many supports are left: a better point is needed first")
    tried = 0
    for bound, mask in sorted(left.tolist()):  # the cheapest first: what it finds spares most of the others
        other = [order[j] for j in range(d) if mask >> j & 1]
        if len(other) <= ENUMERATED and bound < value * unit:
            value, support, points = min((value, support, points), _swap(full(other), other))
            tried += 1
    undecided = sum(bound < value * unit and mask.bit_count() > ENUMERATED for bound, mask in left.tolist())
    print(f"{len(left)} supports left, {tried} enumerated, {undecided} not decided", flush=True)
    terms = "".join(f" {p:+d} {header[j]}" for j, p in zip(support, points[1:], strict=True))
    print(f"{'not proved: value' if undecided else 'proved: optimum'} {value} = {float(value):.15g}, score {points[0]:+d}{terms}")


def _swap(found: tuple[Fraction, tuple[int, ...]], support: list[int]) -> tuple[Fraction, list[int], tuple[int, ...]]:
    return found[0], support, found[1]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "adult", Fraction(sys.argv[2]) if len(sys.argv) > 2 else Fraction(1, 100))
