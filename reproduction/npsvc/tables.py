"""Table 2 of NPSVC++: accuracies of six classifiers, paired t-tests of K-NPSVC++ against the others, sizes of the sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..comparison import mean_summary
from ..record import NPSVC, CellKind, MeasuredNumber, PaperCell, PaperTable, ProtocolSize, PublishedNumber, Run, published_rows
from .protocol import JOINT, METHODS, PRINTED, QUANTILE, SETS, accuracy_runs, size_run

_OURS = METHODS[-1]
_PARTLY = "Thinned: a random 2,000 of the set's points, fewer than published; another experiment, which is not judged."
_ORIENTATION = (
    "The released orientation (similarity loss on the rest, the farthest hyperplane wins), the opposite of the printed (2) "
    "and (21): the published figures on many classes need it. The printed one stands beside it and is not judged."
)
_SVM = "C = 1, as c in all other methods: C is not published. One class against the rest, as §2 says of all that follows it."
_RIVALS = "The rivals' parameters are not published: c = 1, as K-NPSVC++ has it in the released code, and r = 0.1."
_PINBALL = "Neither the pinball loss's τ (here 0.5) nor r of this method is published; both move the accuracy."
_SHAO = (
    "One problem for both hyperplanes (JointHyperplanesSVM), which §5.1 cites; the column NPSVM is the ε-insensitive problem of "
    "the paper's Table 1. Both are judged by the one printed figure, which the ledger counts once."
)
_XU = (
    "Xu, Yang, Pan's own problem (PinballTwinSVM), which §5.1 cites: the pinball loss on the class, ν times the mean of the "
    "others; c = 1, ν = τ = 0.5, none of them published. The column pinTWSVM is the pinball pair of the paper's Table 1. Both "
    "are judged by the one printed figure, which the ledger counts once."
)
#: Methods as the works that §5.1 cites state them.
_CITED = {JOINT: _SHAO, QUANTILE: _XU}
#: Why a cell is outside: what an unpublished parameter does there, on one split.
_OWN = {
    ("BinAlpha", "SVM"): (
        "By pairs of classes 71.41 ± 1.87 in ten splits, inside; but then DNA (95.20) and USPS (96.99) are above, and one class "
        "against the rest is what §2 says, and gives USPS as printed. The mean of y - f over the support vectors as the "
        "intercept, as in code of the first author's, gives 67.97 for 66.73 on one split; C = 10 gives 72.6, and USPS 97.8."
    ),
    ("Pendigits", "SVM"): (
        "Open. No convention that was tried gives 91.75 here and the other sets too, one split each. This kernel needs C below "
        "0.1 (95.45, 98.95% at C = 0.1, 1), where BinAlpha has 66.4 and USPS 93.1. By pairs: 90.45, 96.16, 98.34, 99.11, 99.64 "
        "at C = 0.03, 0.1, 0.25, 1, 10, with a loss-weighted vote 98.9, Crammer and Singer's 99.3; features in [0, 1] 99.1, "
        "standardised 99.2, rows of length 1 99.1; the mean of y - f over all points as the intercept 98.4, none 87.7 (DNA "
        "57.8); γ = 1/p 8.9. Linear by pairs, in [0, 1]: 91.1, 94.8, 97.6 at C = 0.03, 0.1, 1, and USPS 95.7 to 96.3."
    ),
    ("BinAlpha", "pinTWSVM"): (
        "r, which is not published and decides: on one split 39.7, 68.3, 66.6, 55.2% at r = 0.01, 0.028, 0.1, 1, so 64.5 is "
        "passed twice (68.3% at c = 0.1; 66.6% at τ = 1). With an intercept 66.6, 65.7, 61.6 at r = 0.1, 0.25, 0.5, and 65.90 "
        "in three splits at 0.25, inside; not taken, since it would be chosen by this cell. Over the kernel's columns with an "
        "intercept, almost without a norm (r = 0.001), 67.4. Xu et al.'s own problem, beside it, is inside, but 3.6 to "
        "7.4 below on the three other sets (with a free intercept 68.0, and USPS 89.7, DNA 91.5, Pendigits 89.0): the printed "
        "column is not of it."
    ),
    ("Pendigits", "NPSVM"): (
        "Not the formulation: the one problem for both hyperplanes of Shao et al. 2014, which §5.1 cites, as public code has it, "
        "gives 99.55 and 99.48 on two splits (c = 1, r = 0.1; BinAlpha 70.1, DNA 95.1, USPS 97.8 in two, inside); here it is "
        "the NPSVM of the paper's Table 1, Tian et al. 2014, ε-insensitive. Perhaps r: on one split, 99.59% at r = 0.1, 99.45% "
        "at r = 1; with an intercept and r = 0.25 99.64. Standardised features (99.57) do not lower it. 0.12 is five of 4,397 "
        "test points."
    ),
    ("Pendigits", "pinTWSVM"): (
        "No r: on one split 99.11, 99.27, 98.29% at r = 0.01, 0.1, 1. Printed is four points less than all other nonparallel "
        "methods have."
    ),
    ("USPS", "pinTWSVM"): (
        "No r: on one split 97.84, 97.94, 97.91, 97.05% at r = 0.01, 0.03, 0.1, 1. In the classes looked at most dual variables, "
        "or all, lie inside their bounds, so that f = 1 on nearly all other points, and c and τ move little."
    ),
    ("USPS", _OURS): (
        "r1, r2 and c: 1/K, 1/K and 1 are the released code's, not published for this set. On one split, with 800 Nyström "
        "features, 95.95, 96.78, 96.95% at c = 0.1, 1, 10: the difference is as that of a larger c. The parameters of the "
        "released demo (c = 20, r1 = r2 = 0.05, μ = 0.01, γ = 4, d = 100) give 97.94 on the first split, as these do. Ten splits "
        "have 97.73, and tuned on the training part the printed orientation 97.95 (benchmarks/results/nonparallel.md). The "
        "released code's own steps (64 sweeps over a box problem, 10 iterations, the graph in another order than the points) "
        "give 98.01 and 97.67 on two splits, and as much with 2,000 sweeps."
    ),
}
_TRIED = (
    "Readings tried, one split each, and not taken, since none explains the cells outside: the SVM by pairs (DNA 95.20, USPS "
    "96.99 in ten splits, above); all features standardised (K-NPSVC++ on USPS 97.5, further below); everybody tuned on "
    "the training part (SVM by pairs and TWSVM on BinAlpha 74.4 and 72.3, above); the released orientation for the rivals too "
    "(TWSVM, NPSVM, pinTWSVM on BinAlpha 72.4, 71.7, 72.2, above); an intercept; r = 1 (TWSVM and NPSVM on BinAlpha 63.0 and "
    "66.2, below); the rivals over the kernel's columns (TWSVM on Pendigits 99.1, below). Over r = 0.01, 0.03, 0.1, 0.3, 1, two "
    "splits each, BinAlpha has 49.5, 69.9, 69.8, 68.3, 64.2% by TWSVM, 28.0, 69.2, 69.0, 69.0, 66.6% by NPSVM and 41.4, 68.5, "
    "67.4, 66.6, 57.8% by pinTWSVM; on DNA all are within 0.9. So no r of this grid brings pinTWSVM on BinAlpha in."
)
_NOBODY = {
    "CHG": "the Cambridge hand gesture features; put chg.libsvm.bz2 into the directory of MARGINOPT_DATA",
    "20News": (
        "the 100 words of 16,242 postings of 20 Newsgroups that Roweis distributes; put 20news.libsvm.bz2 into the directory of "
        "MARGINOPT_DATA"
    ),
}
#: Variants of a method, beside its column: another orientation; another formulation of the same name, which is judged too.
_BESIDE = {_OURS: (PRINTED,), "NPSVM": (JOINT,), "pinTWSVM": (QUANTILE,)}
_LARGE = ("20News", "Pendigits", "USPS")


def _rows(effort: ProtocolSize) -> Sequence[str]:
    return effort.rows(tuple(SETS), ("Pendigits",))


def _notes(effort: ProtocolSize, name: str, method: str, one: str) -> tuple[str, ...]:
    """Return notes on a method's cell, in its orientation ``one``."""
    notes = {_OURS: (_ORIENTATION,), "SVM": (_SVM,), "pinTWSVM": (_RIVALS, _PINBALL)}.get(method, (_RIVALS,))
    if one in _CITED:
        notes = (*notes, _CITED[one])
    if _partly(effort, name, one):
        return (*notes, _PARTLY)
    return (*notes, _OWN[name, one]) if (name, one) in _OWN else notes


