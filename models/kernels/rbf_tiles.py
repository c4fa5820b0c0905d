"""A compiled routine for tiles (small blocks) of RBF kernel values, for `models.kernels.panels`.

Inner products and powers of two are both computed in vector registers.

The loop computes k(x_i, x_j) = 2^min(0, z_i'z_j - h_i - h_j), the RBF kernel exp(-γ||x_i - x_j||²) by the scaled points
z_i = √(2γ log₂e) x_i and h_i = ½||z_i||², for `TILE_ROWS` points i and a *strip* of points j (two vectors' lanes) at once. The
products stay in registers, where 2^x is 2^k·2^r with k = round(x) and |r| ≤ ½: the factor 2^r by the polynomial that
interpolates it at n Chebyshev points, the factor 2^k by adding k to the exponent's bits. With n = 7 in float32 and 12 in float64
the remainder, at most (ln 2)^n √2/n!·2/4^n, is below 3e-9 and 5e-18. Loops that a compiler vectorises by columns keep the
products in memory, as BLAS does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import llvmlite.binding
import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from ...code_cache import cached_njit

#: A value of LLVM's intermediate representation.
Value: TypeAlias = Any

#: Coefficients c_k of 2^r ≈ Σ c_k r^k on |r| ≤ ½, in float32.
EXP2_SINGLE = (
    1.0, 0.6931472067028326, 0.24022650922288757, 0.05550327226670302, 0.009618056678524637, 0.0013400428177615838,
    0.0001546144469856913,
)  # fmt: skip
#: The same in float64.
EXP2_DOUBLE = (
    1.0, 0.6931471805599453, 0.24022650695910158, 0.055504108664821625, 0.009618129107587256, 0.001333355814640647,
    0.00015403530463724353, 1.5252733841556773e-05, 1.3215432535912375e-06, 1.0178057087733941e-07, 7.074194297288521e-09,
    4.4558179083360645e-10,
)  # fmt: skip

#: Points of a tile: with two vectors of columns each, their sums fit the registers (32 of 64 bytes with AVX-512, else 16 of 32).
TILE_ROWS = 8 if llvmlite.binding.get_host_cpu_features().get("avx512f", False) else 2
#: Bytes of a vector, and vectors of a strip; a machine with shorter registers uses several for one vector.
_BYTES, _VECTORS = 64, 2


class _Tile:
    """The instructions for some rows by one strip, in float32 or float64.

    Parameters
    ----------
    builder : IRBuilder
        Where the instructions are emitted.
    double : bool
        Whether they compute in float64 in place of float32.
    """

    def __init__(self, builder: Any, *, double: bool) -> None:
        self.b, self.double = builder, double
        self.size = 8 if double else 4
        self.lanes = _BYTES // self.size
        self.vector = ir.VectorType(ir.DoubleType() if double else ir.FloatType(), self.lanes)
        self.bits = ir.VectorType(ir.IntType(8 * self.size), self.lanes)

    def constant(self, value: float) -> Value:
        """Return a vector that holds the number in every lane."""
        value = value if self.double else float(np.float32(value))
        return ir.Constant(self.vector, [value] * self.lanes)

    def everywhere(self, pointer: Value) -> Value:
        """Load the number at an address into every lane of a vector."""
        first, undefined = ir.Constant(ir.IntType(32), 0), ir.Constant(self.vector, ir.Undefined)
        one = self.b.insert_element(undefined, self.b.load(pointer), first)
        return self.b.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes))

    def strip(self, pointer: Value) -> list[Value]:
        """Load the vectors of a strip that begins at an address."""
        values = []
        for place in self.places(pointer):
            vector = self.b.load(place)
            vector.align = self.size
            values.append(vector)
        return values

    def places(self, pointer: Value) -> list[Value]:
        """Return the addresses of a strip's vectors."""
        index = [_index(w * self.lanes) for w in range(_VECTORS)]
        return [self.b.bitcast(self.b.gep(pointer, [k]), self.vector.as_pointer()) for k in index]

    def products(self, points: Sequence[Value], columns: Value, features: Value) -> list[list[Value]]:
        """Emit the loop over the features (at least one) that computes z_i'z_j."""
        b, before = self.b, self.b.block
        loop, after = b.append_basic_block("feature"), b.append_basic_block("products")
        b.branch(loop)
        b.position_at_end(loop)
        feature = b.phi(ir.IntType(64))
        sums = [[b.phi(self.vector) for _ in range(_VECTORS)] for _ in points]
        across = self.strip(b.gep(columns, [b.mul(feature, _index(_VECTORS * self.lanes))]))
        grown = []
        for point, row in zip(points, sums, strict=True):
            number = self.everywhere(b.gep(point, [feature]))
            grown.append([self.plus_product(total, number, x) for total, x in zip(row, across, strict=True)])
        following = b.add(feature, _index(1))
        feature.add_incoming(_index(0), before)
        feature.add_incoming(following, loop)
        for total, value in zip(itertools.chain(*sums), itertools.chain(*grown), strict=True):
            total.add_incoming(self.constant(0.0), before)
            total.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", following, features), loop, after)
        b.position_at_end(after)
        return grown

    def plus_product(self, total: Value, left: Value, right: Value) -> Value:
        """Return total + left·right, fused where the machine can."""
        return self.b.fadd(total, self.b.fmul(left, right, flags=("contract",)), flags=("contract",))

    def power(self, x: Value) -> Value:
        """Return 2^min(0, x); a power below the range of normal numbers is replaced by one near the smallest of them."""
        b, zero, smallest = self.b, self.constant(0.0), self.constant(-1021.0 if self.double else -125.0)
        x = b.select(b.fcmp_ordered("<", x, zero), x, zero)
        x = b.select(b.fcmp_ordered(">", x, smallest), x, smallest)
        digits = 52 if self.double else 23
        rounding_constant = self.constant(
            1.5 * 2.0**digits
        )  # a sum with it is rounded to a whole number, which its last bits hold
        rounded = b.fadd(x, rounding_constant)
        r = b.fsub(x, b.fsub(rounded, rounding_constant))
        *lower, value = [self.constant(c) for c in (EXP2_DOUBLE if self.double else EXP2_SINGLE)]
        for coefficient in reversed(lower):
            value = self.plus_product(coefficient, value, r)
        exponent = b.shl(b.bitcast(rounded, self.bits), ir.Constant(self.bits, [digits] * self.lanes))
        return b.bitcast(b.add(b.bitcast(value, self.bits), exponent), self.vector)


