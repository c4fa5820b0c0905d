"""``load_estimator`` calls nothing that a file names but what estimators are made of."""

from __future__ import annotations

import os
import pickle
import tracemalloc
import warnings
from collections import deque
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials
from facts import at
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginopt as mo
from marginopt.errors import DataError
from marginopt.relaxations import CellStore
from marginopt.solvers import Status
from marginopt.solvers.records import Options


class _Call:
    """A pickle of a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def _text(module: str, name: str, argument: str) -> bytes:
    """Protocol 0: the function of a module by any name, called with a string."""
    return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()


class _State:
    """A pickle of an array with a state."""

    def __init__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def __reduce__(self) -> Any:
        return np.zeros(1).__reduce__()[0], (np.ndarray, (0,), b"b"), self.state


def _twice(value: Any, times: int) -> Any:
    """Return the value in a pair with itself, and that again: a few bytes for each time."""
    for _ in range(times):
        value = type(value)([value, value])
    return value


_LIST = [0] * 10_000
RESERVING: dict[str, Any] = {
    "bytearray": _Call(bytearray, 10**9),
    "bytes": _Call(bytes, 10**9),
    "an array": _Call(np.ndarray, (10**4, 10**4)),
    "an array to fill": _Call(np.zeros(1).__reduce__()[0], np.ndarray, (10**9,), b"b"),
    "a sparse matrix": _Call(sp.csr_array, (10**8, 3)),
    "a range in a queue": _Call(deque, range(10**8)),
    "a range in a set": _Call(frozenset, range(10**8)),
    "an item of an array": _Call(np.ndarray, (1,), _Call(np.dtype, "V1500000000", False, True)),
    "an item named in a call": _Call(np.zeros(1).__reduce__()[0], np.ndarray, (0,), "V1500000000"),
    "a scalar": _Call(np.float64(1.0).__reduce__()[0], _Call(np.dtype, "V1500000000", False, True)),
    "a shape of a state": _State((1, (10**9,), np.dtype(object), False, [])),
    "lists of lists twice each": _Call(np.str_, _twice([0], 45)),
    "tuples of tuples twice each": _Call(bytearray, _twice((0,), 45)),
    "a list in many queues": [_Call(deque, _LIST) for _ in range(3000)],
    "a power of ten": _Call(Fraction, "1e1000000000"),
    "a quotient by zero": _Call(Fraction, 1, 0),
}


def _refused_within(file: Path) -> int:
    """Return the bytes that were in use at most until the file was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError):
            mo.io.load_estimator(file)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", RESERVING)
def test_a_number_in_a_small_file_reserves_no_memory(kind: str, tmp_path: Path) -> None:
    """Files of 100 bytes reserved .8 GB and more, within 200 MB of which they are to be read."""
    file = tmp_path / "bomb.pkl"
    file.write_bytes(pickle.dumps(RESERVING[kind]))
    assert _refused_within(file) < 200e6


