"""Every way in which a package can end has a status of ours, and memory that runs out is an error of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import TooLargeError
from marginopt.models.arrays import memory_errors
from marginopt.models.deadline import OutOfTimeError, deadline
from marginopt.relaxations.bounds.form_relaxations import all_triangles, violated_triangles
from marginopt.solvers.backends import clarabel, gurobi, highs, osqp, piqp, scip
from marginopt.solvers.backends.osqp import Osqp
from marginopt.solvers.records import Status


def _highs() -> list[str]:
    return list(pytest.importorskip("highspy").HighsModelStatus.__members__)


def _osqp() -> list[str]:
    return [status.name for status in pytest.importorskip("osqp").SolverStatus]


def _piqp() -> list[str]:
    return list(pytest.importorskip("piqp").Status.__members__)


def _public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _clarabel() -> list[str]:
    return _public(pytest.importorskip("clarabel").SolverStatus)


def _gurobi() -> list[str]:
    return _public(pytest.importorskip("gurobipy").GRB.Status)


def _scip() -> list[str]:
    return [name.lower() for name in dir(pytest.importorskip("pyscipopt").SCIP_STATUS) if name.isupper()]


@pytest.mark.parametrize(
    ("native", "statuses"),
    [
        pytest.param(_highs, highs._STATUS, id="highs"),
        pytest.param(_osqp, osqp._STATUS, id="osqp"),
        pytest.param(_piqp, piqp._STATUS, id="piqp"),
        pytest.param(_clarabel, clarabel._STATUS, id="clarabel"),
        pytest.param(_gurobi, gurobi._STATUS, id="gurobi"),
        pytest.param(_scip, scip._STATUS, id="scip"),
    ],
)
def test_every_native_end_has_a_status(native: Callable[[], list[str]], statuses: dict[str, Status]) -> None:
    assert not set(native()) - set(statuses)


def test_memory_that_runs_out_is_an_error_of_ours() -> None:
    with pytest.raises(TooLargeError), memory_errors("a model"):
        raise MemoryError


_LIMITED = """
import resource, sys
import numpy as np
import marginopt as mo
from marginopt.errors import TooLargeError
from marginopt.models.arrays import materialise_limit
resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, resource.RLIM_INFINITY))
assert materialise_limit() <= 3_000_000_000
X = np.random.default_rng(0).normal(size=(30_000, 3))
y = np.where(np.arange(30_000) % 2, 1.0, -1.0)
try:
    mo.solve(mo.MaxMinSVM(X, y, C=1.0), "maxmin")
except TooLargeError:
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_a_limit_of_the_address_space_is_one_of_forms_and_kernels() -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["refused"], done.stderr


def test_triangles_are_listed_within_the_deadline_and_separated_by_parts() -> None:
    assert len({tuple(cut) for cut in all_triangles(7).tolist()}) == 4 * 35
    with deadline(-np.inf), pytest.raises(OutOfTimeError):
        all_triangles(7)
    z = np.random.default_rng(0).random(9)
    values = {"x": z, **{f"x z{j}": np.minimum(z, z[j]) * 0.3 for j in range(9)}}
    cuts = violated_triangles(values, np.arange(9), 10**6, 1e-5)
    few = violated_triangles(values, np.arange(9), 5, 1e-5)
    assert len(cuts) > 5 and np.array_equal(few, cuts[:5])


def test_osqp_factorises_dense_rows_in_a_process_of_its_own_where_the_limit_is_short() -> None:
    """To set up 3,000 rows of 401 entries takes 1.2 seconds or more; the cube of 401 alone counts as 16 milliseconds."""
    X = np.column_stack([np.ones(3000), np.random.default_rng(0).normal(size=(3000, 400))])
    form = mo.HingeSVM(X, np.where(np.arange(3000) % 2, 1.0, -1.0), lam=1.0).form
    seconds = Osqp.info.uninterruptible_seconds
    assert seconds is not None and 1.0 <= seconds(form) <= 10.0
