"""``load_estimator`` calls nothing that a file names but what estimators are made of."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import at
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginopt as mo
from marginopt.errors import DataError
from marginopt.relaxations import CellStore
from marginopt.solvers import Status


class _Call:
    """A pickle of a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def _text(module: str, name: str, argument: str) -> bytes:
    """Protocol 0: the function of a module by any name, called with a string."""
    return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()


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
