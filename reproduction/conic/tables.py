"""Tables 1 to 4 of the conic paper: misclassification on generated and real sets, and the seconds of a path of the parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..comparison import OTHER_MACHINE, mean_summary
from ..record import CONIC, CellKind, MeasuredNumber, PaperCell, PaperTable, ProtocolSize, PublishedNumber, Run, published_rows
from .protocol import DRAWS, FLIPPED, PATH_LENGTHS, REAL, SYNTHETIC, TRAINING_SIZES, seconds_of_100

_SHARE = (
    "Clustered outliers are 5% of the points. The paper prints 10%: the outliers' pull on a small w is then 0.1·5 = 0.5 against "
    "0.9·0.5 = 0.45 of all other points, and the hinge errs in 41.6% (measured) where 3.9% is printed."
)


def synthetic_runs(effort: ProtocolSize, sigma: float, outliers: str, method: str) -> tuple[Run, ...]:
    """Return the runs of one cell of Table 1: all n, p and repetitions. The Bayes rule has no path."""
    values = 0 if method == "bayes" else effort.grid(*PATH_LENGTHS)
    share = 0.05 if outliers == "clustered" else 0.1
    return tuple(
        Run.of(SYNTHETIC, sigma=sigma, outliers=outliers, method=method, n=n, p=p, seed=seed, values=values, share=share)
        for (n, p), seed in product(TRAINING_SIZES, effort.seeds(20))
    )


def _table_1(effort: ProtocolSize) -> Sequence[PaperCell]:
    sigmas = effort.rows(("0.2", "0.5", "1.0"), ("0.2",))
    return [
        PaperCell(
            (r["sigma"], r["method"], r["outliers"]),
            PublishedNumber.of(r["misclassification_pct"], r["std_pct"], DRAWS),
            synthetic_runs(effort, float(r["sigma"]), r["outliers"], r["method"]),
            mean_summary("error", 100.0),
            (_SHARE,) if r["outliers"] == "clustered" else (),
        )
        for r in published_rows("conic_table1_synthetic")
        if r["sigma"] in sigmas
    ]


def _table_2(effort: ProtocolSize) -> Sequence[PaperCell]:
    sigmas = effort.rows((0.2, 0.5, 1.0), (0.2,))
    runs = {
        m: [r for sigma, kind in product(sigmas, ("none", "clustered", "spread")) for r in synthetic_runs(effort, sigma, kind, m)]
        for m in ("hinge", "conic")
    }
    return [
        PaperCell(
            (r["n"], r["method"], f"p = {r['p']}"),
            PublishedNumber.of(r["seconds_for_100_problems"], r["std"]),
            tuple(run for run in runs[r["method"]] if run.parameters["n"] == int(r["n"]) and run.parameters["p"] == int(r["p"])),
            seconds_of_100,
            caveat=OTHER_MACHINE,
        )
        for r in published_rows("conic_table2_times")
        if r["n"] in effort.rows(("100", "200", "500", "1000"), ("100",))
    ]


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
        Run.of(REAL, dataset=_SETS[name], tau=float(tau), method=method, seed=seed, values=effort.grid(*PATH_LENGTHS))
        for name, seed in product(sets, effort.seeds(20))
    )


def _average(sets: int, records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber | None:
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
    return MeasuredNumber(
        mean, float(np.mean(deviations)) if len(deviations) == len(errors) else None, min(map(len, errors.values()))
    )


def _printed_average(method: str, tau: str) -> PublishedNumber:
    """Return the average of the printed cells of the sets that are the paper's."""
    rows = [
        r for r in published_rows("conic_table3_real") if r["dataset"] in _COMMON and (r["method"], r["tau"]) == (method, tau)
    ]
    value, deviation = (float(np.mean([float(r[field]) for r in rows])) for field in ("misclassification_pct", "std_pct"))
    return PublishedNumber(round(value, 2), round(deviation, 2), 0.1)


def _notes(name: str, method: str) -> tuple[str, ...]:
    if name == "German credit" and method == "conic":
        return (_GERMAN,)
    return {"Breast cancer": (_BREAST,), "Immunotherapy": (_FEATURES,)}.get(name, ())


def _table_3(effort: ProtocolSize) -> Sequence[PaperCell]:
    rows = effort.rows((*_SETS, "Average"), _QUICK)
    entries = []
    for r in published_rows("conic_table3_real"):
        name, method, tau = r["dataset"], r["method"], r["tau"]
        if name not in rows:
            continue
        average = name == "Average"
        if not average and tau == _TAUS[0]:
            every = tuple(run for each in _TAUS for run in _runs(effort, (name,), method, each))
            seconds = PublishedNumber.of(r["cv_seconds"], r["cv_seconds_std"])
            entries.append(
                PaperCell((name, method, "seconds"), seconds, every, seconds_of_100, caveat=OTHER_MACHINE, kind=CellKind.SECONDS)
            )
        runs = _runs(effort, tuple(_SETS) if average else (name,), method, tau)
        summary = partial(_average, len(_SETS)) if average else mean_summary("error", 100.0)
        there = PublishedNumber.of(r["misclassification_pct"], r["std_pct"], None if average else 20)
        caveat = (
            "" if name in _COMMON else "the mean includes that other set" if average else "another data set has that name here"
        )
        notes = (_BREAST,) if average else _notes(name, method)
        entries.append(PaperCell((name, method, f"τ = {tau}"), there, runs, summary, notes, caveat=caveat))
    return [*entries, *(_four(effort, method, tau) for method in ("hinge", "conic") for tau in _TAUS if not effort.one_row)]


