"""Tables 2 to 6 of the max-min paper: sizes of the sets, accuracies of five ways to choose γ and C, and models trained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from marginopt.selection import MaxMinSelector, select

from ..comparison import mean_summary
from ..inputs import data_set, dense_arrays
from ..record import (
    MAX_MIN,
    CellKind,
    Experiment,
    MeasuredNumber,
    PaperCell,
    PaperTable,
    ProtocolSize,
    PublishedNumber,
    Run,
    published_rows,
)
from .protocol import METHODS, SETS, VARIANTS, accuracy_runs, hinge_accuracy, hulls_accuracy, repetitions_of, split_parts

#: Notes on numbers of attributes. A constant column is zero once it is standardised, so no figure depends on the count.
_CONSTANT_COLUMNS = {
    "ION": "One of the published file's 34 columns is constant and not counted.",
    "MUS": "One of the 112 columns, the type of the veil, is constant; the paper counts it here, and not that of Ionosphere.",
}
#: Sets whose constant columns the paper counts.
_COUNTED = ("MUS",)


def _sizes(run: Mapping[str, Any]) -> dict[str, Any]:
    X, _ = dense_arrays(data_set(run["dataset"]))
    return {"instances": len(X), "attributes": int((np.ptp(X, axis=0) > 0.0).sum()), "columns": X.shape[1]}


#: Points and columns of a set, Table 2.
SIZES = Experiment("sizes", _sizes, lambda run: (run["dataset"],), layout=3)


def _table_2(effort: ProtocolSize) -> Sequence[PaperCell]:
    rows = [r for r in published_rows("maxmin_table2_datasets") if r["key"] in _keys(effort)]
    return [
        PaperCell(
            (r["dataset"], what),
            PublishedNumber.of(r[what]),
            (Run.of(SIZES, dataset=SETS[r["key"]]),),
            mean_summary("columns" if what == "attributes" and r["key"] in _COUNTED else what),
            (_CONSTANT_COLUMNS[r["key"]],) if r["key"] in _CONSTANT_COLUMNS and what == "attributes" else (),
        )
        for r in rows
        for what in ("instances", "attributes")
    ]


#: Chance of being the best of five.
_CHANCE = 1.0 / len(METHODS)
_BATS = (
    "The bats search the box of γ and C themselves, as in Yang's book, which the paper cites. What their fitness is judged on is "
    "not said. Table 5 prints γ = 8 for them, the end of the range, where no training point is misclassified: so accuracy on the "
    "training points is taken, and the algorithm's own answer among equal positions. A printed deviation of 0.00 is a constant "
    "predictor's."
)
_FITNESS = (
    "With the fitness that gives the printed figures on PAR, SON, SPE, BRE and GER the bats end at γ = 8 here too, where the "
    "prediction is the majority's; judged by a part kept aside or by cross-validation they end near the other methods also on "
    "those sets. No one fitness that was tried gives both."
)
_CONSTANT = (
    "The criterion's γ is 2^-15 in every split. The printed figure is, in all splits (SPE) or in some (SON), the majority's, "
    "which at this γ every C up to 2^9 (SPE) and 2^3 (SON) predicts; chosen on the training points, on a fifth kept aside or by "
    "cross-validation C is larger."
)
_COSTS = "C by one model for each of 11 values, judged on a fifth of the training part kept aside; the paper says grid search."
_MAXIMISER = (
    "γ is a stationary point of f, |f'| ≤ 1e-3. The printed rate and the variant of the released code, which stop elsewhere, are "
    "further from the printed accuracies over the sets as a whole (benchmarks/results/hulls.md)."
)
_SIGN = "Erratum: the printed p, 0.0064, is P(X > 5); the test's is P(X ≥ 5) = 0.033."
_MUSHROOMS = (
    "The printed deviation is about one or two test points of 1,625. On the first split CV, Fisher and max-min leave three "
    "points wrong, whatever C from 2^-1 to 2^5 is taken at γ = 2^-9; on others none. Fewer than the five splits were run."
)
#: Cells that the note of their method does not explain.
_OWN = {
    ("ION", "MaxMin-SVC"): (
        "The term I/C, which the authors' released code loses after its first loss (another variant, in the last column). With "
        "it, as printed, f has its maximum near γ = 2^-4, where accuracy is best, 96.2% over three splits; without it at 2^-2, "
        "which is the γ that Table 5 prints for Parkinsons: 91.5% there, 91.1% with C = 1, the printed figure. Not in all sets: "
        "on BRE, without it, the maximum is at 2^-3, with 91.2%, and 97.40 is printed."
    ),
    ("SON", "Fisher-SVC"): _CONSTANT,
    ("SPE", "Fisher-SVC"): _CONSTANT,
    ("HEA", "Bat-SVC"): _FITNESS,
    ("ION", "Bat-SVC"): _FITNESS,
    ("AUS", "Bat-SVC"): _FITNESS,
    ("MUS", "Bat-SVC"): _FITNESS,
    **{("MUS", method): _MUSHROOMS for method in ("CV-SVC", "Fisher-SVC", "MaxMin-SVC")},
}


def _notes(dataset: str, method: str) -> tuple[str, ...]:
    if (dataset, method) in _OWN:
        return (_OWN[dataset, method],)
    return {"Bat-SVC": (_BATS,), "Fisher-SVC": (_COSTS,), "LD-SVC": (_COSTS,), "MaxMin-SVC": (_MAXIMISER,)}.get(method, ())


def _keys(effort: ProtocolSize) -> Sequence[str]:
    return effort.rows(tuple(SETS), ("BRE",))


def _table_3(effort: ProtocolSize) -> Sequence[PaperCell]:
    entries = [
        PaperCell(
            (r["dataset"], r["method"]),
            PublishedNumber.of(r["test_accuracy_pct"], r["std"], repetitions_of(r["dataset"])),
            accuracy_runs(effort, r["dataset"], r["method"]),
            mean_summary("accuracy", 100.0),
            _notes(r["dataset"], r["method"]),
        )
        for r in published_rows("maxmin_table3_accuracy")
        if r["dataset"] in _keys(effort)
    ]
    entries += [
        PaperCell(
            (r["dataset"], variant),
            PublishedNumber.of(r["test_accuracy_pct"], r["std"]),
            accuracy_runs(effort, r["dataset"], variant),
            mean_summary("accuracy", 100.0),
            caveat="a variant",
            kind=CellKind.VARIANT,
        )
        for variant in VARIANTS
        for r in published_rows("maxmin_table3_accuracy")
        if r["dataset"] in _keys(effort) and r["method"] == "MaxMin-SVC"
    ]
    return entries


def _printed(run: Mapping[str, Any]) -> dict[str, float]:
    return _test(*_best_printed())


#: The binomial test on the printed accuracies of Table 3.
PRINTED = Experiment("max-min binomial test", _printed)


def _best_printed() -> tuple[int, int]:
    """Return the number of printed sets on which max-min is the best, and the number of all."""
    by: dict[str, dict[str, float]] = defaultdict(dict)
    for r in published_rows("maxmin_table3_accuracy"):
        by[r["dataset"]][r["method"]] = float(r["test_accuracy_pct"])
    return sum(max(one, key=one.__getitem__) == "MaxMin-SVC" for one in by.values()), len(by)


def _test(wins: int, sets: int) -> dict[str, float]:
    """Return the number of wins, P(X ≥ wins), the test's p, and P(X > wins)."""
    from scipy.stats import binom

    return {"wins": wins, "p": float(binom.sf(wins - 1, sets, _CHANCE)), "beyond": float(binom.sf(wins, sets, _CHANCE))}


