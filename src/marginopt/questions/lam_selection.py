"""`select_lam`: choose λ of a 0-1-loss SVM by cross-validation over every λ in an interval in place of a grid.

The problem is min ||w||² + λ Σ c_i 1{y_i x_i'w < 1} with costs c_i. Its optimal classifier is piecewise constant in λ, and
`whole_path` finds the finitely many pieces for the training points of each fold. So the sum of the validation errors is piecewise
constant as well, with the breakpoints of all folds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..display import Display, Displayable, Tabular, bound_text
from ..drawing import COLOURS, new_axes
from ..errors import InputError, UnsupportedModelError, count_text, short_text
from ..models.arrays import FloatArray, IntArray, as_positive
from ..models.digest import fingerprint
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model, decided_labels
from ..solvers.parallel import choose_executor
from ..solvers.proofs import Question
from ..solvers.whole_path import PathReport, WholePath, whole_path


@dataclass(frozen=True, eq=False)
class LamSelection(Displayable, Tabular, Question):
    """The validation error as a function of λ, and the λ that is chosen where it is least.

    Parameters
    ----------
    ends : ndarray (pieces + 1,)
        Ends of the intervals (pieces) of λ on which every fold's classifier is constant, from 0 to ``lam_max``.
    errors : ndarray (pieces, folds)
        Number of misclassified validation points on each piece.
    splits : tuple of (ndarray, ndarray)
        Indices of the training and the validation points of each fold.
    lam : float
        The chosen λ: the geometric mean of the ends of the first piece with the fewest errors; half its end if it begins at 0.
    path : WholePath
        The path of the whole data: the optimal classifier as a function of λ.
    folds : tuple of WholePath
        The path of each fold's training points.
    proved : bool
        Whether every fold's path is proved, so that no other λ in (0, lam_max] has a smaller validation error for these
        classifiers.
    """

    ends: FloatArray
    errors: FloatArray
    splits: tuple[tuple[IntArray, IntArray], ...]
    lam: float
    path: WholePath
    folds: tuple[WholePath, ...]
    proved: bool

    @property
    def rate(self) -> FloatArray:
        """The share of misclassified validation points on each piece."""
        return np.asarray(self.errors.sum(axis=1) / sum(len(test) for _, test in self.splits))

    @property
    def w(self) -> FloatArray:
        """The classifier of the whole data at the chosen λ."""
        return self.path.at(self.lam).w

    @property
    def sentence(self) -> str:
        """Return the choice as one sentence: the claim, whether it is proved, the logs' digests and the data."""
        digests = [digest[:16] for path in self.folds for digest in path.digests]
        logs = f", logs sha256 {', '.join(digests)}" if digests else ""
        largest, rate = (float(bound_text(float(number), "minimum")) for number in (self.ends[-1], self.rate.min()))
        return (
            f"No λ in (0, {largest:.4g}] has a validation error below {rate:.4g} "
            f"over {count_text(len(self.folds), 'fold')}, and λ = {self.lam!r} attains it: "
            f"{'proved' if self.proved else 'not proved'}{logs}, {count_text(len(self.path.model.y), 'point')}."
        )

    def problems(self) -> Mapping[str, Model]:
        """Return the models, derived from the training data, whose proof logs prove the breakpoints of every fold's path."""
        paths = enumerate(self.folds)
        return {f"fold {k}, {name}": model for k, path in paths for name, model in path.problems().items()}

    def check(self) -> PathReport:
        """Verify every fold's path from its logs, and recompute the pieces, their validation errors and the choice."""
        model, reports = self.path.model, [path.check() for path in self.folds]
        faults = [f"fold {k}: {report.message}" for k, report in enumerate(reports) if not report.valid]
        parts = [_part(model, train) for train, _ in self.splits]
        for k, (path, part) in enumerate(zip(self.folds, parts, strict=True)):
            if fingerprint(path.model) != fingerprint(part) or path.lam_max < self.path.lam_max:
                faults.append(f"fold {k}: the path is of other data, or ends before λ = {self.path.lam_max:g}")
        ends = _ends(self.folds, self.path.lam_max)
        errors = _piece_errors(model, ends, self.folds, self.splits)
        if not (np.array_equal(self.ends, ends) and np.array_equal(self.errors, errors)):
            faults.append("the pieces or their validation errors are others")
        elif self.lam != _choice(ends, errors) or (self.proved and not all(path.proved for path in self.folds)):
            faults.append("the chosen λ is another, or a fold's path is not proved")
        return PathReport(
            not faults, min(report.ratio for report in reports), sum(report.nodes for report in reports), "; ".join(faults[:1])
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each piece."""
        return [
            {"lam from": self.ends[k], "lam to": self.ends[k + 1], "validation error": rate}
            for k, rate in enumerate(self.rate.tolist())
        ]

    def __str__(self) -> str:
        status_text = "proved" if self.proved else "not proved"
        return (
            f"λ = {self.lam:.6g} minimises the validation error on (0, {self.ends[-1]:.4g}]: "
            f"{self.rate.min():.3%}, {status_text}\n"
            f"  {count_text(len(self.folds), 'fold')}; {int((self.rate == self.rate.min()).sum())} "
            f"of {count_text(len(self.rate), 'interval')} of λ attain it"
        )

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple(
            (f"{row['lam from']:.6g}", f"{row['lam to']:.6g}", f"{row['validation error']:.4%}") for row in self.records()
        )
        return Display(str(self), head=("λ from", "λ to", "validation error"), rows=rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw the staircase of the validation error against λ and the chosen λ; return the matplotlib axes."""
        axes = new_axes((6.0, 4.0)) if ax is None else ax
        ends = self.ends.copy()
        ends[0] = 0.3 * ends[1]
        axes.stairs(self.rate, ends, baseline=None, color=COLOURS[0], lw=1.6, label="validation error")
        axes.axvline(self.lam, color="black", ls="--", lw=0.8, label=f"chosen λ = {self.lam:.4g}")
        axes.set_xscale("log")
        axes.set_xlabel("λ")
        axes.set_ylabel("validation error")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        return axes


def select_lam(
    model: ZeroOneSVM, folds: int | Iterable[Any] = 5, *, lam_max: float | None = None, tol: float = 1e-8,
    time_limit: float | None = None, proof: str | Path | None = None, seed: int = 0, jobs: int | None = None,
) -> LamSelection:  # fmt: skip
    """Choose λ by cross-validation over every λ in (0, lam_max].

    Parameters
    ----------
    model : ZeroOneSVM
        The data, and the costs c_i: 1 for a model with one λ, else the model's λ of each point.
    folds : int or iterable of (train, test)
        A number of stratified folds, or pairs of index arrays.
    lam_max : float, optional
        Largest λ; by default 1e7 over the median squared norm of the rows.
    tol, time_limit : float
        Relative gap of every solve; seconds for all paths together. A choice that they end is not proved.
    proof : str or Path, optional
        Folder of the proof logs, with a folder for each fold, which `LamSelection.check` verifies.
    seed : int
        Seed of the shuffle before the split into stratified folds.
    jobs : int, optional
        Folds at a time, -1 for all cores. Without ``time_limit`` the selection does not depend on it.

    Returns
    -------
    LamSelection
        The chosen λ, the validation errors of all λ, and whether they are proved.

    Raises
    ------
    UnsupportedModelError
        The model is no linear `ZeroOneSVM` with λ.
    InputError
        Fewer than two folds, a class with fewer points than folds, a fold without one of the classes.
    """
    # exempt (formulation): the whole path over λ is of this formulation alone
    if not isinstance(model, ZeroOneSVM) or model.kappa is not None or model.kernel is not None:
        raise UnsupportedModelError("λ is selected for a linear ZeroOneSVM(X, y, lam)")
    splits = _splits(model, folds, seed)
    limit = math.inf if time_limit is None else as_positive(time_limit, "time_limit")
    deadline = time.time() + limit
    full_path = whole_path(model, lam_max=lam_max, tol=tol, time_limit=None if limit == math.inf else limit)
    folders = [None if proof is None else Path(proof) / f"fold-{k}" for k in range(len(splits))]
    folds_data = [_part(model, train) for train, _ in splits]
    tasks = [(part, full_path.lam_max, tol, deadline, folder) for part, folder in zip(folds_data, folders, strict=True)]
    with choose_executor(jobs) as executor:
        paths = executor.run_all(_fold_path, tasks)
    ends = _ends(paths, full_path.lam_max)
    errors = _piece_errors(model, ends, paths, splits)
    proved = all(path.proved for path in paths)
    return LamSelection(ends, errors, tuple(splits), _choice(ends, errors), full_path, tuple(paths), proved)


def _fold_path(task: tuple[ZeroOneSVM, float, float, float, Path | None], threads: int | None) -> WholePath:
    """Return the path of a fold in the time that is left until the deadline, in seconds of the clock that processes share."""
    part, lam_max, tol, deadline, folder = task
    remaining = None if deadline == math.inf else max(deadline - time.time(), 1e-6)
    return whole_path(part, lam_max=lam_max, tol=tol, time_limit=remaining, proof=folder)


def _ends(paths: Sequence[WholePath], lam_max: float) -> FloatArray:
    """Return the ends of the pieces of (0, lam_max] on each of which every fold has one classifier."""
    inner = {corner.lam_high for path in paths for corner in path.corners[:-1]}
    return np.array([0.0, *sorted(lam for lam in inner if lam < lam_max), lam_max])


def _choice(ends: FloatArray, errors: FloatArray) -> float:
    """Return the λ of the first piece with the fewest errors."""
    return float(_middles(ends)[int(np.argmin(errors.sum(axis=1)))])


def _middles(ends: FloatArray) -> FloatArray:
    """Return the geometric middle of each piece; of the first one, which begins at 0, half its end."""
    return np.concatenate([[0.5 * ends[1]], np.sqrt(ends[1:-1] * ends[2:])])


def _piece_errors(model: ZeroOneSVM, ends: FloatArray, paths: Sequence[WholePath], splits: Sequence[Any]) -> FloatArray:
    """Return the misclassified validation points of every fold on each piece."""
    pairs = [(path, test) for path, (_, test) in zip(paths, splits, strict=True)]
    return np.array([[_errors(model, path.at(lam).w, test) for path, test in pairs] for lam in _middles(ends)])


def _part(model: ZeroOneSVM, rows: Any) -> ZeroOneSVM:
    prices: Any = 1.0 if isinstance(model.lam, float) else model.sample_weight[rows]
    return ZeroOneSVM(np.asarray(model.X)[rows], model.y[rows], prices, intercept=model.intercept)


def _errors(model: ZeroOneSVM, w: FloatArray, rows: Any) -> float:
    scores = np.asarray(model.X)[rows] @ w
    return float((decided_labels(scores) != model.y[rows]).sum())


def _splits(model: ZeroOneSVM, folds: int | Iterable[Any], seed: int) -> list[tuple[Any, Any]]:
    """Return index arrays of training and validation points, both classes in every training part."""
    y = model.y
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        smallest = int(min((y > 0).sum(), (y < 0).sum()))
        if not 2 <= folds <= smallest:
            raise InputError(
                f"folds must be between 2 and the {smallest} points of the smaller class; it is {folds}", name="folds"
            )
        from sklearn.model_selection import StratifiedKFold

        return list(StratifiedKFold(int(folds), shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y))
    try:
        splits = [(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in folds]  # type: ignore[union-attr]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"folds must be a number ≥ 2 or pairs of index arrays; it is {short_text(folds)}", name="folds"
        ) from error
    within = all(part.ndim == 1 and part.size and part.min() >= 0 and part.max() < len(y) for pair in splits for part in pair)
    if not splits or not within or any(np.unique(y[train]).size < 2 for train, _ in splits):
        raise InputError("each fold needs indices of the model's points, both classes in training and at least one to validate")
    return splits