@pytest.mark.parametrize("opcode", [b"\x8b", b"X", b"B", b"T"])
def test_a_length_beyond_the_file_reserves_no_memory(opcode: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bomb.pkl"
    file.write_bytes(b"\x80\x04" + opcode + (2**31 - 1).to_bytes(4, "little") + b"K\x01.")
    assert _refused_within(file) < 200e6


CALLS = """os.system posix.system subprocess.Popen builtins.eval builtins.exec builtins.open builtins.__import__ builtins.getattr
numpy.load numpy.fromfile numpy.memmap numpy.save numpy.lib.npyio.load numpy.ctypeslib.load_library numpy.testing.rundocs
sklearn.datasets.load_svmlight_file sklearn.utils._joblib.Parallel joblib.load marginopt.io.load_result marginopt.files.write_text
marginopt.relaxations.CellStore marginopt.solvers.exact.log_file.LogFile functools.partial operator.attrgetter
importlib.import_module pathlib.Path types.FunctionType"""


@pytest.mark.parametrize("named", CALLS.split())
def test_what_no_estimator_needs_is_refused_before_it_is_called(named: str, tmp_path: Path) -> None:
    module, _, name = named.rpartition(".")
    target = tmp_path / "made"
    file = tmp_path / "evil.pkl"
    for argument in (str(target), f"touch {target}", f"open({str(target)!r}, 'w')".replace("'", '"')):
        file.write_bytes(_text(module, name, argument))
        with pytest.raises(DataError):
            mo.io.load_estimator(file)
    assert not target.exists()


@pytest.mark.parametrize(
    "call",
    [
        _Call(os.system, "true"), _Call(eval, "1"), _Call(getattr, Status, "__init__"),
        _Call(getattr, mo.estimators.HingeSVC, "fit"),
        _Call(getattr, Status, "mro"), _Call(np.load, "x"), _Call(CellStore, "store.db"), _Call(mo.solve, 1),
    ],
)  # fmt: skip
def test_calls_inside_an_estimator_are_refused(call: _Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    estimator = mo.estimators.HingeSVC()
    estimator.extra_ = [call]
    file = tmp_path / "evil.pkl"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(estimator, protocol))
        with pytest.raises(DataError, check=at(file)):
            mo.io.load_estimator(file)
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("protocol", [2, 5])
def test_fitted_estimators_come_back(protocol: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=24) > 0, "a", "b")
    estimators = (
        mo.estimators.ConicSVC(lam=0.5), make_pipeline(StandardScaler(), mo.estimators.HingeSVC()),
    )  # fmt: skip
    file = tmp_path / "fitted.pkl"
    for estimator in estimators:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, y)
        file.write_bytes(pickle.dumps(estimator, protocol))
        again = mo.io.load_estimator(file)
        assert type(again) is type(estimator)
        assert again.predict(X).tolist() == estimator.predict(X).tolist()


@pytest.mark.parametrize("info", mo.estimators().values(), ids=mo.estimators())
def test_every_estimator_comes_back(info: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=24) > 0, 1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = info.make().fit(X, y)
    file = tmp_path / "fitted.pkl"
    file.write_bytes(pickle.dumps(estimator))
    assert mo.io.load_estimator(file).predict(X).tolist() == estimator.predict(X).tolist()


@pytest.mark.parametrize("arguments", [("3/7",), (3, 7), ("-5",)])
def test_fractions_come_back_as_each_python_writes_them(arguments: tuple[Any, ...], tmp_path: Path) -> None:
    file = tmp_path / "fitted.pkl"
    file.write_bytes(_held(_Call(Fraction, *arguments)))
    assert mo.io.load_estimator(file).extra_ == Fraction(*arguments)


def _held(what: Any) -> bytes:
    """An estimator that holds it."""
    estimator = mo.estimators.HingeSVC()
    estimator.extra_ = what
    return pickle.dumps(estimator)


_OWN, _SHARED = (True, True), (False, False)


@pytest.mark.parametrize(
    ("code", "copied", "state"),
    [
        ("O", _OWN, (3, "|", None, None, None, -1, -1, 0)),  # objects whose addresses are numbers of the file
        ("f8", _OWN, (3, "<", None, None, None, -1, -1, 63)),  # numbers that are addresses
        ("f8", _OWN, (3, "<", None, None, None, 1000, -1, 0)),
        ("f8", _SHARED, (3, ">", None, None, None, -1, -1, 0)),  # every array of the process
        ("V8", _OWN, (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0)),
    ],
)
def test_no_type_of_arrays_has_the_state_of_another(code: str, copied: tuple[bool, bool], state: Any, tmp_path: Path) -> None:
    file = tmp_path / "evil.pkl"
    call = _Call(np.dtype, code, *copied)
    call.call = (*call.call, state)
    file.write_bytes(_held(call))
    with pytest.raises(DataError, check=at(file)):
        mo.io.load_estimator(file)
    assert np.dtype("f8").isnative


