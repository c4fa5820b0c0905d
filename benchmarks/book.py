"""The book of margins: solve the planned instances that it lacks, and write its entries and its page.

    python benchmarks/book.py [--limit 5] [--nodes 1000] [--only zero-one/] [--processor 900] [--open] [--entries FILE]

Instances that the book has are left as they are; with --open those without a proof are searched again, from the best point
that the book has of their data. Those of files need MARGINOPT_DATA, which holds e01loss/voicepath_data.csv
of the package e01loss too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import questions
import zero_one_miplib
import zero_one_slim

from marginopt import book
from marginopt.book import book_page
from marginopt.book.data import build_data
from marginopt.book.entries import Entry, load_entries, save_entries
from marginopt.book.solving import improved_entry, solved_entry
from marginopt.book.verification import exact_value, verify_entry
from marginopt.errors import DataError
from marginopt.solvers import Options


@dataclass(frozen=True)
class PlannedInstance:
    """An instance of the book before it is solved; names and fields as in `marginopt.book.entries.Entry`."""

    name: str  #: name of the entry
    data: Mapping[str, Any]  #: kind and parameters of the data
    model: str  #: name of the model in the book
    parameters: Mapping[str, Any]  #: parameters of the model
    solver: str | None = None  #: solver that proves the bound; by default the model's first solver


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
#: Sets of Brooks's type A by features and rows.
_BROOKS = tuple((n, p) for p in (2, 5, 10) for n in (60, 100, 200, 500))

#: Tables of points: the name, the path, the column of the labels, lines before the rows.
_TABLES = (
    ("art100", "s3vm/art100.txt.bz2", -1, 0), ("art150", "s3vm/art150.txt.bz2", -1, 0), ("2moons", "s3vm/2moons.txt.bz2", -1, 0),
    ("gsvm2rl3", "miplib/gsvm2rl3.csv.bz2", 0, 1), ("gsvm2rl5", "miplib/gsvm2rl5.csv.bz2", 0, 1),
)  # fmt: skip


#: Sets of cell enumeration (He and Little): fewest misclassified points, at the price C = 1e8.
_COUNTED = {"haberman": ("slim/haberman.csv.bz2", 0, 1), "voicepath": ("e01loss/voicepath_data.csv", 2, 0)}
_FEWEST = {"lam": 2e8, "intercept": "free"}


#: Programs of SDPLIB with the shift that their solution stands: those of which both sides have interior points, and few entries.
_SEMIDEFINITE = {"truss1": 1e-7, "truss2": 1e-6, "truss3": 5e-8, "truss4": 1e-7, "control1": 1e-8}


def planned_instances(files: bool = True) -> Iterator[PlannedInstance]:
    """Yield the instances of the book, the quick ones of each family first.

    Scoring systems and audits are stated from files of MARGINOPT_DATA; without ``files`` they are left out.
    """
    yield from _drawn()
    yield from _from_packages()
    yield from _fewest_errors()
    yield from _of_miplib()
    yield from _semi_supervised()
    yield from _semidefinite()
    if files:
        yield from _scoring_systems()
        yield from _audits()
    yield from _of_brooks()
    for name, path, label, header in _TABLES:
        data = _table(path, label, header)
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"points-{name}", data, (0.1, 1.0))


def _drawn() -> Iterator[PlannedInstance]:
    for model, sizes in _SIZES.items():
        for n, p in sizes:
            for seed in range(3):
                sources = {
                    f"flipped-n{n}-p{p}-s{seed}": {"kind": "flipped", "n": n, "p": p, "tau": 0.1, "seed": seed},
                    f"clean-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "none", seed),
                    f"clustered-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "clustered", seed),
                    f"spread-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "spread", seed),
                }
                for source, data in sources.items():
                    yield from _stated(model, source, data, (0.1, 1.0) if n <= 60 else (1.0,))
    for n in (20, 40, 80):
        for model in ("zero-one", "ramp"):
            yield from _stated(model, f"rings-n{n}", {"kind": "rings", "n": n, "noise": 0.1, "seed": 0}, (1.0, 10.0))


def _planned_clusters(n: int, p: int, outliers: str, seed: int) -> dict[str, Any]:
    return {"kind": "clusters", "n": n, "p": p, "sigma": 0.5, "outliers": outliers, "seed": seed}


def _from_packages() -> Iterator[PlannedInstance]:
    for name, rows, columns in _PACKAGED:
        data = {"kind": "packaged", "name": name, "rows": rows, "columns": columns, "seed": 0}
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"{name}-n{rows}-p{columns}", data, (0.1, 1.0))


def _table(path: str, label: int, header: int) -> dict[str, Any]:
    return {"kind": "table", "path": path, "label": label, "header": header}


def _fewest_errors() -> Iterator[PlannedInstance]:
    for n in (20, 40, 60, 85):
        data = {"kind": "half-space", "n": n, "p": 4, "seed": n}
        yield PlannedInstance(f"zero-one/half-space-n{n}-fewest", data, "zero-one", _FEWEST)
    for name, place in _COUNTED.items():
        yield PlannedInstance(f"zero-one/{name}-fewest", _table(*place), "zero-one", _FEWEST)


def _of_miplib() -> Iterator[PlannedInstance]:
    """The ramps of MIPLIB, from points of the concave-convex procedure; those of ten features by `ramp-bb`."""
    for name, (C, _, _) in zero_one_miplib.PUBLISHED.items():
        solver = "margin-bb" if name in ("gsvm2rl5", "gsvm2rl11") else "ramp-bb"
        yield PlannedInstance(f"kernel-ramp/{name}", _table(f"miplib/{name}.csv.bz2", 0, 1), "kernel-ramp", {"C": C}, solver)


def _semi_supervised() -> Iterator[PlannedInstance]:
    """The sets of SDP-S3VM with a tenth of their labels."""
    for name in ("art100", "art150", "2moons", "heart"):
        data = {"kind": "partly-labelled", "path": f"s3vm/{name}.txt.bz2", "label": -1, "header": 0, "share": 10}
        for C in (1.0, 10.0):
            yield PlannedInstance(f"semi-supervised/{name}-C{C:g}", data, "semi-supervised", {"C": C})


def _semidefinite() -> Iterator[PlannedInstance]:
    """Controls of the hand-over of semidefinite programs."""
    for name, shift in _SEMIDEFINITE.items():
        data = {"kind": "sdpa", "path": f"sdplib/{name}.dat-s.bz2"}
        yield PlannedInstance(f"semidefinite/{name}", data, "semidefinite", {"shift": shift})


def _audits() -> Iterator[PlannedInstance]:
    """The fairness audits: the best half-space of protected columns among the persons with y = 0, at the price C = 1e8."""
    for name, study in questions.STUDIES.items():
        if study.derived:
            continue  # a column that is computed from others is in no file
        predictions, y, _ = questions.data_of(study)
        bits = sum(1 << k for k, predicted in enumerate(predictions[y == 0]) if predicted)
        data = {"kind": "audit", "path": f"{study.file}.csv.bz2", "target": study.target, "protected": list(study.protected)}
        yield PlannedInstance(f"balanced/audit-{name}", data | {"predicted": f"{bits:x}"}, "balanced", {"C": 1e8})


def _scoring_systems() -> Iterator[PlannedInstance]:
    """SLIM as its authors state it, and as MIPLIB has it."""
    for name, kind in zero_one_slim.PUBLISHED:
        model = zero_one_slim.instance(name, kind)
        parameters: dict[str, Any] = {"C0": str(model.C0), "max_features": model.max_features}
        stated = {key: value for key, value in parameters.items() if value is not None}
        if name not in ("haberman", "heart"):
            stated["intercept_range"] = (-100, 100)
        yield PlannedInstance(f"scoring/{name}-{kind}", _table(f"slim/{name}.csv.bz2", 0, 1), "scoring", stated)


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


def _start(planned: PlannedInstance, limit: float, entries: Iterable[Entry]) -> Mapping[str, Any] | None:
    """Return the point of the concave-convex procedure for MIPLIB's ramps, else the best point that the book has of the same
    data and model at another price."""
    if planned.model != "kernel-ramp":
        points = [{"w": e.point["w"]} for e in entries if "w" in e.point and (e.data, e.model) == (planned.data, planned.model)]
        X, y = build_data(planned.data) if points else (None, None)
        return min(points, key=lambda point: exact_value(planned.model, planned.parameters, X, y, point), default=None)
    point, _ = zero_one_miplib.best_point(zero_one_miplib.load(planned.name.split("/")[1]), min(limit / 20, 12.0))
    return {"w": np.concatenate([[point.b], point.w])}


#: The book's file of entries, and its page.
ENTRIES = Path(book.__file__).with_name("entries.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "book.md"


def main() -> None:
    """Solve the planned instances that the book lacks, and write the entries and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds a solve")
    parser.add_argument("--nodes", type=int, help="nodes a solve, which are the same on a busy machine")
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--processor", type=float, default=900.0, help="processor seconds in all")
    parser.add_argument("--open", action="store_true", help="search open entries again, and no others")
    parser.add_argument("--entries", type=Path, default=ENTRIES, help="the file of entries")
    a = parser.parse_args()
    entries = {entry.name: entry for entry in load_entries(a.entries if a.entries.exists() else ENTRIES)}
    for planned in planned_instances():
        known = entries.get(planned.name)
        status = None if known is None else known.status
        if status != ("open" if a.open else None) or not planned.name.startswith(a.only):
            continue
        if time.process_time() > a.processor:
            break
        try:
            solved = solved_entry(
                planned.name, planned.data, planned.model, planned.parameters,
                options=Options(time_limit=a.limit, node_limit=a.nodes, start=_start(planned, a.limit, entries.values())),
                who="the marginopt developers", solver=planned.solver,
            )  # fmt: skip
        except DataError as error:
            print(f"{planned.name}: {error}")
            continue
        if solved is None:
            print(f"{planned.name}: no point with a proved bound")
            continue
        solved = solved if known is None else improved_entry(known, solved)
        verdict = verify_entry(solved)
        print(f"{verdict}, gap {solved.gap:.2g}, {solved.seconds:g} s", flush=True)
        if verdict.stands:
            entries[solved.name] = solved
            save_entries(a.entries, entries.values())
    if a.entries == ENTRIES:
        PAGE.write_text(book_page(load_entries(ENTRIES)), encoding="utf-8")


if __name__ == "__main__":
    main()
