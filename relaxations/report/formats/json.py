"""Gap reports as JSON: the stored form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ....errors import DataError
from ..cells.exact import ExactCell
from ..cells.heuristic import InstanceCell
from ..cells.kappa import KappaCell
from ..cells.relaxation import RelaxationCell
from ..data import ReportData
from ..document import Document
from .format import Format

__all__ = ["FORMAT", "FORMAT_VERSION", "read_json", "render_json"]

_NAME = "marginopt gap report"
FORMAT_VERSION = 2
_PARTS = ("instances", "relaxations", "exacts", "kappas")
#: What layout 1 did not have.
_NEW: dict[str, Any] = {"seed": 0, "root": None, "bound_seconds": None, "prepare_seconds": None, "caveat": "", "trace": []}


def render_json(report: ReportData) -> str:
    """The report's fields; numbers as Python prints them, so they are read back exactly."""
    stored: dict[str, Any] = {"format": _NAME, "format_version": FORMAT_VERSION}
    for part in _PARTS:
        stored[part] = [cell.record() for cell in getattr(report, part)]
    stored["meta"] = dict(report.meta)
    return json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> ReportData:
    """The report of a file that `render_json` made.

    Raises
    ------
    DataError
        No such file, no JSON, or not a report of this layout.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is not a stored gap report: {error}") from error
    if not isinstance(stored, dict) or stored.get("format") != _NAME:
        raise DataError(f"{path} is not a stored gap report: its format is not {_NAME!r}")
    if stored.get("format_version") not in (1, FORMAT_VERSION):
        raise DataError(f"{path} has layout {stored.get('format_version')}; this version reads 1 and {FORMAT_VERSION}")
    if stored["format_version"] == 1:
        stored = {**stored, "kappas": [], "exacts": [{**_NEW, **record} for record in stored.get("exacts", [])]}
    missing = [part for part in (*_PARTS, "meta") if part not in stored]
    if missing:
        raise DataError(f"{path} lacks {', '.join(missing)}")
    return ReportData(
        tuple(InstanceCell.from_record(record) for record in stored["instances"]),
        tuple(RelaxationCell.from_record(record) for record in stored["relaxations"]),
        tuple(ExactCell.from_record(record) for record in stored["exacts"]),
        stored["meta"],
        tuple(KappaCell.from_record(record) for record in stored["kappas"]),
    )


def _files(document: Document, stem: str) -> dict[str, str]:
    return {f"{stem}.json": render_json(document.data)}


FORMAT = Format(".json", "JSON: everything that is stored", _files, rank=40)
