"""``check_proof`` as users call it: the checker of a log's format, alone or with other processes and clusters."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..models.model import Model
from .exact.check.checker import ProofChecker, ProofReport
from .exact.check.sealed import lines
from .margin.check.checker import MarginChecker
from .parallel import Cluster, choose_executor
from .scoring.check import ScoringChecker
from .zero_one.check.checker import ZeroOneChecker

__all__ = ["check_proof"]

#: The checker of every format.
CHECKERS: tuple[ProofChecker[Any], ...] = (ZeroOneChecker(), MarginChecker(), ScoringChecker())


def check_proof(path: str | Path, model: Model | None = None, *, jobs: int | None = None, cluster: Cluster = None) -> ProofReport:
    """Verify a proof log of ``zero-one-bb``, ``supports-bb`` or ``margin-bb``.

    Parameters
    ----------
    path : str or Path
        The file that the solver wrote with ``proof=path``.
    model : Model, optional
        The problem that the log should be about: a proof about other data, costs or another intercept is refused.
    jobs : int, optional
        Parts of a tree of boxes at a time, by joblib; -1 for all cores. Where it is not given, one, or what an enclosing
        ``joblib.parallel_config`` says.
    cluster : distributed.Client or str, optional
        The same on a Dask cluster (a client, or its scheduler's address), or "ray", this session's Ray cluster. Who checks in
        parallel believes the workers but for two parts, drawn at random, which this process verifies again.

    Returns
    -------
    ProofReport
        ``valid`` only where every step holds; a damaged or wrong log is reported, whatever is wrong with it, never raised.

    Raises
    ------
    InputError
        The model is none that such logs are about, ``cluster`` no cluster.
    """
    stated = _format(Path(path))
    checker = next((checker for checker in CHECKERS if checker.format == stated), None)
    if checker is None:
        return ProofReport(
            False, math.nan, math.nan, 0, f"this is no proof log: its first line states the format {stated[:80]!r}"
        )
    with choose_executor(jobs, cluster) as team:
        return checker.check(path, model, team)


def _format(path: Path) -> str:
    """Return the format that the first line states; empty where it states none or cannot be read."""
    try:
        return str(json.loads(next(lines(path)))["format"])
    except Exception:  # noqa: BLE001 - a file may be wrong in every way
        return ""
