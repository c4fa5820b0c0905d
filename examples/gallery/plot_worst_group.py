"""
Which group does a classifier treat worst?
==========================================

The worst linear subgroup of age and income by false positives, with a proof that no other is worse. The bar is as wide as the
group's share; the second picture shows the persons.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import marginopt as mo

rng = np.random.default_rng(0)
n = 120
age, income = rng.integers(2, 8, n) * 10, rng.integers(1, 6, n)
y = (rng.random(n) < 0.4).astype(int)
predictions = (rng.random(n) < 0.2 + 0.4 * (age > 50)).astype(int)
protected = pd.DataFrame({"age": age, "income": income})
answer = mo.questions.audit_fairness(predictions, y, protected, "false-positive-rate")
print(answer.sentence)

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
_ = answer.plot(axes)

# %%
# The persons whom the metric is about (y = 0), a little apart where several have the same age and income.
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
among = y == 0
at = np.column_stack([age, income])[among] + rng.uniform(-0.3, 0.3, (among.sum(), 2)) * [10.0, 1.0]
for predicted, marker, colour in ((0, "o", "#0072B2"), (1, "s", "#D55E00")):
    axes.plot(*at[predictions[among] == predicted].T, marker, color=colour, ms=4, label=f"predicted {predicted}")
group = answer.evidence
assert isinstance(group, mo.questions.Subgroup)
inside = np.array(group.people)[among]
axes.plot(*at[inside].T, "o", ms=9, mfc="none", color="black", label="the worst group")
axes.set_xlabel("age")
axes.set_ylabel("income")
_ = axes.legend()
