"""
Which group does a classifier treat worst?
==========================================

The worst linear subgroup of age and income by false positives, with a proof that no other is worse. The bar is as wide as the
group's share.
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
