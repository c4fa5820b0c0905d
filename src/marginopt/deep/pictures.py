"""Plots of the training of `DeepNPSVC`: the classes' objectives J_l as a radar chart (figure A.4) and over the epochs (figure 2).

Figures are those of Zhang et al. (2024), *NPSVC++*. The training minimises the largest ϖ_l J_l for given class weights ϖ_l, by
the loss Σ τ_l ϖ_l J_l with dual weights τ_l of the unit simplex. A history has one `EpochRecord`, a dictionary, for each epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..drawing import COLOURS, GREY, colour_of, new_axes
from ..errors import InputError, short_text
from .training import EpochRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.projections.polar import PolarAxes


def draw_objectives(
    histories: Mapping[str, Sequence[EpochRecord]],
    epoch: int = -1,
    *,
    classes: Sequence[object] | None = None,
    log: bool = False,
    ax: PolarAxes | None = None,
) -> PolarAxes:
    """Draw a radar chart of J_l after an epoch: an axis for each of the K classes, a polygon for each run (figure A.4).

    Parameters
    ----------
    histories : mapping of label to ``history_``
        Histories of runs with comparable objectives: those of "chebyshev" and "sum" are comparable, "softmax" differs.
    epoch : int
        Index in the history; the last by default.
    classes : sequence, optional
        Labels of the axes.
    log : bool
        Logarithmic axes, as the paper's for later epochs.
    ax : PolarAxes, optional
        A new one where it is not given.

    Returns
    -------
    matplotlib PolarAxes

    Raises
    ------
    InputError
        No history, histories of different K, an epoch that one of them does not have, or log axes for objectives that are 0.
    """
    from matplotlib.ticker import MaxNLocator

    rows = _rows_at(histories, epoch)
    K = len(next(iter(rows.values())))
    if ax is None:
        ax = new_axes((4.5, 4.5), "polar")
    assert ax is not None
    angles = np.linspace(0.0, 2.0 * np.pi, K, endpoint=False)
    for k, (name, J) in enumerate(rows.items()):
        around, closed_curve = np.append(angles, angles[0]), np.append(J, J[0])
        ax.plot(around, closed_curve, color=colour_of(k), linewidth=1.4, marker="o", markersize=3, label=name)
    if log:
        _log_axis(ax, np.concatenate(list(rows.values())))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(3))
    ax.set_rlabel_position(180.0 / K)
    ax.set_xticks(angles, [str(name) for name in (range(K) if classes is None else classes)])
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2)
    return ax


def draw_training(history: Sequence[EpochRecord], ax: Axes | None = None, *, classes: Sequence[object] | None = None) -> Axes:
    """Draw J_l of every class over the epochs, the largest, and the dual Σ τ_l ϖ_l J_l beside it (figure 2).

    Parameters
    ----------
    history : sequence of EpochRecord
        ``history_`` of a fitted `DeepNPSVC`, or ``history`` of a `Training`.
    ax : matplotlib Axes, optional
        A new one where it is not given.
    classes : sequence, optional
        Names of the classes for the legend; without them the classes share one label.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No history.
    """
    if not history:
        raise InputError("a picture of training needs at least one epoch: give history_ of a fitted DeepNPSVC", name="history")
    if ax is None:
        ax = new_axes((5.5, 3.8))
    assert ax is not None
    epochs = [row["epoch"] for row in history]
    J = np.array([row["objectives"] for row in history])
    for k in range(J.shape[1]):
        label = "each class" if classes is None and k == 0 else None if classes is None else str(classes[k])
        ax.plot(epochs, J[:, k], color=None if classes is not None else GREY, linewidth=0.8, label=label)
    ax.plot(epochs, [row["largest"] for row in history], color=COLOURS[1], linewidth=1.8, label="largest (primal)")
    ax.plot(epochs, [row["dual"] for row in history], color=COLOURS[0], linewidth=1.8, linestyle="dashed", label="Σ τ_l ϖ_l J_l")
    ax.set_yscale("log")
    ax.set_xlabel("epoch")
    ax.set_ylabel("objective")
    ax.legend(fontsize=8)
    return ax


def _log_axis(ax: PolarAxes, values: np.ndarray) -> None:
    """Set logarithmic radii with three labelled circles, also where all values lie within one decade."""
    from matplotlib.ticker import NullLocator

    low, high = float(values.min()), float(values.max())
    if low <= 0.0:
        raise InputError(f"log axes need objectives > 0; the least is {low:g}: give log=False", name="log")
    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylim(low / 2.0, high * 1.1)
    circles = np.geomspace(low, high * 1.001, 3)
    ax.set_yticks(circles, [f"{value:.1e}" for value in circles])


def _rows_at(histories: Mapping[str, Sequence[EpochRecord]], epoch: int) -> dict[str, np.ndarray]:
    if not histories:
        raise InputError("give at least one history_ of a fitted DeepNPSVC", name="histories")
    rows = {}
    for name, history in histories.items():
        if not -len(history) <= epoch < len(history):
            raise InputError(
                f"the history {short_text(name)} has {len(history)} epochs; there is no number {epoch}", name="epoch"
            )
        rows[name] = np.asarray(history[epoch]["objectives"], dtype=np.float64)
    sizes = {J.size for J in rows.values()}
    if len(sizes) > 1:
        raise InputError(f"the histories are of different numbers of classes: {sorted(sizes)}", name="histories")
    return rows