def _whole(effort: ProtocolSize, name: str, method: str) -> bool:
    """Return whether a thinned effort takes all points of a large set: for what is judged, the quick one for the SVM alone."""
    return name in _LARGE and method in METHODS and (method == "SVM" or not effort.one_row)


def _partly(effort: ProtocolSize, name: str, method: str) -> bool:
    """Return whether a cell is of fewer points than published."""
    return effort.thinned and name in _LARGE and not _whole(effort, name, method)


def _entries(effort: ProtocolSize) -> Sequence[PaperCell]:
    entries = []
    for r in published_rows("npsvcpp_table2_accuracy"):
        name, method = r["dataset"], r["method"]
        if name not in _rows(effort):
            continue
        there = PublishedNumber.of(r["accuracy_pct"], r["std"], 10)
        methods = (method, *_BESIDE.get(method, ()))
        entries += [
            PaperCell(
                (name, one), there, accuracy_runs(effort, name, one, _whole(effort, name, one)),
                mean_summary("accuracy", 100.0), _notes(effort, name, method, one),
                caveat="a variant" if one == PRINTED else "fewer points" if _partly(effort, name, one) else "",
                kind=CellKind.RESULT if one == method else CellKind.VARIANT,
            )
            for one in methods
        ]  # fmt: skip
    return entries


