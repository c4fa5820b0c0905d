"""Quadratic expressions of NL files: prefix notation, one operator, number or variable a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ...arrays import IntArray

__all__ = ["Quadric", "quadratic_lines", "read_expression"]


def quadratic_lines(P: sp.csc_array | None, constant: float, order: IntArray) -> list[str]:
    """½x'Px + constant, with variable ``order[k]`` of x at place k of the file: halving is exact, so every number is."""
    terms: list[list[str]] = []
    if P is not None and P.nnz:
        place = np.argsort(order)
        lower = sp.coo_array(sp.tril(P))
        for i, j, v in zip(lower.row, lower.col, lower.data, strict=True):
            if i == j:
                terms.append(["o2", f"n{0.5 * v:.17g}", "o5", f"v{place[i]}", "n2"])
            else:
                terms.append(["o2", f"n{v:.17g}", "o2", f"v{place[i]}", f"v{place[j]}"])
    if constant or not terms:
        terms.append([f"n{constant + 0.0:.17g}"])
    head = [] if len(terms) == 1 else ["o0"] if len(terms) == 2 else ["o54", str(len(terms))]
    return [*head, *(line for term in terms for line in term)]


@dataclass
class Quadric:
    """constant + Σ linear_j x_j + Σ quadratic_ij x_i x_j (i ≤ j)."""

    constant: float = 0.0
    linear: dict[int, float] = field(default_factory=dict)
    quadratic: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, other: Quadric, scale: float = 1.0) -> None:
        """Add a multiple of another one."""
        self.constant += scale * other.constant
        for j, v in other.linear.items():
            self.linear[j] = self.linear.get(j, 0.0) + scale * v
        for pair, v in other.quadratic.items():
            self.quadratic[pair] = self.quadratic.get(pair, 0.0) + scale * v

    def times(self, other: Quadric) -> Quadric:
        """The product, where it is no more than quadratic."""
        if (self.quadratic and (other.linear or other.quadratic)) or (other.quadratic and self.linear):
            raise DataError("expressions beyond quadratic ones are not read")
        product = Quadric()
        product.add(self, other.constant)
        product.add(Quadric(0.0, other.linear, other.quadratic), self.constant)
        for i, v in self.linear.items():
            for j, u in other.linear.items():
                pair = (min(i, j), max(i, j))
                product.quadratic[pair] = product.quadratic.get(pair, 0.0) + v * u
        return product


def read_expression(lines: Iterator[str]) -> Quadric:
    """The next expression: sums, differences, products, negatives, divisions by and powers of numbers."""
    word = next(lines)
    if word[0] == "n":
        return Quadric(float(word[1:]))
    if word[0] == "v":
        return Quadric(linear={int(word[1:]): 1.0})
    if word == "o54":
        total = Quadric()
        for _ in range(int(next(lines))):
            total.add(read_expression(lines))
        return total
    if word == "o16":
        total = Quadric()
        total.add(read_expression(lines), -1.0)
        return total
    if word not in ("o0", "o1", "o2", "o3", "o5"):
        raise DataError(f"the operator {word} of an expression is not read")
    return _binary(word, read_expression(lines), read_expression(lines))


def _binary(operator: str, left: Quadric, right: Quadric) -> Quadric:
    if operator in ("o0", "o1"):
        left.add(right, 1.0 if operator == "o0" else -1.0)
        return left
    if operator == "o2":
        return left.times(right)
    if right.linear or right.quadratic:
        raise DataError("only numbers are read as divisors and exponents")
    if operator == "o3":
        return left.times(Quadric(1.0 / right.constant))
    if right.constant == 2.0:
        return left.times(left)
    if right.constant == 1.0:
        return left
    raise DataError(f"the power {right.constant:g} is not read")
