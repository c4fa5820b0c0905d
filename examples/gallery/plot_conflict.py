"""
Why has my model no solution?
=============================

No classifier keeps every margin here: a point of class +1 lies in a triangle of points of class -1. The conflict names these four
rows, with multipliers that prove it; without any one of them there is a solution.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
y = np.repeat([-1.0, 1.0], 10)
X = np.column_stack([np.ones(20), rng.normal(size=(20, 2)) + 0.3 * y[:, None]])
conflict = mo.ConicSVM(X, y, kappa=0.0).conflict()
print(conflict)

# %%
figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
ringed = X[list(conflict.points)]
side = y[list(conflict.points)]
axes.fill(*ringed[side < 0, 1:].T, color="#0072B2", alpha=0.15)
for label, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*X[y == label, 1:].T, marker, color=colour, ms=5, label=f"class {label:+d}")
axes.plot(*ringed[:, 1:].T, "o", ms=12, mfc="none", color="black", label="in the conflict")
_ = axes.legend()