def _index(k: int) -> Value:
    return ir.Constant(ir.IntType(64), k)


def _write(target: Any, builder: Any, signature: Any, arguments: Any, rows: int) -> None:
    """Emit the tile's instructions: products, then powers, then stores."""
    left, i, strips, s, out, k, j = (
        target.make_array(kind)(target, builder, value) if isinstance(kind, nb.types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    )
    tile = _Tile(builder, double=signature.args[0].dtype == nb.types.float64)
    stride, length = (builder.extract_value(array.shape, 1) for array in (left, out))
    features, width = builder.sub(stride, _index(1)), _index(_VECTORS * tile.lanes)
    points = [builder.gep(left.data, [builder.mul(builder.add(i, _index(r)), stride)]) for r in range(rows)]
    columns = builder.gep(strips.data, [builder.mul(s, builder.mul(stride, width))])
    products = tile.products(points, columns, features)
    halves = tile.strip(builder.gep(columns, [builder.mul(features, width)]))
    for r, (point, row) in enumerate(zip(points, products, strict=True)):
        point_offset = tile.everywhere(builder.gep(point, [features]))
        first = builder.gep(out.data, [builder.add(builder.mul(builder.add(k, _index(r)), length), j)])
        for product, half, place in zip(row, halves, tile.places(first), strict=True):
            stored = builder.store(tile.power(builder.fsub(builder.fsub(product, half), point_offset)), place)
            stored.align = tile.size


def tile_intrinsic(rows: int) -> Any:
    """Return an intrinsic that computes a tile of ``rows`` points; it checks no bounds.

    It writes 2^min(0, z_i'z_j - h_i - h_j) for the points ``i``, ... of ``left`` and strip ``s`` of ``strips`` to ``out``, from
    row k and column j on. The arrays are those of `write_rbf_tiles`, C-contiguous and of one type.
    """

    def of_types(typing: Any, left: Any, i: Any, strips: Any, s: Any, out: Any, k: Any, j: Any) -> Any:
        del typing, i, s, k, j

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _write(target, builder, signature, arguments, rows)
            return target.get_dummy_value()

        place = nb.types.int64
        return nb.types.void(left, place, strips, place, out, place, place), generate

    return intrinsic(of_types)


#: The intrinsic for a whole tile.
_tile: Any = tile_intrinsic(TILE_ROWS)


@cached_njit(frozenset({"contract"}))
def write_rbf_tiles(left: Any, strips: Any, first: int, buffer: Any, out: Any) -> None:
    """Write 2^min(0, z_i'z_j - h_i - h_j) into out_ij, for the points j from strip ``first`` on.

    Parameters
    ----------
    left : ndarray (m, p + 1)
        z_i and, in the last column, h_i, p ≥ 1; m is a multiple of `TILE_ROWS`, at least the rows of ``out``.
    strips : ndarray (k, p + 1, width)
        z_j and h_j, feature by feature, for the ``width`` points of each strip: exactly 32 in float32, 16 in float64.
    first : int
        The first strip.
    buffer : ndarray (TILE_ROWS, width)
        Work space for tiles that reach beyond ``out``.
    out : ndarray (r, c)
        Where the values are written; column 0 is the first point of strip ``first``.
    """
    count, columns, width = out.shape[0], out.shape[1], strips.shape[2]
    for j in range(0, columns, width):
        s = first + j // width
        for i in range(0, count, TILE_ROWS):
            if i + TILE_ROWS <= count and j + width <= columns:
                _tile(left, i, strips, s, out, i, j)
                continue
            _tile(left, i, strips, s, buffer, 0, 0)
            for k in range(min(TILE_ROWS, count - i)):
                for e in range(min(width, columns - j)):
                    out[i + k, j + e] = buffer[k, e]
