"""
What is a constraint worth?
===========================

The multiplier of a row is the slope of the optimum in the row's right side: the tangent at today's value touches the true curve.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

data = mo.load("wdbc").subsample(60, seed=0).prepared()
model = mo.HingeSVM(data.X[:, :4], data.y, lam=1.0)


def limited(limit):
    """Solve with at most this much of the first feature's weight."""
    changed = model.with_constraint({"limit": lambda v: limit - v["w"][1] >= 0})
    return mo.solve(changed, "clarabel")


limits = np.linspace(-1.0, 1.0, 21)
optima = [limited(limit).objective for limit in limits]
today = limited(-0.5)
price = float(np.sum(today.multipliers["limit"]))

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(limits, optima, color="#0072B2", label="optimum")
near = np.array([-1.0, 0.0])
axes.plot(near, today.objective - price * (near + 0.5), "--", color="#D55E00", label=f"slope -{price:.3g}, the multiplier")
axes.plot(-0.5, today.objective, "o", color="#D55E00")
axes.set_xlabel("limit of a coefficient")
_ = axes.legend()