def _four(effort: ProtocolSize, method: str, tau: str) -> PaperCell:
    """Return the cell of the average over the sets that are the paper's."""
    labels = ("Average of the four", method, f"τ = {tau}")
    runs = _runs(effort, _COMMON, method, tau)
    return PaperCell(
        labels, _printed_average(method, tau), runs, partial(_average, len(_COMMON)), (_FOUR,), kind=CellKind.AVERAGE
    )


#: Who chooses the parameter, the field of the records, and the share of τ with which a label is flipped.
_CHOICES = {"validation points": ("error", 1.0), "test points": ("least", 1.0), "validation points, noise τ/2": ("error", 0.5)}
_UNPRINTED = (
    "Less noise than printed, or other n and p. The appendix refers to §5.1.2 and prints no n and p: Table 1's, all of them, "
    "are the plain reading. No choice of the parameter explains it, as the rows of the test points show. Nor does a part of "
    "these sizes: of n = 1,000 and p = 3 alone the hinge errs in 11% at τ = 0.3, printed is 7.1. At noise τ/2, which it is "
    "where a label is drawn at random with probability τ, not flipped, the means are about one printed deviation away or less "
    "(last rows)."
)
_INDEPENDENT = (
    "An independent generator agrees with this one: the hinge errs in 6.9, 11.8 and 16.7% at τ = 0.1, 0.2, 0.3, twice what is "
    "printed. With no intercept in the true hyperplane, n ≥ 500 and p ≤ 10 it gives 3.3, 5.3 and 7.9%, near the printed 2.7, 4.9 "
    "and 7.1%."
)
_HALF = "As if each label were drawn at random with probability τ. Not judged: the appendix says that labels are flipped with it."
_LEAST = "The least error of all parameters on the test points themselves: no selection can be better. Not judged."


def _table_4(effort: ProtocolSize) -> Sequence[PaperCell]:
    entries = []
    for choice, (field, share) in _CHOICES.items():
        for r in published_rows("conic_table4_label_noise"):
            if r["tau"] not in effort.rows(("0.1", "0.2", "0.3"), ("0.1",)):
                continue
            runs = tuple(
                Run.of(
                    FLIPPED,
                    tau=share * float(r["tau"]),
                    method=r["method"],
                    n=n,
                    p=p,
                    seed=seed,
                    values=effort.grid(*PATH_LENGTHS),
                )
                for (n, p), seed in product(TRAINING_SIZES, effort.seeds(20))
            )
            there = PublishedNumber.of(r["misclassification_pct"], r["std_pct"], DRAWS)
            labels = (choice, r["method"], f"τ = {r['tau']}")
            judged = choice == "validation points"
            note = _UNPRINTED if judged else _LEAST if share == 1.0 else _HALF
            summary = mean_summary(field, 100.0)
            caveat, kind = ("", None) if judged else ("a variant", CellKind.VARIANT)
            entries.append(PaperCell(labels, there, runs, summary, (note,), caveat=caveat, kind=kind))
    return entries


TABLES = (
    PaperTable(
        "conic-table-1",
        CONIC,
        "Table 1",
        "misclassification on synthetic points, by outliers",
        ("σ", "method", "outliers"),
        "% of 100,000 clean test points",
        "Training and validation set of n points each; 100 values of the parameter (thinned: 20), the first with the fewest "
        "misclassified validation points; averages over n in {100, 200, 500, 1000}, p in {3, 5, 10, 30} and 20 draws of each.",
        _table_1,
        column_levels=1,
    ),
    PaperTable(
        "conic-table-2",
        CONIC,
        "Table 2",
        "seconds of the 100 problems of a path",
        ("n", "method", "p"),
        "processor seconds here, seconds of the paper's machine there; not judged",
        "The runs of Table 1, all σ and outliers together; of a thinned grid the seconds are scaled to 100 problems.",
        _table_2,
        ("Conic loss: one warm-started path of conic-ipm; hinge: 100 models, each stated, then solved by PIQP.",),
        column_levels=1,
        kind=CellKind.SECONDS,
    ),
    PaperTable(
        "conic-table-3",
        CONIC,
        "Table 3",
        "misclassification on real sets with flipped labels",
        ("set", "method", "figure"),
        "% of the test part, and processor seconds of 100 problems",
        "35/35/30 random split, labels of training and validation part flipped with probability τ; 100 values of the "
        "parameter (thinned: 20), the first with the fewest misclassified validation points; 20 splits.",
        _table_3,
        (
            "Features as published, not scaled: standardised, German credit's conic error is 25.5% where 29.6% is printed.",
            "The average row is the mean of the sets' means with the mean of their deviations, as printed.",
        ),
        column_levels=1,
    ),
    PaperTable(
        "conic-table-4",
        CONIC,
        "Table 4",
        "misclassification on separable points with flipped labels",
        ("parameter chosen by", "method", "noise"),
        "% of 100,000 clean test points",
        "As Table 1: training and validation set of n points each with flipped labels, 100 values of the parameter, 20 thinned.",
        _table_4,
        ("The paper does not print this table's n, p and number of draws.", _INDEPENDENT),
        column_levels=1,
    ),
)
