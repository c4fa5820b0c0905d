"""
How does a proof close in over time?
====================================

Branch and bound on one 0-1 problem: a solver of our own, and SCIP on the big-M form.
"""

import matplotlib.pyplot as plt

import marginopt as mo

data = mo.instances.gaussian_clusters(40, 3, sigma=0.5, outliers="clustered", seed=1)
model = mo.ZeroOneSVM(data.X, data.y, lam=50.0)
table = mo.compare(model, ["zero-one-bb", "scip"], time_limit=5)
print(table)

# %%
# Solid: the best classifier so far; dashed: the lower bound. Where they meet, the optimum is proved.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, marker), colour in zip({"zero-one-bb": "o", "scip": "s"}.items(), ("#0072B2", "#D55E00"), strict=True):
    trace = table[name].trace
    seconds = trace.column("seconds").clip(1e-3)
    axes.step(seconds, trace.column("objective"), where="post", color=colour, label=name)
    axes.step(seconds, trace.column("bound"), "--", where="post", color=colour)
    axes.plot(seconds[-1:], trace.column("bound")[-1:], marker, color=colour)
axes.set_xscale("log")
axes.set_xlabel("seconds")
axes.set_ylabel("objective and bound")
_ = axes.legend()
