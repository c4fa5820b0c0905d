"""
Which algorithm closes the gap first?
=====================================

The certified gap of four algorithms on one L2-SVM.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
y = np.repeat([-1.0, 1.0], 75)
X = rng.normal(size=(150, 5)) + 0.4 * y[:, None]
model = mo.L2SVMDual(X, y, C=10.0, kernel=mo.RBF(0.1))

table = mo.compare(model, ["fw", "mfw", "pairwise-fw", "smo"], tol=1e-4, time_limit=2)
print(table)

# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
_ = table.plot_convergence(axes)
