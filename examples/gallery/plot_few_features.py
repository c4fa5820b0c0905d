"""
How many features do I need?
============================

Each number of features has its best classifier, and a proved bound below it: where the curve is flat, more features buy nothing.
"""

import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
features = rng.standard_normal((100, 12))
y = np.where(features[:, [3, 7, 9]].sum(axis=1) + 0.7 * rng.standard_normal(100) > 0, 1, -1)
classifier = mo.estimators.SparseSVC(k=6, C=0.1, curve=True).fit(features, y)
print(classifier.curve_)

# %%
_ = classifier.draw_curve()
