"""
How far apart are the classes?
==============================

The L2-SVM is a distance: that of the convex hulls of the two classes. Large rings carry the closest points of the hulls.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo
from marginopt.pictures import draw_hulls

rng = np.random.default_rng(4)
y = np.repeat([-1.0, 1.0], 25)
X = rng.normal(size=(50, 2)) * [1.0, 0.7] + 1.6 * y[:, None]
model = mo.ConvexHullsDual(X, y, C=100.0, kernel=mo.Linear())
result = mo.solve(model)

# %%
figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
_ = draw_hulls(model, result.values, axes)
