"""Malformed files, bombs, full disks and kills: a reader answers or refuses in our words, a file is whole or absent."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import attack_files as attack
import numpy as np
import pytest
from effort import trials
from facts import at, unwritten

import marginopt as mo
from marginopt import files
from marginopt.errors import DataError, InputError, WriteError
from marginopt.instances import read as read_data
from marginopt.solvers.exact.dispatcher import unpack_log_lines

CASES = 12


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return attack.seeds(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("kind", attack.KINDS)
def test_good_files_read(kind: str, good: dict[str, Path]) -> None:
    path = good[kind] if kind != ".names.json" else good[".lp"]
    assert attack.reader(kind)(path) is not None


@pytest.mark.parametrize("kind", attack.KINDS)
@pytest.mark.filterwarnings("ignore")
def test_malformed_files_are_refused_in_our_words(kind: str, good: dict[str, Path], tmp_path: Path) -> None:
    outcomes = {number: attack.attack(kind, number, good[kind], tmp_path) for number in range(CASES)}
    assert all(outcome in ("read", "refused") for outcome in outcomes.values()), outcomes
    assert "refused" in outcomes.values()


def test_archives_that_unpack_to_too_much_are_refused_by_their_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("X.npy", "y.npy", "layout.npy", "meta.npy"):
            archive.writestr(name, bytes(40_000_000))
    assert bomb.stat().st_size < 10**6
    monkeypatch.setattr(files, "READ_LIMIT", 10**8)
    for read in (read_data, mo.read, mo.io.load_result):
        with pytest.raises(DataError, check=at("bomb.npz")):
            read(bomb)


def test_a_header_that_promises_more_than_there_is_allocates_nothing(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 1000)})
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(80))
        archive.writestr("y.npy", b"")
    with pytest.raises(DataError, check=at("huge.npz")):
        read_data(path)


def test_compressed_text_is_read_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(3_000_000)))
    monkeypatch.setattr(files, "READ_LIMIT", 10**6)
    with pytest.raises(DataError, check=at("bomb.csv.gz")):
        read_data(path)


@pytest.mark.parametrize("name", ["b.csv.gz", "b.libsvm.bz2", "b.arff.xz", "b.lp.gz", "b.mps.bz2", "b.mof.json.xz"])
def test_a_small_file_unpacks_to_little(name: str, tmp_path: Path) -> None:
    """Sixty kilobytes may unpack to a gigabyte, which parsers turn into ten: the limit goes with the size of the file."""
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[Path(name).suffix]
    (tmp_path / name).write_bytes(pack(b"1,2,3\n" * 3_000_000))
    assert (tmp_path / name).stat().st_size < 10**5
    with pytest.raises(DataError, check=at(name)):
        (mo.read if name in ("b.lp.gz", "b.mps.bz2", "b.mof.json.xz") else read_data)(tmp_path / name)
    assert files.unpack_limit(10**5) < 2 * 10**7 < files.unpack_limit(10**6) < files.unpack_limit(10**9) == files.READ_LIMIT


def test_a_packed_line_of_rows_on_disk_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "line.libsvm.gz").write_bytes(gzip.compress(b"1" * 40_000_000))
    with pytest.raises(DataError, check=at("line.libsvm.gz")):
        mo.instances.open_rows(tmp_path / "line.libsvm.gz")


def test_a_small_archive_unpacks_to_little(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros(9_000_000), y=np.zeros(1), layout=np.zeros(1), meta=np.zeros(1))
    for read in (read_data, mo.read, mo.io.load_result):
        with pytest.raises(DataError, check=at("zeros.npz")):
            read(tmp_path / "zeros.npz")
    np.savez(tmp_path / "plain.npz", X=np.zeros(9_000_000))  # as large as its file
    assert files.read_arrays(tmp_path / "plain.npz")["X"].size == 9_000_000


def test_a_part_of_a_log_that_unpacks_to_far_more_than_its_size_is_refused() -> None:
    """Workers send parts of logs, packed."""
    with pytest.raises(ValueError, check=lambda error: type(error) is ValueError):
        unpack_log_lines(zlib.compress(b"0\n" * 9_000_000))
    with pytest.raises(ValueError):
        unpack_log_lines(zlib.compress(b"0\n" * 99)[:-4])
    assert unpack_log_lines(zlib.compress(b"0\n")) == "0\n"


def test_a_libsvm_index_of_two_thousand_million_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wide.libsvm"
    path.write_text("1 1:0.5\n-1 2000000000:1\n")
    with pytest.raises(DataError, check=at("wide.libsvm", 2)):
        read_data(path)


def test_an_index_of_five_thousand_digits_is_refused_with_its_line(tmp_path: Path) -> None:
    """Python's own limit on such numbers ended the search for the line with a ValueError."""
    (tmp_path / "long.libsvm").write_text("1 1:0.5\n-1 " + "9" * 5000 + ":1\n")
    with pytest.raises(DataError, check=at("long.libsvm", 2)):
        read_data(tmp_path / "long.libsvm")
    head = "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n{0 1, 1 a}\n"
    (tmp_path / "long.arff").write_text(head + "{" + "9" * 5000 + " 1}\n")
    with pytest.raises(DataError, check=at("long.arff", 6)):
        read_data(tmp_path / "long.arff")


