"""Data matrices that are read in blocks of rows, from memory or from disk.

Formulations that need only products with X are stated on `Rows`: ``X @ w``, ``X.T @ v``, the shape and the blocks.
"""

from .abstract import DEFAULT_BLOCK_BYTES, MAX_BLOCK_BYTES, Block, MemoryRows, Rows, sampled
from .blocks import SparseBlock

__all__ = ["DEFAULT_BLOCK_BYTES", "MAX_BLOCK_BYTES", "Block", "MemoryRows", "Rows", "SparseBlock", "sampled"]
