"""Pictures of K-NPSVC++: how its training went (NPSVC++, Figure 2), and the classes' objectives as a radar chart (Figure A.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..drawing import GREY, colour_of, new_axes
from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_objectives", "draw_training"]

#: From so many classes on their curves are one grey bundle.
_MANY = 8


def draw_training(steps: Sequence[Mapping[str, Any]], labels: Sequence[Any] | None = None, ax: Axes | None = None) -> Axes:
    """Draw J_l, the primal value max ϖ_l J_l and the dual value over the outer iterations, NPSVC++ Figure 2.

    Parameters
    ----------
    steps : sequence of mapping
        ``KernelNPSVC.history_``, or ``result.history`` of "kernel-npsvcpp". The dual value is drawn where it was
        recorded (``solve(model, "kernel-npsvcpp", dual_values=True)``).
    labels : sequence, optional
        Names of the classes; 0, 1, ... where not given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No steps; not one label for each class.
    """
    if not steps:
        raise InputError("there are no iterations to draw: give KernelNPSVC.history_ or result.history")
    J = np.array([step["objectives"] for step in steps], dtype=np.float64)
    names = _names(labels, J.shape[1])
    if ax is None:
        ax = new_axes((5.5, 4.0))
    iterations = np.arange(1, len(steps) + 1)
    many = J.shape[1] >= _MANY
    for k, name in enumerate(names):
        colour = GREY if many else colour_of(k)
        label = f"J of class {name}" if not many else ("J of each class" if k == 0 else None)
        ax.plot(iterations, J[:, k], color=colour, linewidth=1.0, marker="." if len(steps) < 30 else None, label=label)
    ax.plot(iterations, [step["largest"] for step in steps], color="black", linewidth=1.8, label="primal: largest weighted J")
    dual = np.array([step["dual"] for step in steps], dtype=np.float64)
    if np.isfinite(dual).any():
        ax.plot(iterations, dual, color="black", linewidth=1.5, linestyle="dashed", label="dual value for this projection")
    ax.set_xlabel("outer iteration")
    ax.set_ylabel("objective")
    ax.legend(fontsize=8)
    return ax


def draw_objectives(
    objectives: Mapping[str, Sequence[float]], labels: Sequence[Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw every class's objective as a radar chart, one closed line for each method, NPSVC++ Figure A.4.

    Each class has its own axis from 0 at the centre to its largest value over the methods at the rim, so that a line nearer
    to the centre is a smaller objective, whatever the scale of the class.

    Parameters
    ----------
    objectives : mapping of name to sequence of float
        J_l ≥ 0 by method, all of K ≥ 3 classes: ``{"K-NPSVC++": model.objectives_, ...}``.
    labels : sequence, optional
        Names of the classes; 0, 1, ... where not given.
    ax : matplotlib Axes, optional
        Polar axes; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No method, fewer than three classes, unequal lengths, values that are negative or not finite; axes that are not polar.
    """
    values = _table(objectives)
    names = _names(labels, values.shape[1])
    if ax is None:
        ax = new_axes((4.5, 4.5), "polar")
    if ax.name != "polar":
        raise InputError("a radar chart needs polar axes: give plt.subplots(subplot_kw={'projection': 'polar'})[1], or none")
    angles = 2.0 * np.pi * np.arange(values.shape[1]) / values.shape[1]
    rim = values.max(axis=0)
    shares = values / np.where(rim > 0.0, rim, 1.0)
    for m, name in enumerate(objectives):
        closed = np.append(shares[m], shares[m, 0])
        colour = colour_of(m)
        ax.plot(np.append(angles, angles[0]), closed, color=colour, linewidth=1.5, label=name)
        ax.fill(angles, shares[m], color=colour, alpha=0.08)
    ax.set_xticks(angles, [f"{name}\n{top:.3g}" for name, top in zip(names, rim, strict=True)], fontsize=8)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], [])
    ax.set_ylim(0.0, 1.0)
    ax.legend(fontsize=8, loc="lower right")
    return ax


def _table(objectives: Mapping[str, Sequence[float]]) -> npt.NDArray[np.float64]:
    """Methods × classes."""
    rows = [np.asarray(value, dtype=np.float64) for value in objectives.values()]
    if not rows or any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
        raise InputError("objectives must map at least one method to its classes' objectives, as many for each method")
    table = np.array(rows)
    if table.shape[1] < 3:
        raise InputError(f"a radar chart needs three classes or more; there are {table.shape[1]}")
    if not np.isfinite(table).all() or (table < 0.0).any():
        raise InputError("the objectives must be finite and ≥ 0")
    return table


def _names(labels: Sequence[Any] | None, K: int) -> list[str]:
    names = [str(k) for k in range(K)] if labels is None else [str(label) for label in labels]
    if len(names) != K:
        raise InputError(f"one label for each of the {K} classes is needed; there are {len(names)}")
    return names
