"""Rows of data that come in blocks: a matrix of which products are asked for, kept in memory or left on disk.

`Rows` is what a formulation that needs no more than products is stated on. It is no array: ``X @ w``, ``X.T @ v``, its shape and
its blocks are all that there is.
"""

from .abstract import BLOCK_BYTES, LOOK_BYTES, Block, MemoryRows, Rows, sampled
from .blocks import SparseBlock

__all__ = ["BLOCK_BYTES", "LOOK_BYTES", "Block", "MemoryRows", "Rows", "SparseBlock", "sampled"]
