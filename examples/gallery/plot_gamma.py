"""
Which kernel width, without validation?
=======================================

Two rings, and an RBF kernel whose γ maximises the distance between the classes' hulls: one problem finds γ and the classifier.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
angle, y = rng.uniform(0.0, 2.0 * np.pi, 80), np.repeat([-1.0, 1.0], 40)
radius = np.where(y > 0.0, 1.0, 2.2) + 0.25 * rng.normal(size=80)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
classifier = mo.estimators.MaxMinSVC(C=10.0).fit(X, y)
print(classifier, f"gamma = {classifier.gamma_:.3g}")

# %%
figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
side = np.linspace(-3.2, 3.2, 120)
plane = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
scores = classifier.decision_function(plane).reshape(120, 120)
axes.contour(side, side, scores, levels=[0.0], colors="black")
for label, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*X[y == label].T, marker, color=colour, ms=5, label=f"class {label:+d}")
axes.set_aspect("equal")
_ = axes.legend(loc="upper right")
