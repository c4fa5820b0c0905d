"""
Could this prediction be another?
=================================

Among classifiers that are almost as good as the best one, some predict a point otherwise. The share of such points grows with the
loss that is allowed; a band shows what is not proved.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(30), rng.normal(size=(30, 2)).round(1)])
y = np.where(X[:, 1] + 0.8 * rng.normal(size=30) > 0, 1.0, -1.0)
model = mo.ZeroOneSVM(X, y, lam=1e4, intercept="free")
table = mo.questions.prediction_stability(model, within=0.1)
print(table.sentence(0))

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
_ = table.plot(axes)
