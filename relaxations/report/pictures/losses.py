"""The loss functions of Cepeda, Gómez and Han, Figure 1."""

from __future__ import annotations

import numpy as np

from ....drawing import COLOURS, figure_of, svg_of
from ...losses import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss

__all__ = ["loss_functions"]

_GAMMAS = (0.1, 0.3, 1.0)


def loss_functions() -> str:
    """The functions of `relaxations.losses` at λ = 1, as in Figure 1 of Cepeda, Gómez and Han."""
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
    for gamma, colour in zip(_GAMMAS, COLOURS, strict=False):
        right.plot(u, conic_loss(u, gamma), color=colour, label=f"conic, γ = {gamma:g}")
    left.set_ylabel("loss (λ = 1)")
    for ax in (left, right):
        ax.legend(fontsize=8)
    return svg_of(figure)
