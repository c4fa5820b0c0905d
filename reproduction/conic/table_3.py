"""Table 3: misclassification on five real sets with flipped labels, and the seconds of the path; the average row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..comparison import OTHER_MACHINE, mean_of
from ..record import CONIC, CellKind, Entry, PaperTable, ProtocolSize, Published, Run, Value, published
from .protocol import REAL, VALUES, seconds_of_100

_SETS = {
    "Breast cancer": "breast-ljubljana",
    "German credit": "german",
    "Immunotherapy": "immunotherapy",
    "Ionosphere": "ionosphere",
    "Sonar": "sonar",
}
#: Sets that are the paper's: those with its n.
_COMMON = tuple(name for name in _SETS if name != "Breast cancer")
#: One that is judged, and one that packages have.
_QUICK = ("German credit", "Breast cancer")
_TAUS = ("0", "0.1", "0.2", "0.3")
_BREAST = (
    "Another set, so not judged: the paper's has n = 196 and p = 36. With 36 columns UCI's Breast Cancer (Ljubljana) has 277 "
    "points, 257 distinct, 196 of the majority and 29% of the other class. Printed is at all noise levels the error, with its "
    "deviation, of the majority rule on 196 points of which 33 are of the other class; no such set was found."
)
_FOUR = "Printed cells of the four sets that are the paper's, averaged in the same way."
_FEATURES = "The paper counts 6 features; the published file has 7."
_GERMAN = "The printed error of the conic loss is about that of the majority rule (30%)."


def _runs(effort: ProtocolSize, sets: Sequence[str], method: str, tau: str) -> tuple[Run, ...]:
    return tuple(
        Run.of(REAL, dataset=_SETS[name], tau=float(tau), method=method, seed=seed, values=effort.grid(*VALUES))
        for name, seed in product(sets, effort.repetitions(20))
    )


def _average(sets: int, records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
    """Return the printed average: the mean of the sets' means, with the mean of their deviations; None unless all the sets are
    there.
    """
    errors = defaultdict(list)
    for run, record in records:
        errors[run.parameters["dataset"]].append(100.0 * record["error"])
    if len(errors) < sets:
        return None
    deviations = [np.std(result, ddof=1) for result in errors.values() if len(result) > 1]
    mean = float(np.mean([np.mean(result) for result in errors.values()]))
    return Value(mean, float(np.mean(deviations)) if len(deviations) == len(errors) else None, min(map(len, errors.values())))


def _printed_average(method: str, tau: str) -> Published:
    """Of the sets that are the paper's."""
    rows = [r for r in published("conic_table3_real") if r["dataset"] in _COMMON and (r["method"], r["tau"]) == (method, tau)]
    value, deviation = (float(np.mean([float(r[field]) for r in rows])) for field in ("misclassification_pct", "std_pct"))
    return Published(round(value, 2), round(deviation, 2), 0.1)


def _notes(name: str, method: str) -> tuple[str, ...]:
    if name == "German credit" and method == "conic":
        return (_GERMAN,)
    return {"Breast cancer": (_BREAST,), "Immunotherapy": (_FEATURES,)}.get(name, ())


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    rows = effort.rows((*_SETS, "Average"), _QUICK)
    entries = []
    for r in published("conic_table3_real"):
        name, method, tau = r["dataset"], r["method"], r["tau"]
        if name not in rows:
            continue
        average = name == "Average"
        if not average and tau == _TAUS[0]:
            every = tuple(run for each in _TAUS for run in _runs(effort, (name,), method, each))
            seconds = Published.of(r["cv_seconds"], r["cv_seconds_std"])
            entries.append(
                Entry((name, method, "seconds"), seconds, every, seconds_of_100, caveat=OTHER_MACHINE, kind=CellKind.SECONDS)
            )
        runs = _runs(effort, tuple(_SETS) if average else (name,), method, tau)
        summary = partial(_average, len(_SETS)) if average else mean_of("error", 100.0)
        there = Published.of(r["misclassification_pct"], r["std_pct"], None if average else 20)
        caveat = (
            "" if name in _COMMON else "the mean includes that other set" if average else "another data set has that name here"
        )
        notes = (_BREAST,) if average else _notes(name, method)
        entries.append(Entry((name, method, f"τ = {tau}"), there, runs, summary, notes, caveat=caveat))
    return [*entries, *(_four(effort, method, tau) for method in ("hinge", "conic") for tau in _TAUS if not effort.one_row)]


def _four(effort: ProtocolSize, method: str, tau: str) -> Entry:
    """The average row over the sets that are the paper's."""
    labels = ("Average of the four", method, f"τ = {tau}")
    runs = _runs(effort, _COMMON, method, tau)
    return Entry(labels, _printed_average(method, tau), runs, partial(_average, len(_COMMON)), (_FOUR,), kind=CellKind.AVERAGE)


TABLES = (
    PaperTable(
        "conic-table-3",
        CONIC,
        "Table 3",
        "misclassification on real sets with flipped labels",
        ("set", "method", "figure"),
        "% of the test part, and processor seconds of 100 problems",
        "35/35/30 random split, labels of training and validation part flipped with probability τ; 100 values of the "
        "parameter (thinned: 20), the first with the fewest misclassified validation points; 20 splits.",
        _entries,
        (
            "Features as published, not scaled: standardised, German credit's conic error is 25.5% where 29.6% is printed.",
            "The average row is the mean of the sets' means with the mean of their deviations, as printed.",
        ),
        across=1,
    ),
)
