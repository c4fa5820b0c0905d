"""
Which points carry the classifier?
==================================

The dual of a kernel SVM has a weight for each point. Most weights are zero: the support vectors alone carry the classifier.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(3)
y = np.repeat([-1.0, 1.0], 40)
angle = rng.uniform(0.0, np.pi, 80)
X = np.column_stack([np.cos(angle) + 0.5 * (y > 0), np.where(y > 0, 0.3 - np.sin(angle), np.sin(angle))])
X += 0.12 * rng.normal(size=X.shape)
model = mo.L1SVMDual(X, y, C=10.0, kernel=mo.RBF(1.0))
result = mo.solve(model, "smo-box")
weights = result.values["a"]
print(f"{int((weights > 1e-6).sum())} of {y.size} points have a weight")

# %%
side = np.linspace(-1.6, 2.1, 120)
plane = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
scores = np.asarray(model.decision_function(result.values, plane)).reshape(120, 120)
figure, axes = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
axes.contour(side, side, scores, levels=[-1.0, 0.0, 1.0], colors="black", linestyles=["--", "-", "--"])
for label, colour in ((-1, "#0072B2"), (1, "#D55E00")):
    axes.scatter(*X[y == label].T, s=14, color=colour, label=f"class {label:+d}")
    axes.scatter(*X[y == label].T, s=25.0 * weights[y == label], facecolors="none", edgecolors=colour)
axes.set_ylim(-1.4, 1.6)
_ = axes.legend()
