"""
Which λ should I take?
======================

Between a few breakpoints the optimal classifier does not change with λ. Cross-validation over all λ is a staircase, and no grid
can miss its best step.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(30), rng.normal(size=(30, 2)).round(1)])
y = np.where(X[:, 1] + 0.8 * rng.normal(size=30) > 0, 1.0, -1.0)
model = mo.ZeroOneSVM(X, y, intercept="free")
path = mo.path(model, "lam", "all")
print(path)

# %%
chosen = mo.questions.select_lam(model, folds=3)
figure, axes = plt.subplots(2, 1, figsize=(6, 4.6), sharex=True, layout="constrained")
path.plot(axes[0])
_ = chosen.plot(axes[1])
