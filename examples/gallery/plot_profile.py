"""
Which solver is fast, and which is reliable?
============================================

Four solvers of quadratic programs on twelve hinge problems: the part that each solves within a factor of the fastest time.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
comparisons = {}
for k in range(12):
    n, p = int(rng.integers(40, 200)), int(rng.integers(2, 20))
    y = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p)) + 0.5 * y[:, None]])
    model = mo.HingeSVM(X, y, lam=1.0)
    comparisons[f"problem {k}"] = mo.compare(model, ["clarabel", "piqp", "osqp", "highs"], time_limit=5)

profile = mo.performance_profile(comparisons)
print(profile)

# %%
# Dolan and Moré (2002): higher is better, at the left the fastest, at the right the most reliable.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
_ = profile.plot(axes)
