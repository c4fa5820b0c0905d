"""The instances of the book, in families of growing size: names, data, models and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PlannedInstance", "planned_instances"]


@dataclass(frozen=True)
class PlannedInstance:
    """An instance before it is solved."""

    name: str
    data: Mapping[str, Any]
    model: str
    parameters: Mapping[str, Any]


#: Sizes (n, p) of drawn instances by model: those that the model's solver proves in seconds, and some beyond.
_SIZES = {
    "zero-one": ((16, 1), (24, 2), (32, 2), (40, 3), (60, 3), (80, 4), (120, 5), (200, 8)),
    "ramp": ((16, 1), (24, 2), (32, 2), (40, 3), (60, 3)),
    "conic": ((16, 1), (24, 2), (40, 3), (60, 4), (100, 5)),
    "hinge": ((16, 1), (24, 2), (40, 3), (80, 4), (160, 6)),
}
_PACKAGED = (
    ("wdbc", 60, 3), ("wdbc", 569, 4),
    ("wine-class_0-class_1", 60, 3), ("wine-class_0-class_1", 130, 5), ("wine-class_1-class_2", 119, 4),
    ("iris-versicolor-virginica", 100, 4),
    ("digits-3-8", 80, 6), ("digits-1-7", 80, 6), ("pima", 80, 4), ("wisconsin", 120, 4), ("breast-ljubljana", 100, 4),
)  # fmt: skip
#: Sets of Brooks's type A by rows and features.
_BROOKS = ((60, 2), (100, 2), (200, 2), (60, 5), (100, 5))

#: Tables of points: the name, the path, the column of the labels, lines before the rows.
_TABLES = (
    ("art100", "s3vm/art100.txt.bz2", -1, 0), ("art150", "s3vm/art150.txt.bz2", -1, 0), ("2moons", "s3vm/2moons.txt.bz2", -1, 0),
    ("gsvm2rl3", "miplib/gsvm2rl3.csv.bz2", 0, 1), ("gsvm2rl5", "miplib/gsvm2rl5.csv.bz2", 0, 1),
)  # fmt: skip


def planned_instances() -> Iterator[PlannedInstance]:
    """Yield the instances of the book, the quick ones of each family first."""
    yield from _drawn()
    yield from _from_packages()
    yield from _of_brooks()
    for name, path, label, header in _TABLES:
        data = {"kind": "table", "path": path, "label": label, "header": header}
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"points-{name}", data, (0.1, 1.0))


def _drawn() -> Iterator[PlannedInstance]:
    for model, sizes in _SIZES.items():
        for n, p in sizes:
            for seed in range(3):
                sources = {
                    f"flipped-n{n}-p{p}-s{seed}": {"kind": "flipped", "n": n, "p": p, "tau": 0.1, "seed": seed},
                    f"clean-n{n}-p{p}-s{seed}": _clusters(n, p, "none", seed),
                    f"clustered-n{n}-p{p}-s{seed}": _clusters(n, p, "clustered", seed),
                    f"spread-n{n}-p{p}-s{seed}": _clusters(n, p, "spread", seed),
                }
                for source, data in sources.items():
                    yield from _stated(model, source, data, (0.1, 1.0) if n <= 60 else (1.0,))
    for n in (20, 40, 80):
        for model in ("zero-one", "ramp"):
            yield from _stated(model, f"rings-n{n}", {"kind": "rings", "n": n, "noise": 0.1, "seed": 0}, (1.0, 10.0))


def _clusters(n: int, p: int, outliers: str, seed: int) -> dict[str, Any]:
    return {"kind": "clusters", "n": n, "p": p, "sigma": 0.5, "outliers": outliers, "seed": seed}


def _from_packages() -> Iterator[PlannedInstance]:
    for name, rows, columns in _PACKAGED:
        data = {"kind": "packaged", "name": name, "rows": rows, "columns": columns, "seed": 0}
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"{name}-n{rows}-p{columns}", data, (0.1, 1.0))


def _of_brooks() -> Iterator[PlannedInstance]:
    """Brooks states ½||w||² + C Σz with a free intercept: half of the book's value with λ = 2C."""
    for n, p in _BROOKS:
        for number in range(5):
            name = f"n{n}d{p}ATj{number}"
            for C in (1.0, 10.0, 100.0, 1000.0, 10000.0):
                parameters = {"lam": 2.0 * C, "intercept": "free"}
                yield PlannedInstance(f"zero-one/brooks-{name}-C{C:g}", {"kind": "brooks", "name": name}, "zero-one", parameters)


def _stated(model: str, source: str, data: Mapping[str, Any], lams: tuple[float, ...]) -> Iterator[PlannedInstance]:
    for lam in lams:
        parameters = {"lam": lam} | ({"intercept": "penalised"} if model in ("zero-one", "ramp") else {})
        yield PlannedInstance(f"{model}/{source}-lam{lam:g}", data, model, parameters)
