"""Programs of known collections: stand-ins of the same shape here, the real files where MARGINOPT_DATA has them."""

from __future__ import annotations

import bz2
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from facts import about, at

import marginopt as mo
from marginopt import instances
from marginopt.errors import DataError
from marginopt.instances.programs import MAROS_MESZAROS, SDPLIB
from marginopt.models.export.file_formats import write_form
from marginopt.models.program.cones import Nonnegative

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "others"))
import real_programs as table

#: Rows of every sense with ranges of both signs, every kind of bound, a constant, a second N row, products off the diagonal.
QPS = """NAME stand-in
* a comment
ROWS
 N cost
 N spare
 G low
 L high
 E even
 E up
 E down
COLUMNS
    a cost 1.5 low 1
    a spare 9 high 2
    b cost -2 low 1
    b even 1 up 1
    c cost 0.5 high -1
    c up 2 down 1
    d down -1 even 3
    d cost 1
RHS
    rhs low -1 high 4
    even 2 up 1
    rhs down 0.5 cost -7
RANGES
    rng low 3 high 2.5
    rng up 1.5 down -2
BOUNDS
 LO bnd a -4
 FR bnd b
 UP c 3
 MI bnd d
 UP bnd d 5
QUADOBJ
    a a 2
    b b 1
    b a -0.5
    c c 0.25
    d d 1
ENDATA
"""


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with one program of each collection, archived as SciPy archives them."""
    qps, lp = tmp_path / "maros-meszaros", tmp_path / "netlib"
    (lp / "infeasible").mkdir(parents=True)
    qps.mkdir()
    (qps / "HS21.SIF").write_text(QPS, encoding="utf-8")
    bounds = np.array([[0.0, None], [None, 2.0], [-1.0, 1.0]], dtype=object)
    arrays = {"c": np.array([1.0, -1.0, 0.5]), "A_ub": np.array([[1.0, 1.0, 0.0]]), "b_ub": np.array([3.0])}
    equal = {"A_eq": np.array([[0.0, 1.0, 1.0]]), "b_eq": np.array([1.5])}
    np.savez(lp / "AFIRO.npz", **arrays, **equal, bounds=bounds, obj=np.array(-2.25))
    empty = {"A_eq": np.zeros((0, 1)), "b_eq": np.zeros(0), "bounds": np.zeros(0), "obj": np.array(0.0)}
    np.savez(lp / "infeasible" / "klein1.npz", c=np.ones(1), A_ub=np.ones((1, 1)), b_ub=-np.ones(1), **empty)
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    return tmp_path


def test_ranges_and_every_other_section_are_read_as_highs_reads_them(stored: Path, tmp_path: Path) -> None:
    """The program of our reader and the one that HiGHS reads have the same objective, feasible set and optimum."""
    ours = mo.read(stored / "maros-meszaros" / "HS21.SIF")
    copy = tmp_path / "copy.mps"
    copy.write_text(QPS, encoding="utf-8")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(copy))
    theirs = mo.from_highs(highs)
    rng = np.random.default_rng(0)
    inside = 0
    optimum = mo.solve(ours, "clarabel")
    for x in optimum.values["x"] + 0.5 * rng.normal(size=(2000, 4)):
        assert ours.objective(x) == pytest.approx(theirs.objective(x), rel=1e-12)
        here, there = (
            all((c.value(x) >= 0).all() for c in f.constraints if isinstance(c.cone, Nonnegative)) for f in (ours, theirs)
        )
        assert here == there
        inside += here
    assert 20 < inside < 1980
    assert optimum.objective == pytest.approx(mo.solve(theirs, "highs").objective, rel=1e-6)


def test_a_program_with_ranges_reads_back_equal(stored: Path, tmp_path: Path) -> None:
    form = mo.read(stored / "maros-meszaros" / "HS21.SIF")
    assert form.equals(mo.read(write_form(form, tmp_path / "again.mps")))


def test_linear_programs_and_their_bounds_with_none(stored: Path) -> None:
    program = instances.stored_program("AFIRO")
    assert (program.collection, program.optimum) == ("netlib", -2.25)
    arguments = instances.linprog_arguments(program)
    assert arguments["bounds"] == [(0.0, None), (None, 2.0), (-1.0, 1.0)]
    assert mo.solve(mo.from_scipy(**arguments), "highs").objective == pytest.approx(-2.25)
    empty = instances.stored_program("klein1")
    assert empty.optimum is None
    assert mo.solve(mo.from_scipy(**instances.linprog_arguments(empty)), "highs").status.name == "INFEASIBLE"


def test_compressed_programs_are_found_by_their_names(stored: Path) -> None:
    folder = stored / "sdplib"
    folder.mkdir()
    (folder / "tiny.dat-s.bz2").write_bytes(bz2.compress(b"1\n1\n2\n1\n0 1 1 1 1\n1 1 1 1 1\n1 1 2 2 1\n"))
    program = instances.stored_program("tiny")
    assert program.collection == "sdplib" and mo.read(program.path).n == 1


class _Bad:
    """An object whose unpickling runs code."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.system, ("exit 1",)


