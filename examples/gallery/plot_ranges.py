"""
What do all good classifiers share?
===================================

Every classifier within ten per cent of the optimum has its coefficients in these ranges. Thin lines are proved limits, thick
ones what known classifiers attain.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(16), rng.normal(size=(16, 2))])
y = np.where(X[:, 1] + 0.3 * rng.normal(size=16) > 0, 1.0, -1.0)
model = mo.ZeroOneSVM(X, y, lam=4.0, intercept="free")
answer = mo.questions.coefficient_ranges(model, within=0.1)
print(answer.sentence)

# %%
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
_ = answer.plot(axes)
