"""
Which loss pays for what?
=========================

The losses of a margin u: the hinge pays by the distance, ramp and 0-1 loss pay at most 1, and the conic loss is the strongest
convex bound of the 0-1 loss once part of the norm (γ) pays for it.
"""

import matplotlib.pyplot as plt
import numpy as np

from marginopt.relaxations.losses import conic_loss, hinge_loss, ramp_loss, zero_one_loss

u = np.linspace(-2.0, 2.0, 401)
losses = {
    "0-1": zero_one_loss(u),
    "hinge": hinge_loss(u),
    "ramp": ramp_loss(u),
    "conic, γ = 0.3": conic_loss(u, 0.3),
}

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (name, loss), colour in zip(losses.items(), ("#000000", "#D55E00", "#009E73", "#0072B2"), strict=True):
    axes.plot(u, loss, color=colour, label=name)
axes.set_xlabel("margin u = y x'w")
axes.set_ylabel("loss")
axes.set_ylim(-0.1, 2.2)
_ = axes.legend()
