"""
What does ε do in regression?
=============================

Support vector regression pays nothing within a tube of half-width ε: a wide tube ignores the noise, and the detail too.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(7)
x = np.sort(rng.uniform(-3.0, 3.0, 60))
y = np.sin(1.5 * x) + 0.15 * rng.normal(size=60)
X, line = x[:, None], np.linspace(-3.0, 3.0, 200)[:, None]

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, epsilon in zip(axes, (0.2, 0.8), strict=True):
    model = mo.EpsilonSVR(X, y, C=10.0, epsilon=epsilon, kernel=mo.RBF(1.0))
    result = mo.solve(model)
    curve = np.asarray(model.decision_function(result.values, line)).ravel()
    ax.fill_between(line.ravel(), curve - epsilon, curve + epsilon, color="#0072B2", alpha=0.2)
    ax.plot(line, curve, color="#0072B2")
    ax.plot(x, y, "o", color="#D55E00", ms=4)
    _ = ax.set_title(f"ε = {epsilon}", fontsize=10)
