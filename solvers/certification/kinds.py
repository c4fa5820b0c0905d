"""Kinds of bounds by trust: one set of words for results, tables, reports and the terminal."""

from __future__ import annotations

import enum

__all__ = ["Kind"]


class Kind(enum.StrEnum):
    """The argument behind a bound; the value is its name in sentences.

    PROVED: recomputed from the data with its rounding error, or carried by our exact solver's valid dual points. CONDITIONAL: the
    same argument, but it is not known that P, or the kernel matrix K behind it, is positive semidefinite. CLAIMED: the solver's
    word. STORED: read from a file without the data.
    """

    PROVED = "proved"
    CONDITIONAL = "proved if K is PSD"
    CLAIMED = "claimed by solver"
    STORED = "as stored, not verified"
    NONE = "none"
