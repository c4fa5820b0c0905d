"""Mutations of valid data files: what is read is what SciPy, scikit-learn or pandas read of the same file, or it is refused."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import arff as scipy_arff
from sklearn.datasets import load_svmlight_file

from marginopt.errors import MarginoptError
from marginopt.instances import Instance, read

KINDS = (".arff", ".csv", ".libsvm")
_CHARACTERS = {".arff": "0123.,-e ?%'{}ab\n\t\"", ".csv": '0123.,-e ?"ab\n', ".libsvm": "0123.:-+e #\nq"}
_MISSING = ["", "?", "NA", "na", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "Null"]


def valid(kind: str, rng: np.random.Generator) -> str:
    """A small file of two features and two or three classes."""
    n = int(rng.integers(4, 9))
    X, y = np.round(rng.normal(size=(n, 2)) * 10, 2), np.arange(n) % int(rng.integers(2, 4))
    rows = list(zip(X.tolist(), y.tolist(), strict=True))
    if kind == ".libsvm":
        return "".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in rows)
    body = "".join(f"{a},{b},{'abc'[label]}\n" for (a, b), label in rows)
    if kind == ".csv":
        return "u,v,y\n" + body
    return "@relation r\n@attribute u real\n@attribute v numeric\n@attribute y {a,b,c}\n@data\n" + body


def mutated(text: str, kind: str, rng: np.random.Generator) -> str:
    """The text with one to three characters or lines changed, added, doubled or away."""
    alphabet = _CHARACTERS[kind]
    for _ in range(int(rng.integers(1, 4))):
        at, choice = int(rng.integers(len(text))), int(rng.integers(4))
        letter = alphabet[int(rng.integers(len(alphabet)))]
        if choice == 0:
            text = text[:at] + letter + text[at:]
        elif choice == 1:
            text = text[:at] + letter + text[at + 1 :]
        elif choice == 2:
            text = text[:at] + text[at + 1 :]
        else:
            lines = text.split("\n")
            k = int(rng.integers(len(lines)))
            lines.insert(int(rng.integers(len(lines))), lines[k])
            text = "\n".join(lines)
    return text


_PANDAS: dict[str, Any] = {"index_col": False, "na_values": _MISSING, "keep_default_na": False, "dtype": str}
_Data = tuple[np.ndarray, list[str]]


def _by_scipy(text: str) -> list[_Data]:
    table, meta = scipy_arff.loadarff(io.StringIO(text))
    names = meta.names()
    X = np.column_stack([np.array([_float(cell) for cell in table[name]]) for name in names[:-1]])
    return [(X, [_text(cell) for cell in table[names[-1]]])]


def _by_scikit_learn(text: str) -> list[_Data]:
    X, y = load_svmlight_file(io.BytesIO(text.encode()), zero_based="auto")
    return [(X.toarray(), [_text(label) for label in y])]


def _by_pandas(text: str) -> list[_Data]:
    readings: list[_Data] = []
    for header in (0, None):
        frame = pd.read_csv(io.StringIO(text), header=header, skipinitialspace=True, **_PANDAS)
        cells = frame.to_numpy()
        for first in (0, 1):  # a first column without a name holds names of rows
            X = np.array([[_float(cell) for cell in row[first:-1]] for row in cells]).reshape(len(cells), -1)
            readings.append((X, [_text(cell) for cell in frame.iloc[:, -1]]))
    return readings


_PEERS: dict[str, Callable[[str], list[_Data]]] = {".arff": _by_scipy, ".csv": _by_pandas, ".libsvm": _by_scikit_learn}


def _float(cell: Any) -> float:
    try:
        return float(cell.decode() if isinstance(cell, bytes) else cell)
    except ValueError:
        return float("nan")


def _text(cell: Any) -> str:
    text = (cell.decode() if isinstance(cell, bytes) else str(cell)).strip()
    try:
        return f"{float(text) + 0.0:g}"
    except ValueError:
        return text


def agree(instance: Instance, data: _Data) -> bool:
    """Return whether an instance holds these rows and labels."""
    X, labels = data
    held = [_text(instance.labels[instance.classes.index(code)]) for code in instance.y.tolist()]  # type: ignore[index]
    return X.shape == instance.X.shape and np.array_equal(instance.dense().X, X) and held == labels


def attack(number: int) -> tuple[str, str]:
    """One mutated file: the case, and the fault ("" where there is none)."""
    rng = np.random.default_rng([number, 46])
    kind = KINDS[number % len(KINDS)]
    text = mutated(valid(kind, rng), kind, rng)
    what = f"{number}: {kind}"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"a{kind}"
        path.write_bytes(text.encode())
        try:
            instance = read(path)
        except MarginoptError as error:
            return what, "" if path.name in str(error) else f"does not name the file: {error}"
        except Exception as error:  # noqa: BLE001 - this is what is counted
            return what, f"{type(error).__name__}: {error}"
        try:
            readings = _PEERS[kind](text)
        except Exception:  # noqa: BLE001 - the peer refuses the file, in whatever way
            return what, ""
    return what, "" if any(agree(instance, data) for data in readings) else f"other data than the peer's: {text!r}"
