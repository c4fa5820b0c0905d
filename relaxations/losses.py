"""The 0-1 loss and its approximations as functions of the margin u = y x'w, and their picture for the gap report.

The losses are those of Figure 1 of Cepeda, Gómez and Han (2024, "Conic"), which prints a formula of the conic loss alone; the
other definitions are those of the works that it cites. Every loss takes numbers or arrays and returns an array of the same shape.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from ..drawing import COLOURS, figure_of, svg_of
from ..errors import InputError
from ..models.arrays import FloatArray, as_positive


def zero_one_loss(u: npt.ArrayLike, lam: float = 1.0) -> FloatArray:
    """Return the 0-1 loss λ·1{u < 1}, Conic (3), which counts margin violations.

    Parameters
    ----------
    u : array_like
        Margins.
    lam : float
        λ > 0, the loss of a violation.

    Returns
    -------
    ndarray
        The loss of each margin.
    """
    return np.where(_margins(u) < 1.0, as_positive(lam, "lam"), 0.0)


def hinge_loss(u: npt.ArrayLike, lam: float = 1.0) -> FloatArray:
    """Return the hinge loss λ(1 - u)_+, Conic (2): convex, above the 0-1 loss for u < 0 and below it for 0 < u < 1.

    Parameters
    ----------
    u : array_like
        Margins.
    lam : float
        λ > 0, minus the slope for u < 1.

    Returns
    -------
    ndarray
        The loss of each margin.
    """
    return as_positive(lam, "lam") * np.maximum(1.0 - _margins(u), 0.0)


def ramp_loss(u: npt.ArrayLike, lam: float = 1.0) -> FloatArray:
    """Return the ramp loss λ min(1, (1 - u)_+): the hinge truncated at 1, as plotted in Figure 1 (Wu and Liu 2007).

    At most λ·1{u < 1}. The ramp of Brooks (2011), which `RampSVM` states, is truncated at 2.

    Parameters
    ----------
    u : array_like
        Margins.
    lam : float
        λ > 0, the largest loss.

    Returns
    -------
    ndarray
        The loss of each margin.
    """
    return as_positive(lam, "lam") * np.clip(1.0 - _margins(u), 0.0, 1.0)


def psi_loss(u: npt.ArrayLike, lam: float = 1.0) -> FloatArray:
    """Return the loss λ·1{u < 0} of ψ-learning (Shen, Tseng, Zhang, Wong 2003), the step at 0. At most λ·1{u < 1}.

    It is the limit τ → 0 of their family, which is λ (in their scale 2) for u < 0, positive on [0, τ] and 0 beyond.

    Parameters
    ----------
    u : array_like
        Margins.
    lam : float
        λ > 0, the loss of a violation.

    Returns
    -------
    ndarray
        The loss of each margin.
    """
    return np.where(_margins(u) < 0.0, as_positive(lam, "lam"), 0.0)


def normalised_sigmoid_loss(u: npt.ArrayLike, lam: float = 1.0, steepness: float = 1.0) -> FloatArray:
    """Return the normalised sigmoid loss λ(1 - tanh(t u)) (Mason, Baxter, Bartlett, Frean 1999), between 0 and 2λ.

    It does not underestimate the 0-1 loss: it is positive for u ≥ 1 and exceeds λ for u < 0.

    Parameters
    ----------
    u : array_like
        Margins.
    lam : float
        λ > 0, half the largest loss.
    steepness : float
        t > 0.

    Returns
    -------
    ndarray
        The loss of each margin.
    """
    return as_positive(lam, "lam") * (1.0 - np.tanh(as_positive(steepness, "steepness") * _margins(u)))


def conic_loss(u: npt.ArrayLike, gamma: float, lam: float = 1.0) -> FloatArray:
    """Return the conic loss, Conic Proposition 1, (10).

    With r = 1 - u: 0 for r ≤ 0; 2√(λγ) r - γ r² for 0 < r ≤ √(λ/γ); λ beyond. It is the minimum over 0 ≤ z ≤ 1 of
    λz + γ(r_+²/z + r_-²/(1 - z) - r²), so at most λ·1{u < 1}; it grows with γ and dominates the ramp and ψ losses for γ ≥ λ.
    (Erratum: the printed proof of Proposition 1 drops γ_i.)

    Parameters
    ----------
    u : array_like
        Margins.
    gamma : float
        γ ≥ 0: the loss plus γr² is convex, so the squared norm must make up for γr²; 0 gives the zero function.
    lam : float
        λ > 0.

    Returns
    -------
    ndarray
        The loss of each margin, of the shape of u.

    Raises
    ------
    InputError
        γ < 0, λ ≤ 0 or margins that are not numbers.
    """
    lam, gamma = as_positive(lam, "lam"), as_positive(gamma, "gamma", zero=True)
    r = np.maximum(1.0 - _margins(u), 0.0)
    if gamma == 0.0:
        return np.zeros_like(r)
    corner = float(np.sqrt(lam / gamma))
    return np.where(r <= corner, np.minimum(r * (2.0 * np.sqrt(lam * gamma) - gamma * r), lam), lam)


def _margins(u: npt.ArrayLike) -> FloatArray:
    try:
        margins = np.asarray(u, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"margins u must be numbers: {error}", name="margins") from error
    if np.isnan(margins).any():
        raise InputError("margins u must not be NaN", name="margins")
    return margins


@cache
def draw_losses() -> str:
    """Draw the loss functions at λ = 1, as in Figure 1 of Cepeda, Gómez and Han; return SVG."""
    u = np.linspace(-2.0, 2.0, 801)
    figure = figure_of(10.0, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for ax in (left, right):
        ax.step(u, zero_one_loss(u), where="post", color="black", lw=1.6, label="0-1: 1{u < 1}")
        ax.set_xlabel("margin u = y x'w")
        ax.set_ylim(-0.05, 2.1)
        ax.grid(alpha=0.3)
    literature = {"hinge": hinge_loss, "ramp": ramp_loss, "ψ": psi_loss, "normalised sigmoid": normalised_sigmoid_loss}
    for (name, loss), colour, style in zip(literature.items(), COLOURS, ("-", "-", "--", "-"), strict=False):
        left.plot(u, loss(u), style, color=colour, label=name)
    for gamma, colour in zip((0.1, 0.3, 1.0), COLOURS, strict=False):
        right.plot(u, conic_loss(u, gamma), color=colour, label=f"conic, γ = {gamma:g}")
    left.set_ylabel("loss (λ = 1)")
    for ax in (left, right):
        ax.legend(fontsize=8)
    return svg_of(figure)
