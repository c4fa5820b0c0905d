"""The layout of a form (names, blocks, cones) and its sidecar ``<file>.names.json``, for file formats that cannot hold these."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import DataError, short_text
from ...files import READ_ERRORS, describe_read_error, read_text, split_lines, without_compression, write_texts
from ..arrays import IntArray
from ..program.cones import PSD, Bilinear, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..program.exponential_cones import Exponential, Power
from ..program.form import Block, StandardForm

#: Cones that a layout may name, and the same by their symbols.
_READ = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Indicator, Exponential, Power, Bilinear)
_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in _READ}

#: Characters of a comment line in a file.
_COMMENT_WIDTH = 120


def _cone_named(symbol: str, dim: int, count: int, **parameters: float) -> Cone:
    """Return the cone with this symbol, size and parameters, such as the exponent of a power cone."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {short_text(symbol)}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count, **parameters)


def _parameters(cone: Cone) -> dict[str, float]:
    """Return the fields of a cone besides its sizes: the exponent of a power cone, ``equality`` of a bilinear row."""
    return {f.name: getattr(cone, f.name) for f in fields(cone) if f.name not in ("dim", "count")}


def _cone(record: Mapping[str, Any]) -> Cone:
    cone_fields = fields(_CONES.get(record["cone"], Cone))
    parameters = {f.name: record[f.name] for f in cone_fields if f.name not in ("dim", "count")}
    if not all(isinstance(value, int | float) for value in parameters.values()):
        raise DataError(f"the parameters of a cone must be numbers; they are {parameters}")
    return _cone_named(record["cone"], _whole(record["dim"]), _whole(record["count"]), **parameters)


def _whole(value: Any) -> int:
    """Return a size of a layout; refuse a value that is not a whole number from 0 to 2⁴⁰."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise DataError(f"a size must be a whole number; it is {short_text(value)}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"a label must be text; it is {short_text(value)}")
    return value


def _names(record: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the given names of a block or constraint; None without any."""
    return tuple(_text(name) for name in record["names"]) if "names" in record else None


def _entries(record: Mapping[str, Any]) -> tuple[tuple[int, int], ...] | None:
    """Return the places of a block's variables in the matrix that they determine; None where the block is stored whole."""
    if "entries" not in record:
        return None
    return tuple((_whole(row), _whole(column)) for row, column in record["entries"])


