"""
Which point is wrong?
=====================

A model explains a result: which points carry weight, which violate their margin, and which are misclassified.
"""

import marginopt as mo

data = mo.instances.gaussian_clusters(40, 2, sigma=0.25, outliers="clustered", seed=0)
model = mo.HingeSVM(data.X, data.y, lam=20.0)
explanation = model.explain(mo.solve(model))
print("misclassified points:", explanation.misclassified)

# %%
# Rings are support vectors, crosses are misclassified points.
picture = explanation.picture()
