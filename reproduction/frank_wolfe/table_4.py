"""Tables 4 to 7: the paper's rank tests, recomputed from its own Tables 2 and 3, and from what is measured here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marginopt.models import FloatArray

from ..comparison import mean_of
from ..record import FRANK_WOLFE, CellKind, Entry, Experiment, PaperTable, ProtocolSize, Published, Run, Value, published
from .data import SOURCES
from .one_versus_one import ALGORITHMS
from .protocol import training_runs
from .rank_tests import Alternative, friedman, holm, signed_ranks

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
    """Statistic and p of every test of Tables 5 and 6, and Holm's adjusted two-sided p; ``columns``: measure, algorithm, sets."""
    tests: dict[str, float] = {}
    for measure, by in columns.items():
        pairs = [pair for m, pair in _ALTERNATIVES if m == measure]
        both = []
        for pair in pairs:
            first, second = pair.split(" vs. ")
            test = signed_ranks(by[first], by[second], _ALTERNATIVES[measure, pair])
            tests |= {f"{measure}, {pair}, statistic": test.statistic, f"{measure}, {pair}, p": test.p}
            both.append(signed_ranks(by[first], by[second]).p)
        for pair, p in zip(pairs, holm(np.array(both)), strict=True):
            tests[f"{measure}, {pair}, Holm"] = float(p)
        multiple = friedman(np.column_stack([by[name] for name in ("FW", "MFW", "CVM")]))
        tests |= {f"{measure}, {_MULTIPLE}, statistic": multiple.F, f"{measure}, {_MULTIPLE}, p": multiple.p}
    return tests


def _from_print(run: Mapping[str, Any]) -> dict[str, Any]:
    """The tests on the 26 sets as printed in Tables 2 and 3."""
    rows = published("frank_wolfe_tables2_3")
    columns = {
        measure: {name: np.array([float(r[field]) for r in rows if r["algorithm"] == name]) for name in ALGORITHMS}
        for measure, (field, _) in _FIELDS.items()
    }
    tests = _tests(columns)
    doubles = signed_ranks(columns["Accuracy"]["MFW"], columns["Accuracy"]["CVM"], "less", decimal=False)
    tests["Accuracy, MFW vs. CVM, p of doubles"] = doubles.p
    return {**tests, **{f"{name}, rejected": float(p < 0.01) for name, p in _p_values(tests)}}


def _p_values(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return [(name.removesuffix(", p"), p) for name, p in values.items() if name.endswith(", p")]


PRINTED = Experiment("frank-wolfe rank tests", _from_print, layout=4)


def _measured(name: str) -> Callable[[Sequence[tuple[Run, Mapping[str, Any]]]], Value | None]:
    """A test on the means of the sets that all three algorithms were run on."""

    def summary(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
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
        return Value(_tests(columns)[name], None, len(sets))

    return summary


def _rows(effort: ProtocolSize, what: str) -> Sequence[Entry]:
    """Statistics or p values: recomputed, beside the printed ones; and from our own runs, not judged."""
    runs = [run for name in SOURCES for algorithm in ALGORITHMS for run in training_runs(effort, name, algorithm)]
    rows = []
    for r in published("frank_wolfe_tables5_6_tests"):
        key = f"{r['measure']}, {r['test']}, {what}"
        there = Published.of(r[what])
        multiple = r["test"] == _MULTIPLE
        doubled = what == "p" and multiple
        notes: tuple[str, ...] = (_DOUBLED,) if doubled else ()
        why = _ACCURACY.get((what, r["test"]), "") if r["measure"] == "Accuracy" else ""
        measured = mean_of(f"{key} of doubles" if why is _NOISE else key, 2.0 if doubled else 1.0)
        printed, labels = (Run.of(PRINTED),), (r["measure"], "the 26 printed sets", r["test"])
        caveat = "printed digits do not tell" if why is _UNTOLD else ""
        rows.append(Entry(labels, there, printed, measured, (*notes, why) if why else notes, caveat=caveat))
        if doubled:
            rows.append(Entry((r["measure"], "the 26 printed sets, P(F ≥ f)", r["test"]), None, printed, mean_of(key)))
        if not effort.one_row:
            labels = (r["measure"], "the sets measured here", r["test"])
            rows.append(Entry(labels, None, tuple(runs), _measured(key), borrowed=True))
        if what == "p" and r["test"] != _MULTIPLE:
            adjusted = mean_of(f"{r['measure']}, {r['test']}, Holm")
            rows.append(Entry((r["measure"], "the 26 printed sets, two-sided, Holm", r["test"]), None, printed, adjusted))
    return rows


def _conclusions(effort: ProtocolSize) -> Sequence[Entry]:
    return [
        Entry(
            (measure, {"less": "smaller", "two-sided": "different", "greater": "larger"}[alternative], pair),
            Published(0.0 if (measure, pair) == ("Time", "FW vs. MFW") else 1.0, None, 1.0),
            (Run.of(PRINTED),),
            mean_of(f"{measure}, {pair}, rejected"),
        )
        for (measure, pair), alternative in _ALTERNATIVES.items()
    ]


TABLES = (
    PaperTable(
        "frank-wolfe-table-5", FRANK_WOLFE, "Table 5", "W and F of the rank tests", ("measure", "sets", "test"),
        "statistics", "Wilcoxon's signed ranks, zeros by Pratt; Friedman's test with Iman and Davenport's F.",
        lambda effort: _rows(effort, "statistic"), across=1,
        kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "frank-wolfe-table-6", FRANK_WOLFE, "Table 6", "p of the rank tests", ("measure", "sets", "test"),
        "p values",
        "Exact p of Wilcoxon's tests with the alternatives of Table 4; F(2, 50) of Friedman's; Holm's post-hoc beside them.",
        lambda effort: _rows(effort, "p"), across=1, kind=CellKind.STATISTIC,
    ),
    PaperTable(
        "frank-wolfe-table-7", FRANK_WOLFE, "Tables 4 and 7", "hypotheses and conclusions", ("measure", "alternative", "test"),
        "1: equality is rejected at the level 0.01; 0: it is not", "The tests of Table 6 on the 26 printed sets.", _conclusions,
        across=1, kind=CellKind.STATISTIC,
    ),
)  # fmt: skip
