"""
What does a constraint of mine change?
======================================

The ramp loss, free and with restrictions on the covariance of score and group (the points right of 0). The line turns, and the
optimum rises; all three are proved.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.instances.gaussian_clusters(30, 2, sigma=0.4, outliers="clustered", seed=1)
group = data.X[:, 1] > 0
models = {"free": mo.Margin(data.X, data.y, loss="ramp")}
for most in (0.3, 0.2):
    models[f"covariance ≤ {most}"] = mo.Margin(data.X, data.y, loss="ramp", subject_to=mo.parity(group, most))
results = {name: mo.solve(model, "margin-bb", time_limit=60) for name, model in models.items()}

# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.axvspan(0.0, data.X[:, 1].max() + 0.2, color="#808080", alpha=0.15, label="the group")
for label, marker, colour in ((-1, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*data.X[data.y == label, 1:].T, marker, color=colour, ms=5, label=f"class {label:+d}")
across = np.linspace(data.X[:, 1].min() - 0.2, data.X[:, 1].max() + 0.2, 2)
for (name, result), style in zip(results.items(), ("--", "-.", "-"), strict=True):
    w = result.values["w"]
    axes.plot(across, -(w[0] + w[1] * across) / w[2], style, color="black", label=f"{name}: {result.objective:.2f}")
axes.set_xlim(across[0], across[1])
axes.set_ylim(-1.4, 1.3)  # five outliers lie below
_ = figure.legend(loc="outside lower center", ncols=3, fontsize=8)
