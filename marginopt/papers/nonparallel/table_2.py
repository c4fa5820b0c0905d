"""Table 2: accuracy of six classifiers, and the paired t-tests of K-NPSVC++ against the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..effort import Effort
from ..four import NPSVC
from ..judge import mean_of
from ..published import published
from ..record import Entry, PaperTable, Published, Run, Value
from .protocol import METHODS, PRINTED, SETS, accuracy_runs

__all__ = ["TABLES"]

_OURS = METHODS[-1]
_PARTLY = "Thinned: a random 2,000 of the set's points, fewer than published; another experiment, which is not judged."
_ORIENTATION = (
    "The released orientation (similarity loss on the rest, the farthest hyperplane wins), the opposite of the printed (2) "
    "and (21): the published figures on many classes need it. The printed one stands beside it and is not judged."
)
_SVM = "C = 1, as c in all other methods: C is not published."
_RIVALS = "The rivals' parameters are not published: c = 1, as K-NPSVC++ has it in the released code, and r = 0.1."
_PINBALL = "Neither the pinball loss's τ (here 0.5) nor r of this method is published; both move the accuracy."
#: Why a cell is outside: what an unpublished parameter does there, on one split.
_OWN = {
    ("Pendigits", "SVM"): (
        "Open. The printed column has no one C. With this kernel Pendigits gives 91.75 at C between 0.03 and 0.1 (90.45, 96.16% "
        "on one split; 98.34, 99.11 and 99.64 at 0.25, 1 and 10), BinAlpha 71.10 at 1 (3.9, 30.3, 70.8, 74.9% at 0.1, 0.25, 1, "
        "10). One class against the rest changes little (95.45, 98.95% at C = 0.1, 1), nor does Crammer and Singer's (97.2, "
        "99.3), features in [0, 1] (99.1), standardised (99.2) or rows of length 1 (99.1). Linear ones give 91.5 to 98.2 here, "
        "and at most 66.0 (one against the rest) on BinAlpha or 95.7 to 96.0 (pairs) on USPS, where 96.63 is printed."
    ),
    ("USPS", "SVM"): (
        "C, which is not published. On one split 95.3, 96.3, 97.1, 97.8% at C = 0.25, 0.5, 1, 4: the printed one lies between "
        "0.5 and 1. One class against the rest gives 96.74 at C = 1, inside, but 66.7 on BinAlpha, where 71.10 is printed. "
        "Standardised features give 96.84, and take K-NPSVC++ further off, from 98.01 to 97.53 on that split."
    ),
    ("BinAlpha", "pinTWSVM"): (
        "r, which is not published and decides: on one split 39.7, 68.3, 66.6, 55.2% at r = 0.01, 0.028, 0.1, 1, so 64.5 is "
        "passed twice (68.3% at c = 0.1; 66.6% at τ = 1). With an intercept, as Xu et al. state it, 66.6, 65.5, 61.6 at r = 0.1, "
        "0.25, 0.5. Over the kernel's columns, Σ u_i k(x_i, x) with ||u||², as they have it, 62.8, and TWSVM 69.6 and NPSVM 68.0 "
        "as printed; but TWSVM then gives 99.1 on Pendigits, where 99.35 is printed."
    ),
    ("Pendigits", "NPSVM"): (
        "Another formulation: §5.1 cites Shao et al. 2014, whose nonparallel hyperplanes are of one problem for both classes; "
        "here it is the NPSVM of the paper's Table 1, Tian et al. 2014, ε-insensitive. And r: on one split, with 500 Nyström "
        "features, 99.52% at r = 0.1, 99.34% at r = 1; the printed figure lies between. An intercept (99.52) and standardised "
        "features (99.57) do not lower it. 0.16 is seven of 4,397 test points."
    ),
    ("USPS", _OURS): (
        "r1, r2 and c: 1/K, 1/K and 1 are the released code's, not published for this set. On one split, with 800 Nyström "
        "features, 95.95, 96.78, 96.95% at c = 0.1, 1, 10: the difference is as that of a larger c. Tuned on the training part "
        "the printed orientation gives 97.95 (docs/measured/nonparallel.md). The released code's own steps (64 sweeps over a box "
        "problem, 10 iterations, the graph in another order than the points) give 98.01 and 97.67 on two splits, and as much "
        "with 2,000 sweeps."
    ),
}
_TRIED = (
    "Readings tried, one split each, and not taken, since none explains the cells outside: all features standardised (SVM on "
    "USPS 96.8, inside, K-NPSVC++ there 97.5, further below, the other three as they are); rows of length 1 (SVM on USPS 97.3, "
    "further above); everybody tuned on the training part (SVM and TWSVM on BinAlpha 74.4 and 72.3, above); the released "
    "orientation for the rivals too (TWSVM, NPSVM, pinTWSVM on BinAlpha 72.4, 71.7, 72.2, above); an intercept; r = 1 (TWSVM and "
    "NPSVM on BinAlpha 63.0 and 66.2, below); the rivals over the kernel's columns (TWSVM on Pendigits 99.1, below)."
)
_NOBODY = {
    "CHG": "the Cambridge hand gesture features are not distributed; put chg.libsvm.bz2 into the directory of MARGINOPT_DATA",
    "20News": "the 100 features of 20 Newsgroups are not distributed; put 20news.libsvm.bz2 into the directory of MARGINOPT_DATA",
}
_LARGE = ("20News", "Pendigits", "USPS")
#: Fast enough for all points of the large sets, at the quick effort the SVM alone.
_WHOLE = ("SVM", "TWSVM", "NPSVM", _OURS)


def _rows(effort: Effort) -> Sequence[str]:
    return effort.rows(tuple(SETS), ("Pendigits",))


def _notes(effort: Effort, name: str, method: str, one: str) -> tuple[str, ...]:
    """What explains a method's cell, in its orientation ``one``."""
    own = {_OURS: (_ORIENTATION,), "SVM": (_SVM,), "pinTWSVM": (_RIVALS, _PINBALL)}.get(method, (_RIVALS,))
    if _partly(effort, name, one):
        return (*own, _PARTLY)
    return (*own, _OWN[name, one]) if (name, one) in _OWN else own