def _p_value(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber | None:
    """Return the two-sided p of the paired t-test over the splits that both have."""
    from scipy.stats import ttest_rel

    by: dict[object, dict[object, float]] = defaultdict(dict)
    for run, record in records:
        by[run.parameters["seed"]][run.parameters["method"]] = record["accuracy"]
    pairs = [tuple(pair[m] for m in sorted(pair, key=str)) for pair in by.values() if len(pair) == 2]
    if len(pairs) < 2:
        return None
    first, second = np.array(pairs).T
    if np.ptp(first - second) == 0.0:
        return None  # no spread to test by
    return MeasuredNumber(float(ttest_rel(first, second).pvalue), None, len(pairs))


def _both(effort: ProtocolSize, name: str, rival: str) -> tuple[Run, ...]:
    """Return the runs of K-NPSVC++ and of a rival on the same splits, of as many points."""
    whole = _whole(effort, name, rival) and _whole(effort, name, _OURS)
    return (*accuracy_runs(effort, name, _OURS, whole), *accuracy_runs(effort, name, rival, whole))


def _tests(effort: ProtocolSize) -> Sequence[PaperCell]:
    return [
        PaperCell(
            (r["dataset"], r["method"]),
            None,
            _both(effort, r["dataset"], r["method"]),
            _p_value,
            (f"Printed: p < {r['level']}." if r["level"] else "Printed: not significant at 0.1.",),
        )
        for r in published_rows("npsvcpp_table2_significance")
        if r["dataset"] in _rows(effort)
    ]


_COLUMNS = ("n_train", "n_test", "features", "classes")


def _size_entries(effort: ProtocolSize) -> Sequence[PaperCell]:
    return [
        PaperCell((r["dataset"], column), PublishedNumber.of(r[column]), (size_run(r["dataset"]),), mean_summary(column))
        for r in published_rows("npsvcpp_table2_accuracy")
        if r["method"] == METHODS[0] and r["dataset"] in _rows(effort)
        for column in _COLUMNS
    ]


TABLES = (
    PaperTable(
        "npsvc-table-2",
        NPSVC,
        "Table 2",
        "accuracy of six classifiers",
        ("set", "method"),
        "% of the test part",
        "Random 60/40 split of all points (thinned: of at most 2,000 for the printed orientation), 10 runs; Gaussian "
        "kernel of width 1/(mean squared distance); one class against the rest; nothing is tuned, as the paper speaks of no "
        "tuning.",
        _entries,
        (*(f"{name}: {reason}." for name, reason in _NOBODY.items()), _TRIED),
        column_levels=1,
    ),
    PaperTable(
        "npsvc-table-2-tests",
        NPSVC,
        "Table 2, paired t-tests",
        "K-NPSVC++ against each rival",
        ("set", "rival"),
        "two-sided p",
        "Paired over the splits of Table 2. Printed are levels (double dagger 0.05, dagger 0.1), one- or two-sided is not said.",
        _tests,
        column_levels=1,
        kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "npsvc-table-2-sets",
        NPSVC,
        "Table 2, the sets",
        "points, features and classes",
        ("set", "size"),
        "counts",
        "What is read here, and the parts of a split; of DNA and USPS the published training part alone is the whole set.",
        _size_entries,
        column_levels=1,
        kind=CellKind.SIZE,
    ),
)
