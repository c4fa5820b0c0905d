"""
When is the conic relaxation exact?
===================================

The relaxation has a matrix W in place of ww'. Where its second eigenvalue is zero, W is ww', and the relaxation has solved the
0-1 problem itself; the ratio of the eigenvalues says how near it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import marginopt as mo

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for outliers, style in (("none", "--"), ("clustered", "-")):
    data = mo.instances.gaussian_clusters(40, 2, sigma=0.2, outliers=outliers, seed=1)
    lams, ratios = np.geomspace(0.3, 100.0, 9), []
    for lam in lams:
        eigenvalues = np.linalg.eigvalsh(mo.solve(mo.ConicSVM(data.X, data.y, lam=lam)).values["W"])
        ratios.append(eigenvalues[-2] / eigenvalues[-1])
    axes.semilogx(lams, ratios, style, marker="o", color="#0072B2", label=f"outliers: {outliers}")
axes.set_xlabel("λ, the cost of a violation")
axes.set_ylabel("second / first eigenvalue of W")
axes.set_ylim(0.0, 1.0)
_ = axes.legend()