def test_an_archive_with_other_objects_runs_no_code(stored: Path) -> None:
    assert pickle.dumps(_Bad())
    path = stored / "netlib" / "AFIRO.npz"
    held = dict(np.load(path, allow_pickle=True)) | {"bounds": np.array([_Bad(), None], dtype=object)}
    np.savez(path, **held)
    with pytest.raises(DataError, check=at(path)):
        instances.linprog_arguments(instances.stored_program("AFIRO"))


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': ({},), }}"


def _array(described: str, count: int, content: bytes) -> bytes:
    """A file of npy of a header and any content."""
    header = HEADER.format(described, count).encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


class _Shaped:
    """A pickle of an array of a shape that its list does not fill."""

    def __reduce__(self) -> Any:
        state = (1, (10**8,), np.dtype(object), False, [])
        return np.zeros(1).__reduce__()[0], (np.ndarray, (0,), b"b"), state


class _Called:
    """A pickle of a scalar of a type of many bytes."""

    def __reduce__(self) -> Any:
        return np.float64(1.0).__reduce__()[0], (_LargeType(),)


class _LargeType:
    def __reduce__(self) -> Any:
        return np.dtype, ("V1500000000", False, True)


BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: _array("'<f8'", 4 * 10**7, bytes(32 * 10**7)),
    "a shape beyond the content": lambda: _array("'<f8'", 2 * 10**9, bytes(80)),
    "a pickled shape": lambda: _array("'|O'", 1, pickle.dumps(_Shaped(), 2)),
    "a pickled scalar": lambda: _array("'|O'", 1, pickle.dumps(_Called(), 2)),
    "pickled lists": lambda: _array("'|O'", 1, b"\x80\x02(" + b"]" * 8_000_000 + b"l."),
}
_MEASURE = """
import resource, sys
from marginopt.errors import DataError
from marginopt.instances.programs import linprog_arguments, stored_program
program = stored_program("AFIRO")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
try:
    linprog_arguments(program)
except DataError as error:
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) / 1024)
"""


@pytest.mark.parametrize("kind", BOMBS)
def test_an_archive_takes_no_memory_that_it_cannot_fill(kind: str, stored: Path) -> None:
    path = stored / "netlib" / "AFIRO.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c.npy", BOMBS[kind]())
    environment = {**os.environ, "MARGINOPT_DATA": str(stored)}
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True, timeout=120, env=environment
    )
    assert float(ran.stdout) < 200.0


