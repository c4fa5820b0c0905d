"""Tiny data sets with known optimal values of formulations, which tests compare solvers with.

``tiny/<name>.csv`` holds the data (label first, full precision), ``tiny/optima.csv`` the optima. Optima of origin
*independent* were computed without this package (by Clarabel with tolerance 1e-11 on the problem as written; for the 0-1 loss by
enumerating all sets of violated points) and are accurate to about 1e-8; those of origin *by hand* are exact, by symmetry or a
quadratic in one unknown.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy.typing as npt

from ..errors import DataError
from .arff_and_csv import parse_csv
from .arrays import Matrix
from .instance import Instance
from .tables import instance_from_table


@dataclass(frozen=True, eq=False)
class ReferenceOptimum:
    """The known optimal value of one formulation on one tiny data set.

    Attributes
    ----------
    instance : str
        Name of the tiny instance.
    formulation : str
        Class of the formulation, such as HingeSVM.
    statement : str
        The objective as it was minimised (for MEBDual, the dual of the minimum enclosing ball, its squared radius r², which is
        maximised), or the variant.
    parameters : dict
        Arguments of that class. ``kernel`` is "linear", "rbf" with k(x, x') = exp(-gamma||x - x'||²), or "polynomial" with
        k(x, v) = (gamma x'v)². ``violated`` is no argument: it lists the points that the 0-1 loss counts at the optimum.
    optimum : float
        The value, sign and scale as in ``statement``.
    origin : str
        "independent" or "by hand".
    X : (n, p) array
        The rows, an intercept column included where the formulation needs one. `MEBDual` reads no labels.
    y : (n,) array
        Class codes, as in `Instance`.
    """

    instance: str
    formulation: str
    statement: str
    parameters: dict[str, Any]
    optimum: float
    origin: str
    X: Matrix
    y: npt.NDArray[Any]


def tiny_instances() -> dict[str, Instance]:
    """Return the tiny data sets by name.

    Returns
    -------
    dict of str to Instance
        One for each file of ``tiny/`` but ``optima.csv``.

    Raises
    ------
    DataError
        The package was installed without them.
    """
    folder = resources.files(__package__).joinpath("tiny")
    instances = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = file.name.removesuffix(".csv")
        if file.name.endswith(".csv") and name != "optima":
            instances[name] = _instance(name, file.read_text(encoding="utf-8"))
    if not instances:
        raise DataError("marginopt was installed without its tiny instances (tiny/*.csv): install it again")
    return instances


def _instance(name: str, text: str) -> Instance:
    table = parse_csv(text, f"tiny/{name}.csv", header=True, delimiter=",")
    plain = instance_from_table(table, "y", name)
    return Instance(
        plain.X,
        plain.y,
        name=name,
        source="marginopt, tiny instances",
        feature_names=plain.feature_names,
        labels=plain.labels,
        intercept=plain.feature_names is not None and plain.feature_names[0] == "intercept",
    )


def reference_optima() -> list[ReferenceOptimum]:
    """Return the known optimal values, each with its data.

    Returns
    -------
    list of ReferenceOptimum
        Optimum, formulation and parameters, with the rows and labels.
    """
    instances = tiny_instances()
    text = resources.files(__package__).joinpath("tiny", "optima.csv").read_text(encoding="utf-8")
    return [
        ReferenceOptimum(
            row["instance"],
            row["formulation"],
            row["statement"],
            json.loads(row["parameters"]),
            float(row["optimum"]),
            row["origin"],
            instances[row["instance"]].X,
            instances[row["instance"]].y,
        )
        for row in csv.DictReader(io.StringIO(text))
    ]
