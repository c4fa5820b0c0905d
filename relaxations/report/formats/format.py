"""The abstract format: a suffix, and the files that a document becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..document import Document

__all__ = ["Format"]


@dataclass(frozen=True)
class Format:
    """A format.

    Parameters
    ----------
    suffix : str
        With its dot, in small letters.
    name : str
        In words.
    files : callable
        Document and stem to text by file name, relative to the folder; the first is the main one.
    rank : int
        Place among the formats.
    """

    suffix: str
    name: str
    files: Callable[[Document, str], Mapping[str, str]]
    rank: int