def test_what_is_not_there_says_where_it_is_published(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, check=about("none")):
        instances.stored_program("none")
    with pytest.raises(DataError, check=about("HS21")):
        instances.linprog_arguments(instances.stored_program("HS21"))
    monkeypatch.delenv("MARGINOPT_DATA")
    assert instances.stored_programs("netlib") == []
    with pytest.raises(DataError, check=about("HS21")):
        instances.stored_program("HS21")


@pytest.mark.parametrize("collection", ["maros-meszaros", "netlib", "netlib-infeasible"])
def test_the_table_has_a_row_for_each(
    collection: str, stored: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["programs.py", collection, "--limit", "10"])
    table.main()
    head, _, row, _, last = capsys.readouterr().out.splitlines()
    solvers = table.SOLVERS[collection]
    assert [cell.strip() for cell in head.strip("|").split("|")][4:] == list(solvers)
    assert "refused" not in row
    cells = [cell.strip() for cell in row.strip("|").split("|")][4:]
    if collection == "maros-meszaros":  # the stand-in is not the program whose optimum is published
        assert all("off by" in cell for cell in cells)
    assert last.startswith("1 programs")
    assert f"clarabel {1}" in last


# -- the real ones ------------------------------------------------------------------------------------------------------


def real(name: str) -> instances.StoredProgram:
    """The program, where the data directory of this run has it."""
    try:
        return instances.stored_program(name)
    except DataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["HS21", "HS76", "HS118", "DUALC1", "PRIMALC5", "QSHARE2B", "QPCBOEI2", "CVXQP1_S", "LOTSCHD"])
def test_quadratic_programs_have_their_published_optima(name: str) -> None:
    program = real(name)
    result = mo.solve(mo.read(program.path), "clarabel", tol=1e-7)
    assert result.solved
    assert result.objective == pytest.approx(MAROS_MESZAROS[name], rel=2e-6)


@pytest.mark.parametrize("name", ["AFIRO", "BLEND", "ISRAEL", "SHARE2B", "SC105", "RECIPE"])
def test_linear_programs_have_their_published_optima(name: str) -> None:
    program = real(name)
    result = mo.solve(mo.from_scipy(**instances.linprog_arguments(program)), "highs")
    assert result.solved
    assert result.objective == pytest.approx(program.optimum, rel=1e-7)


@pytest.mark.parametrize("name", ["klein1", "itest6", "galenet"])
def test_infeasible_programs_are_proved_infeasible(name: str) -> None:
    result = mo.solve(mo.from_scipy(**instances.linprog_arguments(real(name))), "highs")
    assert result.status.name == "INFEASIBLE"


def _unit(printed: str) -> float:
    """One in the last digit that is printed."""
    digits, _, exponent = printed.partition("e")
    return float(10.0 ** (int(exponent) - len(digits.partition(".")[2])))


@pytest.mark.parametrize("name", sorted(name for name, optimum in SDPLIB.items() if optimum is not None and name != "hinf12"))
def test_semidefinite_programs_have_their_published_optima(name: str) -> None:
    """1e-5 where seven digits are printed, else the printed digits, the last of which is the publisher's rounding."""
    form = mo.read(real(name).path)
    result = mo.solve(form, "clarabel")
    printed = SDPLIB[name]
    assert printed is not None
    seven = len(printed.partition("e")[0].lstrip("-").replace(".", "")) >= 7
    tolerance = 1e-5 * max(1.0, abs(float(printed))) if seven else _unit(printed)
    assert result.objective == pytest.approx(float(printed), abs=tolerance)
    assert result.bound == pytest.approx(result.objective, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "status"), [("infp1", "INFEASIBLE"), ("infp2", "INFEASIBLE"), ("infd1", "UNBOUNDED"), ("infd2", "UNBOUNDED")]
)
def test_infeasible_semidefinite_programs_are_proved_so(name: str, status: str) -> None:
    """Farkas multipliers, rounding included; a ray that descends exactly."""
    result = mo.solve(mo.read(real(name).path), "clarabel")
    assert result.status.name == status
    assert result.status_kind == "proved"
