"""The layout of a form as plain data, and indicator constraints as solvers take them.

The layout of a form as plain data: blocks, constraints with their cones, name and sense.

Indicator constraints as solvers take them: a binary variable, the value at which it asks for a row, and that row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import DataError, ExportError
from ...files import READ_ERRORS, read_error, read_text, without_compression
from ..arrays import IntArray
from ..program.cones import PSD, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..program.exponential_cones import Exponential, Power
from ..program.form import Block, Constraint, StandardForm

__all__ = ["IndicatorRows", "Layout", "Rows", "cone_named", "indicator_rows", "sidecar"]

_READ = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Indicator, Exponential, Power)
_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in _READ}


def cone_named(symbol: str, dim: int, count: int, alpha: float | None = None) -> Cone:
    """The cone of this symbol, with the exponent of a power cone; see `models.program.cones`."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {symbol!r}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count) if alpha is None else Power(dim, count, alpha)


def _parameters(cone: Cone) -> dict[str, float]:
    """Fields of a cone beside its sizes: the exponent of a power cone."""
    return {f.name: getattr(cone, f.name) for f in fields(cone) if f.name not in ("dim", "count")}


def _cone(record: Mapping[str, Any]) -> Cone:
    alpha = float(record["alpha"]) if record["cone"] == Power.symbol else None
    return cone_named(record["cone"], _whole(record["dim"]), _whole(record["count"]), alpha)


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
    """Return the path at which the layout of a file without labels is kept."""
    return path.with_name(path.name + ".names.json")


def _digest(text: str) -> str:
    """Return the digest of a text, whatever ends its lines."""
    return hashlib.sha256("\n".join(text.splitlines()).encode("utf-8")).hexdigest()


class Rows(NamedTuple):
    """A constraint without its numbers; ``own`` as in `Constraint`."""

    label: str
    cone: Cone
    own: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Blocks, constraints and sense of a form, without its numbers.

    ``order`` is there for formats that prescribe the order of the variables: the form's index of each of the file's. ``digest``
    is that of the text beside which a sidecar was written.
    """

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[Rows, ...]
    maximise: bool
    constant: float
    order: tuple[int, ...] | None = None
    digest: str = ""

    @classmethod
    def of(cls, form: StandardForm, order: IntArray | None = None) -> Layout:
        """The layout of a form."""
        constraints = tuple(Rows(c.label, c.cone, c.own) for c in form.constraints)
        order_tuple = None if order is None else tuple(order.tolist())
        return cls(form.name, form.blocks, constraints, form.maximise, form.r, order_tuple)

    @property
    def names(self) -> list[str]:
        """One name for each scalar variable, in the order of the form."""
        return [name for block in self.blocks for name in block.names()]

    def record(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        record: dict[str, Any] = {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [_named({"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric}, b.own) for b in self.blocks],
            "constraints": [
                _named(
                    {"label": c.label, "cone": c.cone.symbol, "dim": c.cone.dim, "count": c.cone.count, **_parameters(c.cone)},
                    c.own,
                )
                for c in self.constraints
            ],
        }
        record |= {} if self.order is None else {"order": list(self.order)}
        return record | ({"digest": self.digest} if self.digest else {})

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
        constraints = tuple(Rows(_text(c["label"]), _cone(c), _names(c)) for c in record["constraints"])
        order = tuple(_whole(j) for j in record["order"]) if "order" in record else None
        return cls(
            _text(record["name"]), blocks, constraints, bool(record["maximise"]), float(record["constant"]), order,
            _text(record.get("digest", "")),
        )  # fmt: skip

    def beside(self, text: str) -> str:
        """Return the content of the sidecar of a file with this text."""
        return json.dumps(replace(self, digest=_digest(text)).record(), indent=1) + "\n"

    def describes(self, text: str) -> bool:
        """Tell if this layout was written beside a file with this text."""
        return self.digest == _digest(text)

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """Return the layout in the sidecar of a file, compressed since or not; None without a sidecar."""
        place = sidecar(path)
        if not place.exists():
            place = sidecar(path.with_name(without_compression(path.name)))
        if not place.exists():
            return None
        try:
            return cls.from_record(json.loads(read_text(place)))
        except READ_ERRORS as error:
            raise DataError(f"its sidecar {place.name} cannot be read: {read_error(error)}") from error


@dataclass(frozen=True, eq=False)
class IndicatorRows:
    """The indicators of one constraint: x[binary[k]] = active[k], 0 or 1, asks row ``rows[k]`` of F x + g to be ≥ 0."""

    constraint: Constraint
    binary: IntArray
    active: IntArray
    rows: IntArray

    def name(self, k: int) -> str:
        """Name of the k-th one."""
        if self.constraint.own is not None:
            return self.constraint.own[2 * k + 1]
        return self.constraint.label if self.binary.size == 1 else f"{self.constraint.label}[{k}]"


def indicator_rows(form: StandardForm) -> tuple[IndicatorRows, ...]:
    """Every indicator constraint of the form.

    Raises
    ------
    ExportError
        A switch is neither a binary variable of the form nor 1 - x of one.
    """
    rows = []
    for c in form.constraints:
        if not isinstance(c.cone, Indicator):
            continue
        heads = c.F[np.arange(0, c.rows, 2)]
        heads.eliminate_zeros()
        single = bool((np.diff(heads.indptr) == 1).all())
        active = c.g[0::2]  # the switch is x where it is 0, and 1 - x where it is 1
        if not (single and np.isin(active, (0.0, 1.0)).all() and (heads.data == 1.0 - 2.0 * active).all()):
            raise ExportError(f"{c.label}: the switch of an indicator must be a single variable x, or 1 - x")
        binary = np.asarray(heads.indices, dtype=np.int64)
        if not (form.integer[binary] & (form.lower[binary] >= 0) & (form.upper[binary] <= 1)).all():
            raise ExportError(f"{c.label}: the switch of an indicator must be a binary variable")
        rows.append(IndicatorRows(c, binary, active.astype(np.int64), np.arange(1, c.rows, 2)))
    return tuple(rows)
