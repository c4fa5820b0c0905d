"""Table 3: test accuracy of five ways to choose γ and C; the count of sets on which max-min is best, and its binomial test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..comparison import mean_of
from ..record import MAX_MIN, CellKind, Entry, Experiment, PaperTable, ProtocolSize, Published, Run, Value, published
from .protocol import METHODS, SETS, VARIANTS, accuracy_runs, repetitions_of

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


def _entries(effort: ProtocolSize) -> Sequence[Entry]:
    entries = [
        Entry(
            (r["dataset"], r["method"]),
            Published.of(r["test_accuracy_pct"], r["std"], repetitions_of(r["dataset"])),
            accuracy_runs(effort, r["dataset"], r["method"]),
            mean_of("accuracy", 100.0),
            _notes(r["dataset"], r["method"]),
        )
        for r in published("maxmin_table3_accuracy")
        if r["dataset"] in _keys(effort)
    ]
    entries += [
        Entry(
            (r["dataset"], variant),
            Published.of(r["test_accuracy_pct"], r["std"]),
            accuracy_runs(effort, r["dataset"], variant),
            mean_of("accuracy", 100.0),
            caveat="a variant",
            kind=CellKind.VARIANT,
        )
        for variant in VARIANTS
        for r in published("maxmin_table3_accuracy")
        if r["dataset"] in _keys(effort) and r["method"] == "MaxMin-SVC"
    ]
    return entries


def _printed(run: Mapping[str, Any]) -> dict[str, float]:
    return _test(*_best_printed())


PRINTED = Experiment("max-min binomial test", _printed)


def _best_printed() -> tuple[int, int]:
    """On how many of the printed sets max-min is the best."""
    by: dict[str, dict[str, float]] = defaultdict(dict)
    for r in published("maxmin_table3_accuracy"):
        by[r["dataset"]][r["method"]] = float(r["test_accuracy_pct"])
    return sum(max(one, key=one.__getitem__) == "MaxMin-SVC" for one in by.values()), len(by)


def _test(wins: int, sets: int) -> dict[str, float]:
    """Of so many wins: P(X ≥ wins), the test's p, and P(X > wins)."""
    from scipy.stats import binom

    return {"wins": wins, "p": float(binom.sf(wins - 1, sets, _CHANCE)), "beyond": float(binom.sf(wins, sets, _CHANCE))}


def _binomial(effort: ProtocolSize) -> Sequence[Entry]:
    """The paper's count and test from its own table, then from what is measured."""
    printed = (Run.of(PRINTED),)
    every = tuple(run for key in _keys(effort) for method in METHODS for run in accuracy_runs(effort, key, method))
    ours, theirs = "measured here", "the 10 printed sets"
    return [
        Entry((theirs, "sets on which max-min is best"), Published.of("5"), printed, mean_of("wins")),
        Entry((theirs, "P(X > wins)"), Published.of("0.0064"), printed, mean_of("beyond"), (_SIGN,)),
        Entry((theirs, "p = P(X ≥ wins)"), None, printed, mean_of("p"), (_SIGN,)),
        Entry((ours, "sets on which max-min is best"), None, every, partial(_measured, "wins"), borrowed=True),
        Entry((ours, "P(X > wins)"), None, every, partial(_measured, "beyond"), borrowed=True),
        Entry((ours, "p = P(X ≥ wins)"), None, every, partial(_measured, "p"), borrowed=True),
    ]


def _best(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> tuple[int, int]:
    """On how many sets max-min's mean is the highest, and of how many that all methods were run on."""
    accuracy: dict[object, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run, record in records:
        accuracy[run.parameters["dataset"]][run.parameters["method"]].append(record["accuracy"])
    whole = [by for by in accuracy.values() if len(by) == len(METHODS)]
    return sum(max(by, key=lambda method: np.mean(by[method])) == "MaxMin-SVC" for by in whole), len(whole)


def _measured(name: str, records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
    wins, sets = _best(records)
    return Value(_test(wins, sets)[name], None, sets) if sets else None


TABLES = (
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
        _entries,
        across=1,
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
        across=1,
        kind=CellKind.STATISTIC,
    ),
)
