"""
What do sparsity and fairness change?
=====================================

Restrictions are objects: at most so many features, scores that do not go with a group.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
y = np.repeat([-1.0, 1.0], 30)
X = np.column_stack([np.ones(60), rng.normal(size=(60, 5)) + 0.6 * y[:, None] * np.array([1.5, 1.0, 0.5, 0.2, 0.1])])
group = (X[:, 1] > 0).astype(int)

models = {
    "hinge": mo.Margin(X, y),
    "two features": mo.Margin(X, y, subject_to=mo.at_most(2).nonzero),
    "fair": mo.Margin(X, y, subject_to=mo.parity(group, 0.02)),
}
weights = {name: mo.solve(model, "scip", time_limit=30).values["w"] for name, model in models.items()}

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for k, (name, w) in enumerate(weights.items()):
    axes.bar(np.arange(6) + 0.25 * (k - 1), w, 0.25, color=("#0072B2", "#D55E00", "#009E73")[k], label=name)
axes.set_xlabel("coefficient, the intercept first")
_ = axes.legend()
