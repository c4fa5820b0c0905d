"""Gap reports as JSON: the stored form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import DataError
from .cells import ExactCell, InstanceCell, RelaxationCell
from .report import GapReport

__all__ = ["FORMAT_VERSION", "read_json", "render_json"]

FORMAT = "marginopt gap report"
FORMAT_VERSION = 1
_PARTS = ("instances", "relaxations", "exacts")


def render_json(report: GapReport) -> str:
    """The report's fields; numbers as Python prints them, so they are read back exactly."""
    stored: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION}
    for part in _PARTS:
        stored[part] = [cell.record() for cell in getattr(report, part)]
    stored["meta"] = dict(report.meta)
    return json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> GapReport:
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
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise DataError(f"{path} is not a stored gap report: its format is not {FORMAT!r}")
    if stored.get("format_version") != FORMAT_VERSION:
        raise DataError(f"{path} has layout {stored.get('format_version')}; this version reads {FORMAT_VERSION}")
    missing = [part for part in (*_PARTS, "meta") if part not in stored]
    if missing:
        raise DataError(f"{path} lacks {', '.join(missing)}")
    return GapReport(
        tuple(InstanceCell.from_record(record) for record in stored["instances"]),
        tuple(RelaxationCell.from_record(record) for record in stored["relaxations"]),
        tuple(ExactCell.from_record(record) for record in stored["exacts"]),
        stored["meta"],
    )
