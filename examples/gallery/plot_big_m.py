"""
What does M do?
===============

Where a point may violate its margin, M is the size of the violation that the program allows. Any M that is large enough has the
same optimum; the bound of the continuous relaxation, which a solver starts from, falls as M grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.instances.gaussian_clusters(40, 2, sigma=0.5, outliers="clustered", seed=1)
valid = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
optimum = mo.solve(valid, "zero-one-bb", time_limit=30).objective

factors = np.array([1.0, 2.0, 5.0, 10.0, 100.0])
models = [mo.ZeroOneSVM(data.X, data.y, lam=1.0, big_m=factor * valid.big_m_values) for factor in factors]
bounds = [mo.solve(model.relaxed(), "clarabel").bound for model in models]

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.axhline(optimum, color="black", label="optimum, whatever M is")
axes.semilogx(factors, bounds, "o-", color="#0072B2", label="bound of the relaxation")
axes.set_xlabel("M over the valid M of the data")
axes.set_ylim(0.0, 1.1 * optimum)
_ = axes.legend()
