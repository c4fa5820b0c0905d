"""
How does the certificate work?
==============================

Every choice of multipliers gives a lower bound, computed from the data outside the solver. Multipliers with an error of 1%, 10%
or 100% give a weaker bound, and never a wrong one: no solver has to be believed.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.instances.gaussian_clusters(40, 2, sigma=0.3, seed=1)
model = mo.HingeSVM(data.X, data.y, lam=1.0)
result = mo.solve(model, "clarabel")

rng = np.random.default_rng(0)
errors = np.tile(np.geomspace(1e-3, 1.0, 13), 4)
bounds = []
for error in errors:
    multipliers = {name: z * (1.0 + error * rng.uniform(-1.0, 1.0, z.shape)) for name, z in result.multipliers.items()}
    bounds.append(mo.certify(model, result.values, multipliers).bound)

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.axhline(result.objective, color="black", label="objective of the point")
axes.semilogx(errors, bounds, "o", ms=4, color="#0072B2", label="proved bound")
axes.set_xlabel("relative error of the multipliers")
_ = axes.legend()