@pytest.fixture(scope="module")
def judges() -> Iterator[attack.Judges]:
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    opened = attack.Judges()
    yield opened
    opened.close()


def test_a_changed_program_is_no_other_than_two_peers_read(judges: attack.Judges, tmp_path: Path) -> None:
    """All seeds are read as they are; of changed ones some are refused, and none is another problem."""
    for suffix, texts in attack.PROGRAMS.items():
        for k, text in enumerate(texts):
            path = tmp_path / f"seed{k}{suffix}"
            path.write_text(text)
            ours, peers = judges.outcomes(path, limit=120.0)
            shared = attack.judgement(peers)
            assert shared is not None and ours.same(shared), (path.name, str(ours), [str(peer) for peer in peers])
    outcomes = [attack.program(number, tmp_path, judges) for number in range(trials(20, 60))]
    assert set(outcomes) == {""}


def test_the_law_of_changed_programs_finds_another_problem() -> None:
    one, two, none = (attack.Outcome("optimal", value) for value in (1.0, 2.0, 1.0 + 1e-9))
    refused = attack.Outcome("refused")
    assert attack.compared(two, [one, none, refused]).startswith("another problem")
    assert attack.compared(attack.Outcome("raised"), [refused] * 3) != ""
    assert (
        attack.compared(one, [one, none, two])
        == attack.compared(refused, [one, one, one])
        == attack.compared(two, [one, two, refused])
        == ""
    )


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".cbf", ".nl", ".qplib", ".ptf"])
def test_faults_of_text_name_their_line(suffix: str, good: dict[str, Path], tmp_path: Path) -> None:
    """The last number of the file made no number: the line is named."""
    lines = good[suffix].read_text().splitlines()
    place = max(k for k, line in enumerate(lines) if any(word[:1].isdigit() for word in line.split()) and "#" not in line)
    words = lines[place].split(" ")
    last = max(k for k, word in enumerate(words) if word[:1].isdigit() or word[:2] == "[0")
    words[last] = "?"
    lines[place] = " ".join(words)
    path = tmp_path / f"bad{suffix}"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, check=at(path, None)) as error:
        mo.read(path)
    assert abs(error.value.line - (place + 1)) <= 1


# -- files are whole or absent -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", attack.FORMS)
def test_a_full_disk_leaves_the_old_file(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = attack.conic_form() if suffix in (".cbf", ".ptf") else attack.flat_form()
    path = attack.write_form(form, tmp_path / f"model{suffix}")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, check=unwritten(path)):
        attack.write_form(form.replace(r=7.0), path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_our_error() -> None:
    with pytest.raises(WriteError, check=unwritten("/dev/full")):
        files.write_text("/dev/full", "x" * 100_000)


def test_a_limit_on_file_sizes_leaves_no_part(tmp_path: Path) -> None:
    """RLIMIT_FSIZE in a process of its own: the write fails in the middle, and nothing is left behind."""
    code = (
        "import resource, signal, sys\nfrom marginopt import files\nfrom marginopt.errors import WriteError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    files.write_text(sys.argv[1], 'x' * 100_000)\nexcept WriteError as error:\n    print('refused', error)\n"
    )
    path = tmp_path / "result.txt"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_kill_leaves_a_whole_file(tmp_path: Path) -> None:
    """A process that writes the same file over and over is killed; what is there is one of the two versions, whole."""
    code = (
        "import sys\nfrom marginopt import files\nprint('ready', flush=True)\nwhile True:\n"
        "    for letter in 'ab':\n        files.write_text(sys.argv[1], letter * 300_000)\n"
    )
    path = tmp_path / "model.txt"
    for pause in (0.03, 0.1):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(pause)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if path.exists():
            assert path.read_text() in ("a" * 300_000, "b" * 300_000)


def test_targets_are_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(WriteError, check=unwritten("/nonexistent/x")):
        files.check_target("/nonexistent/x", "the result")
    with pytest.raises(WriteError, check=unwritten(tmp_path)):
        files.check_target(tmp_path)
    assert files.check_target(tmp_path / "new") == tmp_path / "new"


@pytest.mark.parametrize("name", ["", ".", "/", "a\0b"])
def test_what_is_no_name_of_a_file_is_refused_in_our_words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = np.column_stack([np.ones(6), np.arange(6.0)]), np.array([1.0, -1, 1, -1, 1, 1])
    model, exact = mo.HingeSVM(X, y), mo.ZeroOneSVM(X, y)
    result, table, path = mo.solve(model, "clarabel"), mo.compare(model, ["clarabel"]), mo.path(model, "lam", [1.0, 2.0])
    for keep in (result.save, table.save, path.save, model.write, lambda p: mo.solve(exact, "zero-one-bb", checkpoint=p or ".")):
        with pytest.raises((WriteError, InputError)):
            keep(name)
    for read in (mo.io.load_result, mo.read, lambda p: mo.io.read_solution(p, model)):
        with pytest.raises(InputError):
            read(name)
    assert not list(tmp_path.iterdir())


def test_permissions_and_links_of_what_was_there_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "file", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
