"""The default instances of a gap report, and the feature selection that makes them small enough for exact solvers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, count_text

if TYPE_CHECKING:
    from ...instances import Instance


def default_report_instances(seed: int = 0) -> list[Instance]:
    """Return five instances: wdbc in two sizes, two digits, and Gaussian classes with clustered outliers in two sizes.

    The real sets are sub-sampled (stratified) and reduced to a few features by `strongest_features`, to sizes that exact
    solvers can mostly finish, then standardised with an intercept column. The generated ones are not changed
    (`gaussian_clusters`, σ = 0.2); half a minute is meant to be too short for generic solvers on the larger one.

    Parameters
    ----------
    seed : int
        Seed of the sub-samples and of the generated instances.

    Returns
    -------
    list of Instance
    """
    from ...instances import gaussian_clusters, load

    wdbc = load("wdbc")
    digits = load("digits").pair(3, 8)
    return [
        strongest_features(wdbc.subsample(60, seed=seed), 4).prepared(),
        strongest_features(wdbc.subsample(100, seed=seed), 8).prepared(),
        strongest_features(digits.subsample(60, seed=seed), 5).prepared(),
        gaussian_clusters(50, 3, 0.2, outliers="clustered", seed=seed),
        gaussian_clusters(200, 5, 0.2, outliers="clustered", seed=seed),
    ]


def strongest_features(instance: Instance, k: int, max_correlation: float = 0.9) -> Instance:
    """Return the k features that separate the two classes best, without near duplicates.

    Features are ranked by the distance of the class means over the pooled standard deviation within the classes. A feature whose
    absolute correlation with a chosen one of higher rank exceeds ``max_correlation`` is left out, as constant ones are.

    Parameters
    ----------
    instance : Instance
    k : int
        Number of features.
    max_correlation : float
        Largest absolute correlation of two chosen features.

    Returns
    -------
    Instance
        The same points with k features, without a column of ones.

    Raises
    ------
    InputError
        The instance has not two classes, or fewer than k such features.
    """
    if tuple(instance.classes) != (-1, 1):
        raise InputError(
            f"strongest_features needs two classes; {instance.name} has {len(instance.classes)}: use pair(a, b)", name="instance"
        )
    X = np.asarray(instance.dense().X)
    positive = instance.y > 0
    within = np.sqrt(positive.mean() * X[positive].var(axis=0) + (~positive).mean() * X[~positive].var(axis=0))
    varied = np.flatnonzero(X.std(axis=0) > 0)
    distance = np.abs(X[positive].mean(axis=0) - X[~positive].mean(axis=0))
    strength = np.divide(distance, within, out=np.full(X.shape[1], np.inf), where=within > 0)
    alike = np.abs(np.corrcoef(X[:, varied], rowvar=False)).reshape(varied.size, varied.size) if varied.size else np.zeros((0, 0))
    chosen: list[int] = []
    for j in np.argsort(-strength[varied], kind="stable"):
        if len(chosen) < k and all(alike[j, i] <= max_correlation for i in chosen):
            chosen.append(int(j))
    if len(chosen) < k:
        raise InputError(
            f"{instance.name} has only {count_text(len(chosen), 'feature')} "
            f"of absolute correlation at most {max_correlation:g}; k = {k}",
            name="k",
        )
    columns = varied[chosen]
    names = instance.feature_names
    return replace(
        instance,
        X=X[:, columns],
        intercept=False,
        feature_names=None if names is None else tuple(names[j] for j in columns),
        source=f"{instance.source}; the {k} features that separate the classes best (correlations at most {max_correlation:g})",
        population=None,
        **instance.naming.changed_fields({"p": k}, {}),
    )