def test_types_of_arrays_come_back(tmp_path: Path) -> None:
    file = tmp_path / "fitted.pkl"
    fields = np.dtype([("a", "f8"), ("b", ">i4"), ("c", "?")], align=True)
    for kind in ("f8", ">f4", "U3", "S2", "?", "M8[D]", "O", fields, [("a", "f8", (2,)), ("b", "u1")]):
        held = np.zeros(2, dtype=kind)
        file.write_bytes(_held(held))
        again = mo.io.load_estimator(file).extra_
        assert again.dtype.newbyteorder("=") == held.dtype.newbyteorder("=")  # NumPy swaps bytes itself
        assert repr(again.tolist()) == repr(held.tolist())


@pytest.mark.parametrize("kind", [Options, Status, mo.estimators.HingeSVC])
def test_no_file_changes_a_class(kind: type, tmp_path: Path) -> None:
    file = tmp_path / "evil.pkl"
    named = b"\x80\x02c%s\n%s\n" % (kind.__module__.encode(), kind.__name__.encode())
    changes = named + b"N}X\x03\x00\x00\x00tolK\x07s\x86b0"
    member = pickle.dumps(Status.OPTIMAL, 4)[:-1] + b"}X\x07\x00\x00\x00_value_X\x01\x00\x00\x00xsb0"
    for evil in (changes, member):
        file.write_bytes(evil + pickle.dumps(mo.estimators.HingeSVC())[2:])
        with pytest.raises(DataError, check=at(file)):
            mo.io.load_estimator(file)
    assert "tol" not in vars(kind) or vars(kind)["tol"] != 7
    assert Status.OPTIMAL.value != "x"


def test_indices_of_sparse_matrices_are_inside(tmp_path: Path) -> None:
    file = tmp_path / "evil.pkl"
    for kind in (sp.csr_array, sp.csc_array):
        matrix = kind(np.eye(3))
        matrix.indices = np.array([0, 1, 10**9], dtype=np.int32)
        file.write_bytes(_held(matrix))
        with pytest.raises(DataError, check=at(file)):
            mo.io.load_estimator(file)


def test_damaged_files_raise_errors_of_ours(tmp_path: Path) -> None:
    rng, file, read = np.random.default_rng(0), tmp_path / "damaged.pkl", 0
    good = _held([np.arange(3.0), sp.csr_array(np.eye(2)), {"a": Status.OPTIMAL}, range(3), bytearray(b"x")])
    for _ in range(trials(300, 3000)):
        data = bytearray(good)
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
        file.write_bytes(data[: int(rng.integers(1, len(data)))] if rng.random() < 0.2 else data)
        try:
            mo.io.load_estimator(file)
            read += 1
        except DataError:
            pass
    assert read < trials(300, 3000)
    assert (np.zeros(2) + 1.0).tolist() == [1.0, 1.0]


def test_results_of_a_pickle_are_not_verified(tmp_path: Path) -> None:
    """A bound that was edited in a pickle was called proved: of results made by a call, by a state, or by a state alone."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    fitted = mo.estimators.ZeroOneSVC(lam=10.0, node_limit=50).fit(X, np.sign(X[:, 0]))
    true = fitted.result_
    forged = replace(true, answer=replace(true.answer, bound=0.9 * true.objective, proved=True))
    call = _Call(type(true), "m", "s", Status.OPTIMAL, forged.answer, None, {})
    file = tmp_path / "fitted.pkl"
    for result in (forged, call):
        file.write_bytes(_held([result]))
        (loaded,) = mo.io.load_estimator(file).extra_
        assert loaded.unverified and loaded.bound_kind == "as stored, not verified"
    for shown in (replace(forged, evidence=7.0), replace(forged, evidence="\x1b[2K"), replace(forged, answer=None)):
        object.__setattr__(shown, "status", Status.OPTIMAL)
        file.write_bytes(_held([shown]))
        with pytest.raises(DataError, check=at(file)):
            mo.io.load_estimator(file)
