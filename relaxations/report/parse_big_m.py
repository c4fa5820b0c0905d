"""Words for big-M constants: "incumbent", "zero", "100x zero", "5": what a report's dimension M takes."""

from __future__ import annotations

import re

from ...errors import InputError
from ..bounds.big_m import BigM, MSource

__all__ = ["constants"]

_WORDS = re.compile(r"(?:([0-9.eE+-]+)\s*x\s*)?(zero|incumbent|stated)")


def constants(value: str | float) -> BigM:
    """The big-M relaxation whose constants a word or a number names.

    Parameters
    ----------
    value : str or float
        "incumbent" or "zero" (valid M, see `BigM`), "stated", the same with a factor ("100x zero"), or a number for every
        point, also as text.

    Raises
    ------
    InputError
        Anything else; a number or factor that is not positive.
    """
    if not isinstance(value, str):
        return BigM(value)
    found = _WORDS.fullmatch(value.strip())
    try:
        if found is None:
            return BigM(float(value))
        source: MSource = found[2]  # type: ignore[assignment]
        return BigM(source, factor=1.0 if found[1] is None else float(found[1]))
    except ValueError as error:
        raise InputError(f"M must be 'incumbent', 'zero', '100x zero' or a number > 0; it is {value!r}") from error
