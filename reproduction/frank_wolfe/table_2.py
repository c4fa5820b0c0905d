"""Tables 2 and 3: test accuracy and seconds of CVM, FW and MFW with the Gaussian kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..comparison import OTHER_MACHINE, mean_of
from ..record import FRANK_WOLFE, CellKind, Entry, PaperTable, ProtocolSize, Published, Run, published
from .data import OTHER_POINTS, published_test, untested
from .protocol import training_runs

#: One set of one binary problem and one of many, for the quick effort.
QUICK = ("a1a", "Pendigits")
REST = (
    "Tested on the points of the largest set at hand outside the training part. The published test part is not to be had: other "
    "points, so not judged."
)
_TUNING = (
    "The chosen σ² and C are not printed, and the printed deviation, of five runs of one classifier on one test part, does not "
    "hold that choice: over C = 2^3, .., 2^15 alone the accuracy on Pendigits moves by 0.4 (CVM), 0.3 (FW) and 0.3 (MFW)."
)
_WIDTH = (
    "σ² and C, which are not printed and which cross-validation cannot tell apart: ten folds of all training points give 99.65 ± "
    "0.09 (standard error) at σ² = 1/2, C = 2^7 of features in [0, 1], which is taken, 99.63 ± 0.07 at σ² = 1, C = 2^7 and 99.49 "
    "± 0.10 at σ² = 1, C = 2^12, where one run gives 98.26 (CVM), 97.46 (FW) and 97.68 (MFW), beside the printed 98.35, 97.68 "
    "and 97.65. §5.1 says that a random fifth of all points was the test part; Table 1 has the sizes of the published parts, "
    "other writers', as here."
)
_OTHER_USPS = (
    "C, which is not printed and which cross-validation cannot tell: at σ² = 2^4 of features in [0, 1] ten folds of 2,000 points "
    "give 97.05, 97.00, 97.00 and 97.05 ± 0.5 (standard error) at C = 2^3, .., 2^6, while CVM is right in 95.47 (C = 2^3), 95.62 "
    "(2^5), 95.46 (2^7, taken) and 95.32 (2^10) of the test points: printed is 95.63, as at 2^5, where FW and MFW have 94.92 and "
    "95.32. The next widths give 95.32 (CVM), 94.97 (FW), 95.22 (MFW) at 2^3 and 95.22, 94.52, 94.72 at 2^5. The printed "
    "deviation of CVM is less than one test point."
)
_LETTER = (
    "C, which is not printed and which a validation part chooses by chance: a random 30% gives 96.73, 96.89 (taken), 96.87, "
    "96.69, 96.71% at C = 2^4, .., 2^8, of one standard error, 0.26, while the test accuracy goes from 96.61 to 96.00 (FW, "
    "printed 96.54), from 97.20 to 96.94 (MFW, printed 97.35). The kernel is LibCVM's, whose code the paper's is based on; with "
    "the printed exp(-d²/2m), four times wider, one run gave 95.88, 92.88 and 95.06."
)
SHUTTLE = (
    "The scale of the features, which is not printed: judged are UCI's own, whose ranges are 99 to 26,987. Scaled to [-1, 1] on "
    "the training part, five runs of the same protocol give 99.73 ± 0.01 (CVM), 97.50 ± 1.32 (FW), 97.98 ± 0.98 (MFW), and in "
    "Table 8 96.23 ± 0.86 (FW), 95.44 ± 0.65 (MFW): all five are inside, and equal by Welch's test."
)
#: More votes than two classes have.
_MULTI = ("USPS", "Pendigits", "Letter", "Shuttle", "MNIST", "Protein", "KDD10pc")


def _note(name: str) -> str:
    return {"Pendigits": _WIDTH, "USPS": _OTHER_USPS, "Letter": _LETTER, "Shuttle": SHUTTLE}.get(name, _TUNING)


def _rows(effort: ProtocolSize) -> Iterator[tuple[Mapping[str, str], str, str, tuple[Run, ...]]]:
    """The published rows that are run: the row, its data set and algorithm, and its runs."""
    for row in published("frank_wolfe_tables2_3"):
        name, algorithm = row["dataset"], row["algorithm"]
        if not effort.one_row or name in QUICK:
            yield row, name, algorithm, training_runs(effort, name, algorithm)


def _accuracies(effort: ProtocolSize) -> Sequence[Entry]:
    accuracies = []
    for r, name, algorithm, runs in _rows(effort):
        judged = published_test(name)
        notes = (_note(name),) if judged else (REST,)
        there = Published.of(r["test_accuracy_pct"], r["accuracy_std"], 5)
        caveat = "" if judged else OTHER_POINTS
        accuracies.append(Entry((name, algorithm), there, runs, mean_of("accuracy", 100.0), notes, untested(name), caveat))
        if name in _MULTI:
            accuracies.append(Entry((name, f"{algorithm}, DDAG"), None, runs, mean_of("ddag", 100.0)))
    return accuracies


def _seconds(effort: ProtocolSize) -> Sequence[Entry]:
    seconds = []
    for r, name, algorithm, runs in _rows(effort):
        there = Published.of(r["train_seconds"], r["seconds_std"])
        seconds += [
            Entry((name, algorithm), there, runs, mean_of("seconds"), caveat=OTHER_MACHINE),
            Entry((name, f"{algorithm}, steps"), None, runs, mean_of("iterations")),
            Entry((name, f"{algorithm}, at the limit"), None, runs, mean_of("cut")),
        ]
    return seconds


_PROTOCOL = (
    "One-versus-one. Pendigits and USPS: σ² and C by 10-fold cross-validation (thinned: a part of the grid, 2,000 points); "
    "others: exp(-2d²/m) with the mean squared distance m, LibCVM's default, on whose code the paper's is based (§5.2.5; "
    "printed is exp(-d²/2m)), C of 2^0, .., 2^12 by the accuracy on a random 30% validation part (thinned: five values, 1,000 "
    "points a class). ε = 1e-6, 20 random points to start, 59 random candidates a step and the stop on them alone, as in "
    "§5.2.3; at most 200,000 steps for each binary problem; 5 repetitions."
)

TABLES = (
    PaperTable(
        "frank-wolfe-table-2", FRANK_WOLFE, "Table 2", "test accuracy of CVM, FW and MFW", ("set", "algorithm"),
        "% of the test part", _PROTOCOL, _accuracies,
        ("One vote for each pair of classes; beside it, not published, the decision graph (DDAG).",), across=1,
    ),
    PaperTable(
        "frank-wolfe-table-3", FRANK_WOLFE, "Table 3", "seconds of CVM, FW and MFW", ("set", "algorithm"),
        "processor seconds of training here, seconds of the paper's machine there, not judged", "The runs of Table 2.", _seconds,
        ("Beside them steps, over all binary problems, and how many of these ended at the limit of steps.",), across=1,
        kind=CellKind.SECONDS,
    ),
)  # fmt: skip
