"""
What does the program look like?
================================

A formulation compiles to a standard form: blocks of variables, a quadratic objective, rows in cones. The picture shows the non-
zeros.
"""

import marginopt as mo

data = mo.instances.gaussian_clusters(8, 2, sigma=0.5, seed=1)
model = mo.ConicSVM(data.X, data.y, lam=1.0)
print(model.form)

# %%
picture = model.form.spy()
