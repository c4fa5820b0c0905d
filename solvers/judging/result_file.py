"""Results on disk: one npz file that holds the arrays and a JSON text, no pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError
from ..records.status import Status
from ..records.trace import Trace, TraceRow
from .certificate import Certificate
from .result import RESULT_VERSION, Claim, Result

__all__ = ["load_result", "save_result"]

_PARTS = ("values", "multipliers", "reduced")
_PLAIN = (
    "model",
    "solver",
    "version",
    "nodes",
    "iterations",
    "build_seconds",
    "solve_seconds",
    "licence",
    "maximise",
)


def save_result(result: Result, path: str | Path) -> Path:
    """Write a result to ``path`` (suffix .npz is added where it is missing) and return the path."""
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    arrays: dict[str, Any] = {}
    for part in _PARTS:
        content = getattr(result, part)
        if content is not None:
            arrays.update({f"{part}/{label}": np.asarray(value) for label, value in content.items()})
    for name in ("iteration", "seconds", "objective", "bound", "active", "columns"):
        arrays[f"trace/{name}"] = result.trace.column(name)
    meta = {
        "format": "marginopt result",
        "format_version": RESULT_VERSION,
        **{name: getattr(result, name) for name in _PLAIN},
        "status": result.status.name,
        "claim": {**asdict(result.claim), "status": result.claim.status.name},
        "certificate": None if result.certificate is None else asdict(result.certificate),
        "options": dict(result.options),
        "summary": dict(result.summary),
        "details": _plain(result.details),
        "steps": [row.step for row in result.trace],
        "parts": [part for part in _PARTS if getattr(result, part) is not None],
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez_compressed(target, **arrays)
    return target


def load_result(path: str | Path) -> Result:
    """Read a result that `save_result` wrote.

    Raises
    ------
    DataError
        No such file, not a stored result, or one of a newer layout.
    """
    try:
        with np.load(Path(path), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        meta = json.loads(bytes(arrays.pop("meta")).decode())
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not a stored marginopt result: {error}") from error
    if meta.get("format_version") != RESULT_VERSION:
        raise DataError(f"{path} has layout {meta.get('format_version')}; this version reads {RESULT_VERSION}")
    certificate = meta["certificate"]
    claim = meta["claim"]
    plain: dict[str, Any] = {name: meta[name] for name in _PLAIN}
    plain |= {part: _part(arrays, part) for part in meta["parts"]}
    return Result(
        **plain,
        status=Status[meta["status"]],
        claim=Claim(**{**claim, "status": Status[claim["status"]]}),
        certificate=None if certificate is None else Certificate(**certificate),
        trace=_trace(arrays, meta["steps"]),
        options=meta["options"],
        summary=meta["summary"],
        details=meta["details"],
    )


def _part(arrays: Mapping[str, Any], part: str) -> dict[str, Any]:
    return {name.removeprefix(f"{part}/"): value for name, value in arrays.items() if name.startswith(f"{part}/")}


def _trace(arrays: Mapping[str, Any], steps: list[str]) -> Trace:
    columns = {name: arrays[f"trace/{name}"] for name in ("iteration", "seconds", "objective", "bound", "active", "columns")}
    return Trace(
        tuple(
            TraceRow(
                int(columns["iteration"][k]),
                float(columns["seconds"][k]),
                float(columns["objective"][k]),
                float(columns["bound"][k]),
                int(columns["active"][k]),
                int(columns["columns"][k]),
                step,
            )
            for k, step in enumerate(steps)
        )
    )


def _plain(value: Any) -> Any:
    """Details as JSON: arrays become lists, whatever JSON has no word for becomes its text."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
