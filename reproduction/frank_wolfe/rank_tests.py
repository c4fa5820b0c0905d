"""Tables 4 to 7 of the Frank-Wolfe paper, and their rank tests: Wilcoxon's signed ranks, Friedman's test, Holm's adjustment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from marginopt.models import FloatArray

from ..comparison import mean_summary
from ..record import (
    FRANK_WOLFE,
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
from .data import SOURCES
from .one_versus_one import ALGORITHMS
from .protocol import training_runs

#: Alternative hypothesis of x against y.
Alternative: TypeAlias = Literal["less", "greater", "two-sided"]


@dataclass(frozen=True)
class WilcoxonResult:
    """Result of Wilcoxon's test: sums of the positive and of the negative ranks, and the exact p."""

    positive: float
    negative: float
    p: float

    @property
    def statistic(self) -> float:
        """Return W, the smaller sum."""
        return min(self.positive, self.negative)


@dataclass(frozen=True)
class FriedmanResult:
    """Result of Friedman's test: χ², Iman and Davenport's F with its p, and the mean rank of each method (1: smallest value)."""

    chi2: float
    F: float
    p: float
    ranks: FloatArray


#: Differences that agree to so many decimals are equal: 97.65 - 97.31 and 83.40 - 83.06 differ in the last bit.
_DECIMALS = 10


def wilcoxon_test(
    x: FloatArray, y: FloatArray, alternative: Alternative = "two-sided", *, decimal: bool = True
) -> WilcoxonResult:
    """Return Wilcoxon's test of x - y with Pratt's zeros, p from the exact distribution of the sum over all signs of these ranks.

    Zeros are ranked with the rest and then left out (Pratt); equal sizes have the mean of their ranks. The distribution is a
    convolution over the doubled ranks, which are integers. ``"less"``: x tends to be smaller. Without ``decimal`` the differences
    keep the noise of binary fractions, which parts equal ones.
    """
    from scipy.stats import rankdata

    d = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    d = np.round(d, _DECIMALS) if decimal else d
    ranks = rankdata(np.abs(d))[d != 0]
    signs = d[d != 0] > 0
    positive, negative = float(ranks[signs].sum()), float(ranks[~signs].sum())
    doubled = np.rint(2.0 * ranks).astype(np.int64)
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: chance.size - rank]
        chance = 0.5 * (chance + shifted)
    at = round(2.0 * positive)
    below, above = float(chance[: at + 1].sum()), float(chance[at:].sum())
    p = {"less": below, "greater": above, "two-sided": min(1.0, 2.0 * min(below, above))}[alternative]
    return WilcoxonResult(positive, negative, p)


def friedman_test(table: FloatArray) -> FriedmanResult:
    """Return Friedman's test of a table (sets × methods).

    Iman and Davenport's F = (N-1)χ²/(N(k-1) - χ²) on k-1, (k-1)(N-1) degrees.

    χ² is SciPy's, corrected for ties; F is infinite where all data sets rank the methods alike.
    """
    from scipy.stats import f, friedmanchisquare, rankdata

    N, k = table.shape
    chi2 = float(friedmanchisquare(*table.T).statistic)
    rest = N * (k - 1.0) - chi2
    F = (N - 1.0) * chi2 / rest if rest > 0 else np.inf
    return FriedmanResult(chi2, F, float(f.sf(F, k - 1, (k - 1) * (N - 1))), rankdata(table, axis=1).mean(axis=0))


def holm_adjusted(p: FloatArray) -> FloatArray:
    """Return p of several tests adjusted by Holm's step-down procedure, the post-hoc of a Friedman test that rejects."""
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p)
    steps = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


