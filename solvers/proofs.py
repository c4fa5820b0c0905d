"""`check_proof`: verify a proof log by the checker of its format, alone or in parallel."""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..models.model import Model
from .exact.check.checker import ProofChecker, ProofReport
from .exact.check.log_reader import log_lines
from .parallel import Cluster, choose_executor


def _checker_of(path: Path) -> ProofChecker[Any] | None:
    """Return the checker of a log's format, of a solver of this package or of another; None without one."""
    from .registry import EXTENSIONS, all_solvers  # imported here: the registry imports every solver

    log_format = _format(path)
    solvers = itertools.chain(all_solvers(discover=False).values(), EXTENSIONS.usable().values())
    checkers = (solver.checker for solver in solvers)
    return next((checker for checker in checkers if isinstance(checker, ProofChecker) and checker.format == log_format), None)


class Question(ABC):
    """A question about data whose answer rests on bounds of models, which the data determine; `check_proof` checks their logs."""

    @abstractmethod
    def problems(self) -> Mapping[str, Model]:
        """Return the models by name, derived from the data each time."""


def check_proof(
    path: str | Path,
    model: Model | Question | None = None,
    *,
    jobs: int | None = None,
    cluster: Cluster = None,
    cited: Sequence[str | Path] = (),
) -> ProofReport:
    """Verify a proof log of ``zero-one-bb``, ``supports-bb``, ``risk-bb``, ``sparse-bb``, ``ramp-bb`` or ``margin-bb``.

    Parameters
    ----------
    path : str or Path
        The file that the solver wrote with ``proof=path``.
    model : Model or Question, optional
        The problem that the log should be about: a proof about other data, costs or another intercept is refused. For a question
        of `marginopt.questions` the log must be about one of its problems, which are derived from the question's data.
    jobs : int, optional
        Number of parts of a tree of boxes that are checked at the same time, by joblib; -1 for all cores. By default one, or the
        number that an enclosing ``joblib.parallel_config`` sets.
    cluster : distributed.Client or str, optional
        The same on a Dask cluster (a client, or its scheduler's address), or "ray", this session's Ray cluster. A check in
        parallel trusts the workers, except for two parts drawn at random, which this process verifies again.
    cited : sequence of path-like, optional
        Files of logs that the log cites (``earlier=`` of ``zero-one-bb``). Cited logs that are not given are looked for in the
        folder of the log. Each one is verified, and must have the digest that is cited.

    Returns
    -------
    ProofReport
        ``valid`` only if every step holds; a damaged or wrong log gives a report, never an error.

    Raises
    ------
    InputError
        Logs of this format are not about such models, or ``cluster`` is no cluster.
    """
    if isinstance(model, Question):
        return _check_question(path, model, jobs, cluster, cited)
    checker = _checker_of(Path(path))
    if checker is None:
        return ProofReport(False, math.nan, math.nan, 0, _no_checker(Path(path)))
    with choose_executor(jobs, cluster) as team:
        return checker.check(path, model, team, cited)


def _check_question(
    path: str | Path, question: Question, jobs: int | None, cluster: Cluster, cited: Sequence[str | Path]
) -> ProofReport:
    """Return the verdict on a log of one of the problems of a question."""
    problems = question.problems()
    if not problems:
        return ProofReport(False, math.nan, math.nan, 0, "the question rests on no log: its data alone answer it")
    verdicts = []
    for name, problem in problems.items():
        report = check_proof(path, problem, jobs=jobs, cluster=cluster, cited=cited)
        if report.valid:
            return replace(report, problem=f"problem {name!r} of the question: {report.problem}")
        verdicts.append(f"{name!r}: {report.message}")
    return replace(report, message=f"the log proves no problem of the question ({'; '.join(verdicts)})")


def _no_checker(path: Path) -> str:
    """Return the reason why no checker reads a file."""
    if not path.is_file():
        return f"there is no file {path}"
    log_format = _format(path)[:80]
    return f"this is no proof log: its first line states {f'the format {log_format!r}' if log_format else 'no format'}"


def _format(path: Path) -> str:
    """Return the format that the first line states; empty if it states none or cannot be read."""
    try:
        return str(json.loads(next(log_lines(path)))["format"])
    except Exception:  # noqa: BLE001 - a file may be wrong in every way
        return ""
