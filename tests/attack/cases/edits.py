"""Edits of JSON: what an editor, a script or a damaged disk may leave of a text."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["VALUES", "edited_text", "edited_value"]

Random = np.random.Generator
#: Of every kind that JSON has, within and beyond what a field may hold; strings that a terminal or a page would obey.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**400, 2**70, 1e308, math.nan, math.inf, -math.inf, "", "OPTIMAL", "optimal", "proved", [],
    [1], [[]], [None], {}, {"a": 1}, 0.5, "nan", "1e400", "\x1b[2K\rproved", "x\n  objective 5   bound 5 (proved)", "\ud800",
    "\0", "<script>", "a" * 3000,
)  # fmt: skip
#: Factors of a number that was moved up or down.
_FACTORS = (0.5, 1.5, -1.0, 2.0, 1 - 1e-9, 1 + 1e-9, 1e300, 1e-300, 1.01)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the keys that lead to each part of a value, three items of a list at most."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def _holder(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        value = value[key]
    return value


def _other_value(value: Any, place: tuple[Any, ...], rng: Random) -> None:
    """Put anything at all in a place; a number is moved up or down now and then."""
    part = _holder(value, place)
    old = part[place[-1]]
    is_number = isinstance(old, int | float) and not isinstance(old, bool) and abs(old) < 2**63
    moved = is_number and rng.random() < 0.6
    part[place[-1]] = old * float(rng.choice(_FACTORS)) if moved else VALUES[int(rng.integers(len(VALUES)))]


def _gone(value: Any, place: tuple[Any, ...], rng: Random) -> None:
    del _holder(value, place)[place[-1]]


def _swapped(value: Any, place: tuple[Any, ...], rng: Random) -> None:
    """Exchange two fields of one object, or two items of one list."""
    part = _holder(value, place)
    keys = list(part) if isinstance(part, dict) else list(range(len(part)))
    other = keys[int(rng.integers(len(keys)))]
    part[place[-1]], part[other] = part[other], part[place[-1]]


def _lengthened(value: Any, place: tuple[Any, ...], rng: Random) -> None:
    """Repeat the items of a list, or give an object one more field."""
    part = _holder(value, place)
    if isinstance(part, list):
        part += part[: int(rng.integers(1, 4))]
    else:
        part[str(rng.choice(["stranger", "format", "digest", "instance"]))] = VALUES[int(rng.integers(len(VALUES)))]


_EDITS: tuple[Callable[[Any, tuple[Any, ...], Random], None], ...] = (
    _other_value, _other_value, _other_value, _other_value, _gone, _swapped, _lengthened,
)  # fmt: skip


def edited_value(value: Any, rng: Random) -> tuple[Any, str]:
    """Return a value with one part changed, gone, exchanged or added, and the place."""
    changed = copy.deepcopy(value)
    inner = places(changed)[1:]
    if not inner:
        return VALUES[int(rng.integers(len(VALUES)))], "all"
    place, edit = inner[int(rng.integers(len(inner)))], _EDITS[int(rng.integers(len(_EDITS)))]
    edit(changed, place, rng)
    return changed, f"{edit.__name__[1:]} {'/'.join(map(str, place))}"


def edited_text(text: str, rng: Random) -> tuple[str, str]:
    """Return a text of JSON with one edit of its value, or of the text: a name twice, 5,000 digits, an end cut off."""
    kind = rng.random()
    if kind < 0.8:
        value, edit = edited_value(json.loads(text), rng)
        return json.dumps(value), edit
    if kind < 0.83:
        return text[: int(rng.integers(len(text)))], "cut"
    names = [k for k in range(len(text) - 1) if text[k : k + 2] == '":']
    end = names[int(rng.integers(len(names)))]
    begin = text.rindex('"', 0, end)
    name = text[begin : end + 2]
    if kind < 0.85:
        return f"{text[:begin]}{name} {'9' * 5000}, {text[begin:]}", f"digits {name}"
    return f"{text[:begin]}{name} {json.dumps(VALUES[int(rng.integers(len(VALUES)))])}, {text[begin:]}", f"twice {name}"
