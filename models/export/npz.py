"""Reader and writer of standard forms as NumPy's .npz files: every array exactly, names and cones as JSON text; no pickle.

A form is min ½x'Px + q'x + r over constraints F_k x + g_k in cones, with bounds and integers. Arrays are ``q``, ``lower``,
``upper``, ``integer``, the constants ``g0``, ``g1``, ... of the constraints and, as row, column and
value of entries, the matrices ``P`` and ``F0``, ``F1``, ...; ``layout`` is the JSON text (`models.export.layout`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...files import read_arrays, write_arrays
from ..arrays import check_bytes
from ..program.cones import Feature
from ..program.form import Constraint, StandardForm
from ..program.quadratic import Quadratic
from .file_formats import FileFormat, InputFile
from .layout import Layout


class _Npz(FileFormat):
    suffix = ".npz"
    title = "npz"
    carries = frozenset(Feature)

    def write(self, form: StandardForm, path: Path) -> None:
        arrays: dict[str, Any] = {
            "layout": np.frombuffer(json.dumps(Layout.of(form).record()).encode(), dtype=np.uint8),
            "q": form.q,
            "lower": form.lower,
            "upper": form.upper,
            "integer": form.integer,
        }
        if form.quadratic is not None:
            arrays |= _pack("P", form.quadratic.csc)
        for k, c in enumerate(form.constraints):
            arrays |= _pack(f"F{k}", c.F) | {f"g{k}": c.g}
        write_arrays(path, arrays)

    def read(self, source: InputFile) -> StandardForm:
        data = read_arrays(source.path, "a form in npz")
        layout = Layout.from_record(json.loads(bytes(_array("layout", data, "u")).decode()))
        constraints = tuple(
            Constraint(label, sp.csr_array(_unpack(f"F{k}", data)), _array(f"g{k}", data, "f"), cone, row_names)
            for k, (label, cone, row_names) in enumerate(layout.constraints)
        )
        return StandardForm(
            name=layout.name,
            blocks=layout.blocks,
            q=_array("q", data, "f"),
            constraints=constraints,
            lower=_array("lower", data, "f"),
            upper=_array("upper", data, "f"),
            integer=_array("integer", data, "b"),
            quadratic=Quadratic(matrix=sp.csc_array(_unpack("P", data))) if "P.data" in data else None,
            r=layout.constant,
            maximise=layout.maximise,
            class_names=layout.class_names,
        )


def _pack(name: str, matrix: Any) -> dict[str, Any]:
    coo = sp.coo_array(matrix)
    return {f"{name}.row": coo.row, f"{name}.col": coo.col, f"{name}.data": coo.data, f"{name}.shape": np.array(coo.shape)}


def _unpack(name: str, data: dict[str, Any]) -> sp.coo_array:
    rows, columns, values, shape = (_array(f"{name}.{part}", data, kind) for part, kind in _PARTS)
    if shape.size != 2 or min(shape) < 0:
        raise DataError(f"the array {name}.shape must hold two sizes")
    check_bytes(8 * int(max(shape)), f"the matrix {name}")
    return sp.coo_array((values, (rows, columns)), shape=tuple(int(size) for size in shape))


def _array(name: str, data: dict[str, Any], kind: str) -> Any:
    """Return a vector of the file: numbers (f), indices (i), truth values (b) or bytes (u)."""
    array = data[name]
    kinds, noun = _KINDS[kind]
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise DataError(f"the array {name} must be a vector of {noun}; it is {array.dtype} of shape {array.shape}")
    return array


#: For each kind of vector NumPy's kinds of types that it may have, and the noun for its entries.
_KINDS = {"f": ("f", "numbers"), "i": ("iu", "indices"), "b": ("b", "truth values"), "u": ("u", "bytes")}
#: Arrays of a matrix, by the end of their names, with the kind of each.
_PARTS = (("row", "i"), ("col", "i"), ("data", "f"), ("shape", "i"))


#: The format, which `models.export.file_formats` finds.
FORMAT = _Npz()