def _binomial(effort: ProtocolSize) -> Sequence[PaperCell]:
    """Return the cells of the paper's count and test, from its own table and from what is measured."""
    printed = (Run.of(PRINTED),)
    every = tuple(run for key in _keys(effort) for method in METHODS for run in accuracy_runs(effort, key, method))
    ours, theirs = "measured here", "the 10 printed sets"
    return [
        PaperCell((theirs, "sets on which max-min is best"), PublishedNumber.of("5"), printed, mean_summary("wins")),
        PaperCell((theirs, "P(X > wins)"), PublishedNumber.of("0.0064"), printed, mean_summary("beyond"), (_SIGN,)),
        PaperCell((theirs, "p = P(X ≥ wins)"), None, printed, mean_summary("p"), (_SIGN,)),
        PaperCell((ours, "sets on which max-min is best"), None, every, partial(_measured, "wins"), borrows_runs=True),
        PaperCell((ours, "P(X > wins)"), None, every, partial(_measured, "beyond"), borrows_runs=True),
        PaperCell((ours, "p = P(X ≥ wins)"), None, every, partial(_measured, "p"), borrows_runs=True),
    ]


def _best(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> tuple[int, int]:
    """Return the number of sets on which max-min's mean is the highest, and of those that all methods were run on."""
    accuracy: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run, record in records:
        accuracy[run.parameters["dataset"]][run.parameters["method"]].append(record["accuracy"])
    whole = [by for by in accuracy.values() if len(by) == len(METHODS)]
    return sum(max(by, key=lambda method: np.mean(by[method])) == "MaxMin-SVC" for by in whole), len(whole)


def _measured(name: str, records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber | None:
    wins, sets = _best(records)
    return MeasuredNumber(_test(wins, sets)[name], None, sets) if sets else None


_TEN = (
    "The printed number is the mean over ten sets without a deviation; Phishing, of which there is no copy here, is not among "
    "ours, so another mean, not judged."
)


def _table_4(effort: ProtocolSize) -> Sequence[PaperCell]:
    return [
        PaperCell(
            (r["method"],),
            PublishedNumber.of(r["models_trained"]),
            tuple(run for key in _keys(effort) for run in accuracy_runs(effort, key, r["method"])),
            mean_summary("models"),
            (_TEN,) if r["method"] == "MaxMin-SVC" else (),
            caveat="the mean over other sets" if r["method"] == "MaxMin-SVC" else "",
        )
        for r in published_rows("maxmin_table4_models_trained")
    ]


_ONE_SPLIT = (
    "Printed are figures of one split of 39 test points, of which one is 2.56%; measured is the mean over the splits of Table 3, "
    "and inside is judged by Table 3's deviation of the same set and method."
)
_BATS_TABLE_5 = (
    "The bats' γ is the end of the range, where no training point is misclassified, as nearly all of the box does. The other "
    "columns take the printed γ."
)
_RATE = (
    "By the printed rate (53), which Table 5 shows at work: from 2^-15 its first move, f' itself, overshoots to the end γ = 8, "
    "where the prediction is the majority's. By the secant rate, in the last column, every start climbs to γ = 0.24."
)


def _at(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return accuracies on one split: hinge SVC and two-hulls classifier at γ, and max-min started there by both rates."""
    X, X_test, y, y_test = split_parts(run["dataset"], run["seed"])
    gamma = float(np.clip(run["gamma"], 2.0**-15, 2.0**3))
    record = {
        "by hinge": hinge_accuracy(X, y, X_test, y_test, gamma, 1.0),
        "by max-min": hulls_accuracy(X, y, X_test, y_test, gamma, 1.0),
    }
    starts = {
        "started there": MaxMinSelector(parameter="gamma", gamma0=gamma),
        "started there, printed rate": MaxMinSelector(parameter="gamma", gamma0=gamma, rate="printed", warm=False),
    }
    for name, selector in starts.items():
        end = select(X, y, selector, seed=run["seed"]).gamma
        record |= {name: hulls_accuracy(X, y, X_test, y_test, end, 1.0), f"{name}, γ": end}
    return record


#: Accuracies at a given γ, and of max-min started there, Table 5.
AT_GIVEN_GAMMA = Experiment("max-min at a given gamma", _at, lambda run: (run["dataset"],))


def _runs(effort: ProtocolSize, gamma: str) -> tuple[Run, ...]:
    return tuple(Run.of(AT_GIVEN_GAMMA, dataset=SETS["PAR"], gamma=float(gamma), seed=seed) for seed in effort.seeds(30))


def _median(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber:
    return MeasuredNumber(float(np.median([record["gamma"] for _, record in records])), None, len(records))


def _judged_by(there: PublishedNumber | None, method: str) -> PublishedNumber | None:
    (row,) = (r for r in published_rows("maxmin_table3_accuracy") if (r["dataset"], r["method"]) == ("PAR", method))
    return None if there is None else replace(there, deviation=float(row["std"]))


def _table_5(effort: ProtocolSize) -> Sequence[PaperCell]:
    entries = []
    for r in published_rows("maxmin_tables5_6_parkinsons"):
        method = r["selector"]
        if method == "MaxMin-SVC":
            continue
        bats = method == "Bat-SVC"
        chosen = accuracy_runs(effort, "PAR", method)
        at = _runs(effort, r["selected_gamma"])
        gamma = PublishedNumber.of(r["selected_gamma"])
        entries.append(
            PaperCell((method, "median γ"), gamma, chosen, _median, (_BATS_TABLE_5,) if bats else (), kind=CellKind.PARAMETER)
        )
        columns = {
            "Test_acc": ("test_acc_pct", "by hinge", method, (_ONE_SPLIT,)),
            "Test_acc1, with that γ": ("maxmin_acc_with_that_gamma_pct", "by max-min", "MaxMin-SVC", (_ONE_SPLIT,)),
            "Test_acc2, started there": (
                "maxmin_acc_started_there_pct", "started there, printed rate", "MaxMin-SVC", (_ONE_SPLIT, _RATE),
            ),
        }  # fmt: skip
        for column, (theirs, ours, judge, notes) in columns.items():
            entries.append(
                PaperCell(
                    (method, column), _judged_by(PublishedNumber.of(r[theirs]), judge), at, mean_summary(ours, 100.0), notes
                )
            )
        entries.append(PaperCell((method, "Test_acc2, secant rate"), None, at, mean_summary("started there", 100.0)))
    return entries


def _table_6(effort: ProtocolSize) -> Sequence[PaperCell]:
    (r,) = (r for r in published_rows("maxmin_tables5_6_parkinsons") if r["selector"] == "MaxMin-SVC")
    runs = accuracy_runs(effort, "PAR", "MaxMin-SVC")
    hinge = _judged_by(PublishedNumber.of(r["test_acc_pct"]), "CV-SVC")
    hulls = _judged_by(PublishedNumber.of(r["test_acc_pct"]), "MaxMin-SVC")
    return [
        PaperCell(("hinge SVC, Test_acc",), hinge, runs, mean_summary("by hinge", 100.0), (_ONE_SPLIT,)),
        PaperCell(
            ("median of the selected γ",), PublishedNumber.of(r["selected_gamma"]), runs, _median, (_ONE_SPLIT,),
            caveat="the paper's is of one split", kind=CellKind.PARAMETER,
        ),
        PaperCell(("MaxMin-SVC, Test_acc",), hulls, runs, mean_summary("accuracy", 100.0), (_ONE_SPLIT,)),
    ]  # fmt: skip


TABLES = (
    PaperTable(
        "max-min-table-2",
        MAX_MIN,
        "Table 2",
        "the sets",
        ("set", "size"),
        "counts",
        "What is read here.",
        _table_2,
        column_levels=1,
        kind=CellKind.SIZE,
    ),
    PaperTable(
        "max-min-table-3",
        MAX_MIN,
        "Table 3",
        "test accuracy of five ways to choose γ and C",
        ("set", "method"),
        "% of the test part",
        "Features standardised on all data before the split (a leak, as printed); 80/20 stratified; 30 splits (5 of the two "
        "large sets). The rivals train LIBSVM's hinge SVC, at most 200,000 steps a model; max-min the two-hulls classifier "
        "at C = 1. Its printed rate of γ and the released code's variant stand beside it and are not "
        "judged: the printed rate does not give the printed accuracies, as its column shows.",
        _table_3,
        column_levels=1,
    ),
    PaperTable(
        "max-min-table-3-test",
        MAX_MIN,
        "Table 3, binomial test",
        "whether max-min is the best of five more often than by chance",
        ("sets", "figure"),
        "counts and probabilities",
        "X, the number of sets on which one of five equally good methods is the best, is binomial with chance 0.2 (§4.3.1).",
        _binomial,
        column_levels=1,
        kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "max-min-table-4",
        MAX_MIN,
        "Table 4",
        "models trained for one selection",
        ("method",),
        "models",
        "The runs of Table 3, all sets together. No deviation is printed: inside is what rounds to the printed number.",
        _table_4,
        ("Max-min's number depends on the start and the rate of γ, and which f the printed one tests is not said.",),
        kind=CellKind.COUNT,
    ),
    PaperTable(
        "max-min-table-5",
        MAX_MIN,
        "Table 5",
        "Parkinsons: max-min with the γ that the rivals choose",
        ("γ chosen by", "figure"),
        "γ, or % of the test part",
        "The splits of Table 3 on Parkinsons. γ is the rivals' median; the accuracies take the printed γ and, as §4.3.4 "
        "says, C = 1 in all methods.",
        _table_5,
        column_levels=1,
    ),
    PaperTable(
        "max-min-table-6",
        MAX_MIN,
        "Table 6",
        "Parkinsons: the rivals with the γ that max-min chooses",
        ("figure",),
        "γ, or % of the test part",
        "The runs of Table 3 on Parkinsons, hinge SVC at C = 1; the paper prints one figure for the four rivals.",
        _table_6,
    ),
)
