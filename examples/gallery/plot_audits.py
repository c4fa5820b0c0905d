"""
How exact are machines that others have fitted?
===============================================

Relative gaps that scikit-learn's machines leave at ordinary settings, on data as they come and standardised.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import marginopt as mo

machines = {
    "SVC": [SVC(C=C, kernel=kernel) for C in (0.1, 10.0) for kernel in ("linear", "rbf")],
    "LinearSVC": [LinearSVC(C=C, loss=loss, random_state=0) for C in (0.1, 10.0) for loss in ("hinge", "squared_hinge")],
    "LogisticRegression": [LogisticRegression(C=C) for C in (0.1, 10.0)],
    "SGDClassifier": [SGDClassifier(alpha=alpha, random_state=0) for alpha in (1e-1, 1e-3)],
}
gaps = {name: [] for name in machines}
warnings.simplefilter("ignore")
for load in (load_breast_cancer, load_wine, load_iris, load_digits):
    X, y = load(return_X_y=True)
    X, y = X[y < 2][:120], y[y < 2][:120]
    for Z in (X, StandardScaler().fit_transform(X)):
        for name, kinds in machines.items():
            gaps[name] += [mo.audit(kind.fit(Z, y), Z, y).gap for kind in kinds]

# %%
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
for k, name in enumerate(gaps):
    axes.plot([max(gap, 1e-10) for gap in gaps[name]], [k] * len(gaps[name]), "|", markersize=14)
axes.set_yticks(range(len(gaps)), list(gaps))
axes.set_xscale("log")
_ = axes.set_xlabel(f"relative gap of {sum(map(len, gaps.values()))} machines")
