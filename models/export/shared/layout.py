"""The layout of a form as plain data: blocks, constraints with their cones, name and sense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ....errors import DataError
from ....files import FAULTS, fault, read_text
from ...arrays import IntArray
from ...program.cones import PSD, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.form import Block, StandardForm

__all__ = ["Layout", "Rows", "cone_named", "sidecar"]

_READ = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Indicator)
_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in _READ}


def cone_named(symbol: str, dim: int, count: int) -> Cone:
    """The cone of this symbol; see `models.program.cones`."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {symbol!r}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count)


def _whole(value: Any) -> int:
    """A size of a layout, which no array of this machine exceeds."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise DataError(f"a size must be a whole number; it is {value!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"a label must be text; it is {value!r}")
    return value


def _names(record: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of its own that a block or constraint has."""
    return tuple(_text(name) for name in record["names"]) if "names" in record else None


def _named(record: dict[str, Any], own: tuple[str, ...] | None) -> dict[str, Any]:
    return record if own is None else {**record, "names": list(own)}


def sidecar(path: Path) -> Path:
    """Where the layout of a file without labels is kept."""
    return path.with_name(path.name + ".names.json")


class Rows(NamedTuple):
    """A constraint without its numbers; ``own`` as in `Constraint`."""

    label: str
    cone: Cone
    own: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Blocks, constraints and sense of a form, without its numbers.

    ``order`` is there for formats that prescribe the order of the variables: the form's index of each of the file's.
    """

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[Rows, ...]
    maximise: bool
    constant: float
    order: tuple[int, ...] | None = None

    @classmethod
    def of(cls, form: StandardForm, order: IntArray | None = None) -> Layout:
        """The layout of a form."""
        constraints = tuple(Rows(c.label, c.cone, c.own) for c in form.constraints)
        kept = None if order is None else tuple(order.tolist())
        return cls(form.name, form.blocks, constraints, form.maximise, form.r, kept)

    @property
    def names(self) -> list[str]:
        """One name for each scalar variable, in the order of the form."""
        return [name for block in self.blocks for name in block.names()]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        record = {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [_named({"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric}, b.own) for b in self.blocks],
            "constraints": [
                _named({"label": c.label, "cone": c.cone.symbol, "dim": c.cone.dim, "count": c.cone.count}, c.own)
                for c in self.constraints
            ],
        }
        return record if self.order is None else {**record, "order": list(self.order)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Layout:
        """The inverse of `record`."""
        if not isinstance(record, Mapping) or record.get("format") != "marginopt layout 1":
            raise DataError("not a layout that this version reads")
        blocks = tuple(
            Block(_text(b["label"]), tuple(_whole(k) for k in b["shape"]), bool(b["symmetric"]), _names(b))
            for b in record["blocks"]
        )
        if any(b.symmetric and (len(b.shape) != 2 or b.shape[0] != b.shape[1]) for b in blocks):
            raise DataError("a symmetric block that is not square")
        constraints = tuple(
            Rows(_text(c["label"]), cone_named(c["cone"], _whole(c["dim"]), _whole(c["count"])), _names(c))
            for c in record["constraints"]
        )
        order = tuple(_whole(j) for j in record["order"]) if "order" in record else None
        return cls(_text(record["name"]), blocks, constraints, bool(record["maximise"]), float(record["constant"]), order)

    @property
    def text(self) -> str:
        """What a sidecar holds."""
        return json.dumps(self.record(), indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """The sidecar's layout of a file; None where there is none."""
        place = sidecar(path)
        if not place.exists():
            return None
        try:
            return cls.from_record(json.loads(read_text(place)))
        except FAULTS as error:
            raise DataError(f"its sidecar {place.name} cannot be read: {fault(error)}") from error