def _whole(effort: Effort, name: str, method: str) -> bool:
    """Whether a thinned effort takes all points of a large set."""
    return name in _LARGE and method in (_WHOLE[:1] if effort.one_row else _WHOLE)


def _partly(effort: Effort, name: str, method: str) -> bool:
    """Whether a cell is of fewer points than published."""
    return effort.thin and name in _LARGE and not _whole(effort, name, method)


def _entries(effort: Effort) -> Sequence[Entry]:
    found = []
    for r in published("npsvcpp_table2_accuracy"):
        name, method = r["dataset"], r["method"]
        if name not in _rows(effort):
            continue
        there = Published.of(r["accuracy_pct"], r["std"])
        asked = (method, PRINTED) if method == _OURS else (method,)
        found += [
            Entry(
                (name, one), there, accuracy_runs(effort, name, one, _whole(effort, name, one)),
                mean_of("accuracy", 100.0), _notes(effort, name, method, one),
                compared=one == method and not _partly(effort, name, method),
            )
            for one in asked
        ]  # fmt: skip
    return found


def _p_value(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> Value | None:
    """Two-sided p of the paired t-test over the splits that both have."""
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
    return Value(float(ttest_rel(first, second).pvalue), None, len(pairs))


def _both(effort: Effort, name: str, rival: str) -> tuple[Run, ...]:
    """The splits of K-NPSVC++ and of a rival, of as many points."""
    whole = _whole(effort, name, rival) and _whole(effort, name, _OURS)
    return (*accuracy_runs(effort, name, _OURS, whole), *accuracy_runs(effort, name, rival, whole))


def _tests(effort: Effort) -> Sequence[Entry]:
    return [
        Entry(
            (r["dataset"], r["method"]),
            None,
            _both(effort, r["dataset"], r["method"]),
            _p_value,
            (f"Printed: p < {r['level']}." if r["level"] else "Printed: not significant at 0.1.",),
        )
        for r in published("npsvcpp_table2_significance")
        if r["dataset"] in _rows(effort)
    ]


TABLES = (
    PaperTable(
        "npsvc-table-2",
        NPSVC,
        "Table 2",
        "accuracy of six classifiers",
        ("set", "method"),
        "% of the test part",
        "Random 60/40 split of all points (thinned: of at most 2,000 for pinTWSVM and RMTBSVM), 10 runs; Gaussian kernel of "
        "width 1/(mean squared distance); no parameter is tuned, since the paper speaks of no tuning.",
        _entries,
        (*(f"{name}: {reason}." for name, reason in _NOBODY.items()), _TRIED),
        across=1,
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
        across=1,
    ),
)
