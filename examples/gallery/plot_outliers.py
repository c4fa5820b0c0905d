"""
What do outliers do to the hinge loss?
======================================

Five outliers of class +1 lie far on the wrong side. The 0-1 loss pays the same for each, however far it is; the hinge loss pays
by the distance, and its cheapest classifier here gives w_1 = w_2 = 0: every point is in class +1.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.instances.gaussian_clusters(60, 2, sigma=0.2, outliers="clustered", seed=0)
classifiers = {
    "hinge": mo.solve(mo.HingeSVM(data.X, data.y, lam=1.0)),
    "0-1, proved": mo.solve(mo.ZeroOneSVM(data.X, data.y, lam=1.0), "zero-one-bb", time_limit=30),
}

# %%
# The column of ones comes first, so a line is w_0 + w_1 x_1 + w_2 x_2 = 0; a classifier without one says so in the legend.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for label, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*data.X[data.y == label, 1:].T, marker, color=colour, ms=5, label=f"class {label:+d}")
across = np.linspace(data.X[:, 1].min(), data.X[:, 1].max(), 2)
for (name, result), style in zip(classifiers.items(), ("--", "-"), strict=True):
    w = result.values["w"]
    wrong = int((data.y * (data.X @ w) < 0).sum())
    if np.abs(w[1:]).max() > 1e-3:
        axes.plot(across, -(w[0] + w[1] * across) / w[2], style, color="black", label=f"{name}: {wrong} misclassified")
    else:
        axes.plot([], [], style, color="black", label=f"{name}: one class, no line, {wrong} misclassified")
axes.set_ylim(data.X[:, 2].min() - 0.5, data.X[:, 2].max() + 0.5)
_ = axes.legend()
