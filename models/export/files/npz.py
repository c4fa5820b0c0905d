"""npz: the form itself, exactly: arrays beside a JSON text, no pickle. Carries everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...program.cones import Feature
from ...program.form import Constraint, Quadratic, StandardForm
from ..shared.layout import Layout
from .formats import FileFormat

__all__ = ["FORMAT"]


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
        np.savez_compressed(path, **arrays)

    def read(self, path: Path) -> StandardForm:
        with np.load(path, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        layout = Layout.from_record(json.loads(bytes(data["layout"]).decode()))
        constraints = tuple(
            Constraint(label, sp.csr_array(_unpack(f"F{k}", data)), data[f"g{k}"], cone)
            for k, (label, cone) in enumerate(layout.constraints)
        )
        return StandardForm(
            name=layout.name,
            blocks=layout.blocks,
            q=data["q"],
            constraints=constraints,
            lower=data["lower"],
            upper=data["upper"],
            integer=data["integer"],
            quadratic=Quadratic(matrix=sp.csc_array(_unpack("P", data))) if "P.data" in data else None,
            r=layout.constant,
            maximise=layout.maximise,
        )


def _pack(name: str, matrix: Any) -> dict[str, Any]:
    coo = sp.coo_array(matrix)
    return {f"{name}.row": coo.row, f"{name}.col": coo.col, f"{name}.data": coo.data, f"{name}.shape": np.array(coo.shape)}


def _unpack(name: str, data: dict[str, Any]) -> sp.coo_array:
    index = (data[f"{name}.row"], data[f"{name}.col"])
    return sp.coo_array((data[f"{name}.data"], index), shape=tuple(data[f"{name}.shape"]))


FORMAT = _Npz()
