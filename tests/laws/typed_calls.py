"""Calls of the public face as the pages have them: `make lint` checks their types, nothing runs them."""
# mypy: enable-error-code="arg-type,call-arg,call-overload,assignment"

import numpy as np

import marginopt as mo
from marginopt.instances import Instance


def typed_calls(X: np.ndarray, y: np.ndarray, instance: Instance) -> None:
    hinge = mo.HingeSVM(X, y, 1.0)
    step = mo.ZeroOneSVM(instance, lam=1.0, intercept="free")
    mo.Margin(instance, loss="ramp", regulariser="l1", domain="box")
    mo.Margin([[1.0, 2.0], [1.0, 3.0]], [1, -1], "hinge", sample_weight=[1, 2])
    mo.Margin(X, y, "hinge", "l0", subject_to=mo.at_most(2).nonzero)
    mo.Margin(X, y, "hinge", subject_to=[mo.parity("gender"), mo.error_budget("yes", 0.1)])
    groups = np.where(X[:, 1] > 0, "labelled", "unlabelled")
    mo.Margin(X, y, {"labelled": "hinge", "unlabelled": "hat"}, groups=groups, sample_weight={"labelled": 2.0, "unlabelled": 1.0})
    whole: mo.solvers.whole_path.WholePath = mo.path(step, "lam", "all")
    some: mo.solvers.SolutionPath = mo.path(hinge, "lam", np.logspace(-1, 1, 3))
    result: mo.Result = mo.solve(hinge, "clarabel", tol=1e-8, time_limit=10)
    mo.compare({"hinge": hinge}, ["clarabel", "scs"])
    mo.gap_report({"step": step}, relaxations=["conic"])
    group = mo.questions.audit_fairness(y, y, X).evidence.people, mo.questions.most_different_classifier(hinge).evidence.points
    computed = mo.questions.coefficient_ranges(hinge).evidence.signs, mo.questions.supports(hinge).evidence.supports, group
    installed = [row["name"] for row in mo.solvers.table().rows]
    summaries = [info.summary for group in (mo.formulations, mo.estimators, mo.relaxations) for info in group.table().values()]
    print(
        computed, installed, summaries, whole, some, result.objective + 1.0, result.values["w"][0], mo.relax(step, "conic").bound
    )
