"""
How many violations shall I allow?
==================================

The conic relaxation with at most κn margin violations, one solve a κ, updated in place.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.load("wdbc").subsample(60, seed=0).prepared()
model = mo.ConicSVM(data.X[:, :4], data.y, kappa=0.1)
kappas = np.linspace(0.1, 0.5, 9)
path = mo.path(model, "kappa", kappas.tolist(), solver="clarabel")
print(path)

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(kappas, path.objectives, "o-", color="#0072B2")
axes.set_xlabel("κ")
_ = axes.set_ylabel("optimum of the relaxation")
