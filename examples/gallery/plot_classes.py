"""
How are three classes separated in one problem?
===============================================

Crammer and Singer's program has a row of weights for each class, and a point belongs to the class with the largest score.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(6)
names = np.array(["circle", "square", "triangle"])
y = np.repeat(names, 25)
centres = np.repeat([[0.0, 1.6], [-1.5, -0.9], [1.5, -0.9]], 25, axis=0)
X = np.column_stack([np.ones(75), centres + 0.7 * rng.normal(size=(75, 2))])
model = mo.MulticlassSVM(X, y)
result = mo.solve(model)

# %%
side = np.linspace(-4.0, 4.0, 200)
plane = np.column_stack([np.ones(40_000), *(part.ravel() for part in np.meshgrid(side, side))])
predicted = np.searchsorted(names, model.predict(result.values, plane)).reshape(200, 200)
figure, axes = plt.subplots(figsize=(5, 4.5), layout="constrained")
axes.contour(side, side, predicted, levels=[0.5, 1.5], colors="black")
for name, marker, colour in zip(names, "os^", ("#0072B2", "#D55E00", "#009E73"), strict=True):
    axes.plot(*X[y == name, 1:].T, marker, color=colour, ms=5, label=name)
_ = axes.legend()
