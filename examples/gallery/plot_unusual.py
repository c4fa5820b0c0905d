"""
Which points are unusual?
=========================

The smallest ball with slack (support vector data description): ν bounds the share of the points outside of it.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(5)
X = np.vstack([rng.normal(size=(60, 2)), rng.uniform(-4.5, 4.5, size=(8, 2))])

# %%
figure, axes = plt.subplots(figsize=(5, 4.5), layout="constrained")
axes.scatter(*X.T, s=14, color="#0072B2")
side = np.linspace(-5.0, 5.0, 200)
plane = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
for nu, style in ((0.02, ":"), (0.1, "--"), (0.3, "-")):
    model = mo.SVDD(X, nu=nu)
    result = mo.solve(model)
    scores = np.asarray(model.decision_function(result.values, plane)).reshape(200, 200)
    axes.contour(side, side, scores, levels=[0.0], colors="black", linestyles=[style])
    outside = int((np.asarray(model.decision_function(result.values, X)) < -1e-6).sum())
    axes.plot([], [], style, color="black", label=f"ν = {nu}: {outside} of {len(X)} outside")
axes.set_aspect("equal")
_ = axes.legend(fontsize=8)