_FIELDS = {"Time": ("train_seconds", "seconds"), "Accuracy": ("test_accuracy_pct", "accuracy")}
#: Table 4: the alternatives.
_ALTERNATIVES: dict[tuple[str, str], Alternative] = {
    ("Time", "FW vs. CVM"): "less", ("Time", "MFW vs. CVM"): "less", ("Time", "FW vs. MFW"): "two-sided",
    ("Accuracy", "FW vs. CVM"): "less", ("Accuracy", "MFW vs. CVM"): "less", ("Accuracy", "FW vs. MFW"): "less",
}  # fmt: skip
_MULTIPLE = "FW, MFW, CVM"
#: Fewer sets tell nothing.
_FEWEST = 5
_DOUBLED = "Erratum: the printed p of Friedman's test is 2 P(F(2, 50) ≥ f). Judged is this double; the right p is beside it."
_NOISE = (
    "The printed p is that of W = 47.5: of differences in doubles, whose noise parts equal ones; the printed W, 48.5, is that of "
    "the decimal differences. Judged is the p of the doubles; that of W = 48.5 is 0.000358."
)
_CONTRADICTED = "Erratum: the p that is printed of this test, 0.00123, is that of W = 59, as here."
_UNTOLD = (
    "Not judged: the accuracies of a1a, and two of a2a, are equal as printed. By the order of the digits that are not printed F "
    "lies between 8.33 and 13.85 (p between 3.3e-5 and 0.0015), so the printed accuracies neither give nor deny 11.879."
)
#: By what and test, of the accuracies: why the figure is another than the printed one, or not judged.
_ACCURACY = {
    ("statistic", "FW vs. MFW"): _CONTRADICTED, ("statistic", _MULTIPLE): _UNTOLD, ("p", _MULTIPLE): _UNTOLD,
    ("p", "MFW vs. CVM"): _NOISE,
}  # fmt: skip


def _tests(columns: Mapping[str, Mapping[str, FloatArray]]) -> dict[str, float]:
    """Return statistic and p of every test of Tables 5 and 6, and Holm's adjusted p; ``columns``: measure, algorithm, sets."""
    tests: dict[str, float] = {}
    for measure, by in columns.items():
        pairs = [pair for m, pair in _ALTERNATIVES if m == measure]
        both = []
        for pair in pairs:
            first, second = pair.split(" vs. ")
            test = wilcoxon_test(by[first], by[second], _ALTERNATIVES[measure, pair])
            tests |= {f"{measure}, {pair}, statistic": test.statistic, f"{measure}, {pair}, p": test.p}
            both.append(wilcoxon_test(by[first], by[second]).p)
        for pair, p in zip(pairs, holm_adjusted(np.array(both)), strict=True):
            tests[f"{measure}, {pair}, Holm"] = float(p)
        multiple = friedman_test(np.column_stack([by[name] for name in ("FW", "MFW", "CVM")]))
        tests |= {f"{measure}, {_MULTIPLE}, statistic": multiple.F, f"{measure}, {_MULTIPLE}, p": multiple.p}
    return tests


