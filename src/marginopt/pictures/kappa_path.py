"""The path of κ behind a fitted `ConicSVCCV`: validation error, part given up, bound and rank ratio, as a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import COLOURS
from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.formulations.conic import ConicSVM
from ..models.views import ConicProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.conic import ConicSVCCV

__all__ = ["KappaPath", "draw_path", "kappa_path"]

#: A rank ratio of zero is drawn here: the axis is logarithmic.
_LEAST_RATIO = 1e-14


@dataclass(frozen=True, eq=False)
class KappaPath:
    """The validation and the solves along κ.

    Parameters
    ----------
    kappa : ndarray (m,)
    error, deviation : ndarray (m,)
        Mean validation error over the folds, and its standard deviation; NaN where there is no classifier.
    share : ndarray (m,)
        Σz/n on all points: κ where the budget is spent.
    bound, objective : ndarray (m,)
        Proved lower bound of min ||w||² with at most κn margin violations, Conic Appendix C, and the relaxation's objective.
    rank_ratio : ndarray (m,)
        Second over first eigenvalue of W; (near) zero where the relaxation is exact.
    chosen : float
        The κ that validation chose.
    """

    kappa: FloatArray
    error: FloatArray
    deviation: FloatArray
    share: FloatArray
    bound: FloatArray
    objective: FloatArray
    rank_ratio: FloatArray
    chosen: float


def kappa_path(estimator: ConicSVCCV, pair: int = 0, tol: float = 1e-8) -> KappaPath:
    """The path of a fitted `ConicSVCCV`: its validation, and its problem on all points solved at every κ.

    Parameters
    ----------
    estimator : ConicSVCCV
        Fitted.
    pair : int
        Which binary problem, where there are several.
    tol : float
        Relative gap of the solves.

    Raises
    ------
    InputError
        Not a fitted `ConicSVCCV`, or no such pair.
    """
    from ..estimators.conic import ConicSVCCV
    from ..solvers.conic.ipm import conic_path

    if not isinstance(estimator, ConicSVCCV) or "cv_scores_" not in vars(estimator):
        raise InputError(f"the path of kappa needs a fitted ConicSVCCV: call fit(X, y) first; got {type(estimator).__name__}")
    problems = estimator.problem_ if isinstance(estimator.problem_, list) else [estimator.problem_]
    if not 0 <= pair < len(problems):
        raise InputError(f"pair must be a number from 0 to {len(problems) - 1}, an index of pairs_; it is {pair!r}")
    problem = problems[pair]
    assert isinstance(problem, ConicSVM)
    view = problem.view(ConicProblem)
    assert view is not None  # κ > 0
    path = conic_path(view, kappas=estimator.values_.tolist(), tolerance=tol)
    nothing = float("nan")
    return KappaPath(
        kappa=estimator.values_,
        error=1.0 - estimator.cv_scores_.mean(axis=1),
        deviation=estimator.cv_scores_.std(axis=1),
        share=np.array([nothing if at.point is None else at.point.values["z"].mean() for at in path]),
        bound=np.array([nothing if at.bound is None else at.bound.value for at in path]),
        objective=np.array([nothing if at.point is None else at.point.objective for at in path]),
        rank_ratio=np.array([nothing if at.point is None else problem.rank_ratio(at.point.values) for at in path]),
        chosen=estimator.kappa_,
    )


def draw_path(path: ConicSVCCV | KappaPath, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Four panels against κ: validation error, Σz/n, bound and objective, rank ratio; the chosen κ as an upright line.

    Parameters
    ----------
    path : ConicSVCCV or KappaPath
        A fitted estimator (its first pair), or what `kappa_path` made of one.
    axes : sequence of four matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    sequence of matplotlib Axes

    Raises
    ------
    InputError
        Not four axes, or an estimator that is not fitted.
    """
    table = path if isinstance(path, KappaPath) else kappa_path(path)
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(2, 2, figsize=(9.0, 6.0), layout="constrained", sharex=True)[1].ravel()
    if len(axes) != 4:
        raise InputError(f"the picture of a path needs 4 axes; there are {len(axes)}")
    kappa = table.kappa
    error, share, value, ratio = axes
    error.plot(kappa, table.error, color=COLOURS[0], label="validation error")
    spread = (table.error - table.deviation, table.error + table.deviation)
    error.fill_between(kappa, *spread, color=COLOURS[0], alpha=0.2, label="± one deviation of the folds")
    error.yaxis.set_major_formatter(lambda part, _: f"{part:.0%}")
    share.plot(kappa, table.share, color=COLOURS[0], label="Σz/n")
    share.plot(kappa, kappa, color="black", ls=":", lw=0.8, label="κ")
    value.plot(kappa, table.objective, color=COLOURS[1], label="objective")
    value.plot(kappa, table.bound, color=COLOURS[0], ls="--", label="proved bound")
    value.set_yscale("symlog", linthresh=1e-3)
    ratio.plot(kappa, np.maximum(table.rank_ratio, _LEAST_RATIO), color=COLOURS[2], label="second / first eigenvalue of W")
    ratio.set_yscale("log")
    for ax in axes:
        _finish(ax, table.chosen)
    return axes


def _finish(ax: Any, chosen: float) -> None:
    ax.axvline(chosen, color="black", lw=0.8, ls="--", label=f"chosen κ = {chosen:g}")
    ax.set_xlabel("κ")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
