"""
Can a classifier be a table of points?
======================================

A scoring system adds up whole numbers, so that it can be used without a computer. The integer program finds the table with the
fewest errors for a number of features, and proves it.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(9)
names = ["age over 60", "smoker", "pain at rest", "fever", "cough"]
X = (rng.uniform(size=(200, 5)) < 0.4).astype(float)
risk = X @ [3.0, 1.2, 2.0, 0.3, 0.0] - 2.5 + 0.4 * rng.normal(size=200)
y = np.where(risk > 0.0, 1.0, -1.0)
ones = np.column_stack([np.ones(200), X])
model = mo.ScoringSystem(ones, y, coefficients=(-5, 5), max_features=3, C0=0.001)
result = mo.solve(model, time_limit=30)
points = np.rint(result.values["w"]).astype(int)
errors = int((y * (ones @ points) <= 0).sum())
print(f"{errors} errors of {y.size}, {result.bound_kind}")

# %%
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.barh(names[::-1], points[:0:-1], color="#0072B2")
axes.axvline(0.0, color="black", lw=0.8)
_ = axes.set_xlabel(f"points; positive where the sum is above {-points[0]}")
