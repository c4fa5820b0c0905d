"""
Exact against hinge with outliers
=================================

Clustered outliers pull the hinge loss; the 0-1 loss pays the same for each, however far it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.instances.gaussian_clusters(60, 2, sigma=0.2, outliers="clustered", rng=0)
classifiers = {
    "hinge": mo.solve(mo.HingeSVM(data.X, data.y, lam=1.0)),
    "0-1, proved": mo.solve(mo.ZeroOneSVM(data.X, data.y, lam=1.0), "zero-one-bb", time_limit=30),
}

# %%
# The column of ones comes first, so a line is w_0 + w_1 x_1 + w_2 x_2 = 0.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for label, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*data.X[data.y == label, 1:].T, marker, color=colour, ms=5, label=f"class {label:+d}")
across = np.linspace(data.X[:, 1].min(), data.X[:, 1].max(), 2)
for (name, result), style in zip(classifiers.items(), ("--", "-"), strict=True):
    w = result.values["w"]
    if abs(w[2]) > 1e-9:
        axes.plot(across, -(w[0] + w[1] * across) / w[2], style, color="black", label=name)
axes.set_ylim(data.X[:, 2].min() - 0.5, data.X[:, 2].max() + 0.5)
_ = axes.legend()
