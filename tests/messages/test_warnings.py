"""The sentences of warnings, pinned once: logic tests look for the argument that a warning names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import marginopt as mo
from marginopt.errors import MarginoptDeprecationWarning, MarginoptWarning, warn_renamed
from marginopt.estimators.training import warn_of_useless_classifier
from marginopt.instances import Instance, read

RNG = np.random.default_rng(0)
Y = np.where(np.arange(20) < 10, 1.0, -1.0)
X = RNG.normal(size=(20, 2)) + Y[:, None]
ONES = np.column_stack([np.ones(20), X])


def _start_unused() -> object:
    return mo.solve(mo.HingeSVM(ONES, Y), "clarabel", start={"w": np.zeros(3), "xi": np.ones(20)})


WARNINGS: list[tuple[type[Warning], Callable[[], object], str]] = [
    (
        MarginoptWarning,
        lambda: mo.HingeSVM(X, Y),
        "X has no constant column, so the classifier has no intercept; Instance.prepared(",
    ),
    (MarginoptWarning, lambda: mo.HingeSVM(ONES * [1.0, 1e4, 1.0], Y), "the features' scales differ by a factor of 1e+04"),
    (MarginoptWarning, lambda: mo.HingeSVM(ONES[:, [0, 1, 1]], Y), "columns 1 and 2 of X are equal: "),
    (
        MarginoptDeprecationWarning,
        lambda: warn_renamed("twofold", "double", since="0.2", until="0.4"),
        "twofold is called double since version 0.2; the old name goes in version 0.4",
    ),
    (MarginoptWarning, _start_unused, "start is not used: clarabel: "),
    (
        MarginoptWarning,
        lambda: Instance(np.column_stack([np.ones(20), X]), Y, feature_names=("a", "b", "c")).prepared(),
        "dropped constant feature column(s) 0 (a), counting from 0 without the intercept; a constant cannot be standardised.",
    ),
    (
        ConvergenceWarning,
        lambda: mo.estimators.L2SVC(time_limit=1e-9, tol=1e-14, C=1e6, solver="fw").fit(X, Y),
        "fw on L2SVMDual: stopped at the time limit (relative gap",
    ),
    (
        ConvergenceWarning,
        lambda: warn_of_useless_classifier("HingeSVC", lambda rows: np.ones(len(rows)), X, Y, np.ones(20)),
        "HingeSVC puts all 20 training points into class 1.0, though 50% of their weight is in others; give a larger C or lam",
    ),
    (
        ConvergenceWarning,
        lambda: warn_of_useless_classifier("ConicSVC", lambda _: np.where(np.arange(20) < 3, Y, -Y), X, Y, np.ones(20)),
        "ConicSVC is right on 15% of the training points' weight, and one class alone has 50% of it; give another C or lam",
    ),
    (
        ConvergenceWarning,
        lambda: mo.estimators.ConicSVC(lam=1e-6).fit(X, Y),
        "conic-ipm on ConicSVM: the classifier is not better than w = 0 by more than the tolerance",
    ),
    (
        ConvergenceWarning,
        lambda: mo.estimators.KernelNPSVC(max_iter=1, tol=1e-9).fit(X, Y),
        "1 iterations left a Pareto residual of ",
    ),
]


@pytest.mark.parametrize(("kind", "call", "sentence"), WARNINGS, ids=[sentence[:40] for *_, sentence in WARNINGS])
def test_a_warning(kind: type[Warning], call: Callable[[], object], sentence: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    texts = [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
    assert any(sentence in text for text in texts), texts
    assert not any("np.float64" in text or "\n" in text for text in texts)


def test_weights_of_rows_in_an_arff_file(tmp_path: Path) -> None:
    path = tmp_path / "w.arff"
    path.write_text("@relation r\n@attribute a real\n@attribute c {u,v}\n@data\n1,u,{2}\n2,v,{5}\n", encoding="utf-8")
    with pytest.warns(MarginoptWarning, match="line 5: weights of rows are passed over"):
        read(path)
