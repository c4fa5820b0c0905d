"""
How good is my relaxation?
==========================

Lower bounds of the 0-1 problem over its optimum, from the weakest to the strongest.
"""

import matplotlib.pyplot as plt

import marginopt as mo
from marginopt import relaxations as rx

data = mo.instances.gaussian_clusters(40, 2, sigma=0.5, outliers="clustered", seed=1)
model = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
w, _ = rx.heuristic(model)
model = rx.tighten(model, w)
zeta = mo.solve(model, "zero-one-bb", time_limit=30).objective

bounds = {r.name: rx.relax(model, r).bound / zeta for r in (rx.BigM("zero"), rx.BigM("incumbent"), rx.Conic(), rx.Combined())}

# %%
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.barh(list(bounds), list(bounds.values()), color="#0072B2")
axes.axvline(1.0, color="black", lw=1)
_ = axes.set_xlabel("bound over the optimum")