def _from_print(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tests on the 26 sets as printed in Tables 2 and 3."""
    rows = published_rows("frank_wolfe_tables2_3")
    columns = {
        measure: {name: np.array([float(r[field]) for r in rows if r["algorithm"] == name]) for name in ALGORITHMS}
        for measure, (field, _) in _FIELDS.items()
    }
    tests = _tests(columns)
    doubles = wilcoxon_test(columns["Accuracy"]["MFW"], columns["Accuracy"]["CVM"], "less", decimal=False)
    tests["Accuracy, MFW vs. CVM, p of doubles"] = doubles.p
    return {**tests, **{f"{name}, rejected": float(p < 0.01) for name, p in _p_values(tests)}}


def _p_values(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return [(name.removesuffix(", p"), p) for name, p in values.items() if name.endswith(", p")]


#: All tests on the accuracies and seconds that Tables 2 and 3 print.
PRINTED = Experiment("frank-wolfe rank tests", _from_print, layout=4)


def _measured(name: str) -> Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], MeasuredNumber | None]:
    """Return a function: a test on the means of the sets that all three algorithms were run on."""

    def summary(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber | None:
        by: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
        for run, record in records:
            if record["accuracy"] is not None:
                by[str(run.parameters["dataset"])][str(run.parameters["algorithm"])].append(record)
        sets = sorted(key for key, runs in by.items() if len(runs) == len(ALGORITHMS))
        if len(sets) < _FEWEST:
            return None
        columns = {
            measure: {a: np.array([np.mean([r[field] for r in by[s][a]]) for s in sets]) for a in ALGORITHMS}
            for measure, (_, field) in _FIELDS.items()
        }
        return MeasuredNumber(_tests(columns)[name], None, len(sets))

    return summary


def _rows(effort: ProtocolSize, what: str) -> Sequence[PaperCell]:
    """Return the cells of statistics or p values: recomputed, beside the printed ones; and from our own runs, not judged."""
    runs = [run for name in SOURCES for algorithm in ALGORITHMS for run in training_runs(effort, name, algorithm)]
    rows = []
    for r in published_rows("frank_wolfe_tables5_6_tests"):
        key = f"{r['measure']}, {r['test']}, {what}"
        there = PublishedNumber.of(r[what])
        multiple = r["test"] == _MULTIPLE
        doubled = what == "p" and multiple
        notes: tuple[str, ...] = (_DOUBLED,) if doubled else ()
        why = _ACCURACY.get((what, r["test"]), "") if r["measure"] == "Accuracy" else ""
        measured = mean_summary(f"{key} of doubles" if why is _NOISE else key, 2.0 if doubled else 1.0)
        printed, labels = (Run.of(PRINTED),), (r["measure"], "the 26 printed sets", r["test"])
        caveat = "printed digits do not tell" if why is _UNTOLD else ""
        rows.append(PaperCell(labels, there, printed, measured, (*notes, why) if why else notes, caveat=caveat))
        if doubled:
            rows.append(PaperCell((r["measure"], "the 26 printed sets, P(F ≥ f)", r["test"]), None, printed, mean_summary(key)))
        if not effort.one_row:
            labels = (r["measure"], "the sets measured here", r["test"])
            rows.append(PaperCell(labels, None, tuple(runs), _measured(key), borrows_runs=True))
        if what == "p" and r["test"] != _MULTIPLE:
            adjusted = mean_summary(f"{r['measure']}, {r['test']}, Holm")
            rows.append(PaperCell((r["measure"], "the 26 printed sets, two-sided, Holm", r["test"]), None, printed, adjusted))
    return rows


def _conclusions(effort: ProtocolSize) -> Sequence[PaperCell]:
    return [
        PaperCell(
            (measure, {"less": "smaller", "two-sided": "different", "greater": "larger"}[alternative], pair),
            PublishedNumber(0.0 if (measure, pair) == ("Time", "FW vs. MFW") else 1.0, None, 1.0),
            (Run.of(PRINTED),),
            mean_summary(f"{measure}, {pair}, rejected"),
        )
        for (measure, pair), alternative in _ALTERNATIVES.items()
    ]


TABLES = (
    PaperTable(
        "frank-wolfe-table-5",
        FRANK_WOLFE,
        "Table 5",
        "W and F of the rank tests",
        ("measure", "sets", "test"),
        "statistics",
        "Wilcoxon's signed ranks, zeros by Pratt; Friedman's test with Iman and Davenport's F.",
        lambda effort: _rows(effort, "statistic"),
        column_levels=1,
        kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "frank-wolfe-table-6",
        FRANK_WOLFE,
        "Table 6",
        "p of the rank tests",
        ("measure", "sets", "test"),
        "p values",
        "Exact p of Wilcoxon's tests with the alternatives of Table 4; F(2, 50) of Friedman's; Holm's post-hoc beside them.",
        lambda effort: _rows(effort, "p"),
        column_levels=1,
        kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "frank-wolfe-table-7",
        FRANK_WOLFE,
        "Tables 4 and 7",
        "hypotheses and conclusions",
        ("measure", "alternative", "test"),
        "1: equality is rejected at the level 0.01; 0: it is not",
        "The tests of Table 6 on the 26 printed sets.",
        _conclusions,
        column_levels=1,
        kind=CellKind.STATISTIC,
    ),
)
