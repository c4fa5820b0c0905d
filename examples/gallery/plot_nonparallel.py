"""
When do two lines describe two classes better than one?
=======================================================

Each class lies along a direction of its own. Nonparallel classifiers have a line near each class and away from the other, and a
point belongs to the class of the nearer line.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(8)
t = rng.uniform(0.3, 3.0, 80)
y = np.repeat([-1, 1], 40)
X = np.column_stack([np.ones(80), t, np.where(y > 0, t, -0.4 * t) + 0.15 * rng.normal(size=80)])
lines = {side: mo.solve(mo.NonparallelSVM(X, y, side, "twsvm", r=0.1, kernel=mo.Linear())).values["u"] for side in (-1, 1)}

# %%
figure, axes = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
for side, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*X[y == side, 1:].T, marker, color=colour, ms=5, label=f"class {side:+d}")
    u = lines[side]
    across = np.linspace(-0.5, 3.2, 2)
    axes.plot(across, -(u[0] + u[1] * across) / u[2], color=colour)
axes.set_ylim(-2.0, 3.5)
_ = axes.legend()