def _fit(entries: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and all(0 <= i < shape[0] and 0 <= j < shape[1] for i, j in entries)


def _named(record: dict[str, Any], given_names: tuple[str, ...] | None) -> dict[str, Any]:
    return record if given_names is None else {**record, "names": list(given_names)}


def sidecar_path(path: Path) -> Path:
    """Return the path of the sidecar of a file."""
    return path.with_name(path.name + ".names.json")


def comment_lines(form: StandardForm, mark: str) -> list[str]:
    """Return comment lines, each after ``mark``, that say which class of the model's data has which code; none without names."""
    # quotes keep a name's line breaks out; other readers limit the length of a line
    texts = (text for line in form.name_lines for text in textwrap.wrap(line.text, _COMMENT_WIDTH, break_on_hyphens=False))
    return [f"{mark} {text}" for text in texts]


def _digest(text: str) -> str:
    """Return the digest of a text, whatever ends its lines."""
    return hashlib.sha256("\n".join(split_lines(text)).encode("utf-8")).hexdigest()


class ConstraintLayout(NamedTuple):
    """A constraint without its numbers: label, cone, and the given names of its rows, if any."""

    label: str
    cone: Cone
    given_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """The content of a sidecar: blocks, constraints and sense of a form, without the numbers that the file has.

    Parameters
    ----------
    name : str
        Name of the form.
    blocks : tuple of Block
        The blocks of variables.
    constraints : tuple of ConstraintLayout
        The constraints, without their numbers.
    maximise : bool
        Whether the stated model maximises the negative of the form's objective.
    constant : float
        The constant r of the form's objective.
    order : tuple of int, optional
        Index in the form of each of the file's variables, for formats that prescribe their order.
    class_names : tuple of str
        Names of the classes of the model's data, -1 before +1; empty without names.
    digest : str
        SHA-256 of the text of the file that the sidecar was written beside; empty in a layout without a sidecar.
    """

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[ConstraintLayout, ...]
    maximise: bool
    constant: float
    order: tuple[int, ...] | None = None
    class_names: tuple[str, ...] = ()
    digest: str = ""

    @classmethod
    def of(cls, form: StandardForm, order: IntArray | None = None) -> Layout:
        """Return the layout of a form."""
        constraints = tuple(ConstraintLayout(c.label, c.cone, c.given_names) for c in form.constraints)
        order_tuple = None if order is None else tuple(order.tolist())
        return cls(form.name, form.blocks, constraints, form.maximise, form.r, order_tuple, form.class_names)

    @property
    def names(self) -> list[str]:
        """Return one name for each scalar variable, in the order of the form."""
        return [name for block in self.blocks for name in block.names()]

    def record(self) -> dict[str, Any]:
        """Return the layout as plain data for JSON."""
        record: dict[str, Any] = {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [
                _named(
                    {"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric}
                    | ({} if b.entries is None else {"entries": [list(pair) for pair in b.entries]})
                    | ({"auxiliary": True} if b.auxiliary else {}),
                    b.given_names,
                )
                for b in self.blocks
            ],
            "constraints": [
                _named(
                    {"label": c.label, "cone": c.cone.symbol, "dim": c.cone.dim, "count": c.cone.count, **_parameters(c.cone)},
                    c.given_names,
                )
                for c in self.constraints
            ],
        }
        record |= {} if self.order is None else {"order": list(self.order)}
        record |= {"classes": list(self.class_names)} if self.class_names else {}
        return record | ({"digest": self.digest} if self.digest else {})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Layout:
        """Return the layout of JSON data: the inverse of `record`.

        Raises
        ------
        DataError
            Data of another format, or values that are no labels, sizes or cones.
        """
        if not isinstance(record, Mapping) or record.get("format") != "marginopt layout 1":
            raise DataError("not a layout that this version reads")
        blocks = tuple(
            Block(
                _text(b["label"]),
                tuple(_whole(k) for k in b["shape"]),
                bool(b["symmetric"]),
                _names(b),
                _entries(b),
                auxiliary=bool(b.get("auxiliary", False)),
            )
            for b in record["blocks"]
        )
        if any(b.symmetric and (len(b.shape) != 2 or b.shape[0] != b.shape[1]) for b in blocks):
            raise DataError("a symmetric block that is not square")
        if any(b.entries is not None and not _fit(b.entries, b.shape) for b in blocks):
            raise DataError("entries outside of the matrix of their block")
        constraints = tuple(ConstraintLayout(_text(c["label"]), _cone(c), _names(c)) for c in record["constraints"])
        order = tuple(_whole(j) for j in record["order"]) if "order" in record else None
        return cls(
            _text(record["name"]), blocks, constraints, bool(record["maximise"]), float(record["constant"]), order,
            tuple(map(_text, record.get("classes", ()))), _text(record.get("digest", "")),
        )  # fmt: skip

    def sidecar_text(self, text: str) -> str:
        """Return the text of the sidecar of a file with this text."""
        return json.dumps(replace(self, digest=_digest(text)).record(), indent=1) + "\n"

    def write(self, path: Path, text: str) -> None:
        """Write a file with this text, and the layout in its sidecar."""
        write_texts({path: text, sidecar_path(path): self.sidecar_text(text)})

    def describes(self, text: str) -> bool:
        """Return whether this layout was written beside a file with this text."""
        return self.digest == _digest(text)

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """Return the layout in a file's sidecar, also if the file was compressed afterwards; None without a sidecar.

        Raises
        ------
        DataError
            A sidecar that cannot be read.
        """
        place = sidecar_path(path)
        if not place.exists():
            place = sidecar_path(path.with_name(without_compression(path.name)))
        if not place.exists():
            return None
        try:
            return cls.from_record(json.loads(read_text(place)))
        except READ_ERRORS as error:
            raise DataError(f"its sidecar {place.name} cannot be read: {describe_read_error(error)}") from error
