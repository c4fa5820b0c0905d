"""Where compiled code is kept, and that it is found there: by later processes, beside others, without the package's folder."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

COMPILED = """
from pathlib import Path

from marginopt.solvers.interface.numba_flags import Loops

loops = Loops({"contract"}, Path(__file__).parent)
"""
CALLEE = "from .compiled import loops\n\n\n@loops.inner\ndef twice(x):\n    return {factor} * x\n"
CALLER = """from .compiled import loops
from .callee import twice


@loops.entry
def run(x):
    return twice(x) + 1.0
"""
SAY = "from kernels.caller import run; print(run(1.0), sum(run.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name, text in (("__init__", ""), ("compiled", COMPILED), ("caller", CALLER), ("callee", CALLEE.format(factor="2.0"))):
        (folder / f"{name}.py").write_text(text)
    return folder


#: Imports Numba once; every line that it reads is run by some processes at the same time, each of which begins from there.
FORKS = """
import contextlib, io, os, sys
import marginopt.solvers.interface.numba_flags
sys.dont_write_bytecode = True  # an edit within a second of the last one is seen
for line in sys.stdin:
    count, say = line.split(" ", 1)
    children = []
    for _ in range(int(count)):
        children.append(os.fork())
        if not children[-1]:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(say)
            os.write(1, output.getvalue().encode())  # one write: lines of processes that end together stay whole
            os._exit(0)
    codes = [os.waitpid(child, 0)[1] for child in children]
    print("ended", *codes, flush=True)
"""


@contextmanager
def processes(package: Path, **more: str) -> Iterator[Callable[..., list[tuple[float, int]]]]:
    """Run a line in so many new processes; each says the result of the function and how many variants it found on disk."""
    here = package.parent
    values = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment = {**values, "PYTHONPATH": str(here), "HOME": str(here / "home"), **more}
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=here, env=environment,
    ) as parent:  # fmt: skip
        assert parent.stdin is not None and parent.stdout is not None and parent.stderr is not None

        def run(say: str = SAY, count: int = 1) -> list[tuple[float, int]]:
            parent.stdin.write(f"{count} {say}\n")
            parent.stdin.flush()
            lines: list[list[str]] = []
            while not lines or lines[-1][0] != "ended":
                line = parent.stdout.readline()
                assert line, parent.stderr.read()
                lines.append(line.split())
            assert lines.pop() == ["ended", *["0"] * count]
            return [(float(value), int(hits)) for value, hits in lines]

        yield run
        parent.stdin.close()
        assert parent.stderr.read() == ""


def test_an_edit_in_a_callee_is_seen_by_its_callers(package: Path) -> None:
    with processes(package, NUMBA_CACHE_DIR=str(package.parent / "cache")) as run:
        assert run() == [(3.0, 0)]
        assert run() == [(3.0, 1)]
        (package / "callee.py").write_text(CALLEE.format(factor="3.0"))
        assert run() == [(4.0, 0)]


STATE = "from typing import NamedTuple\n\n\nclass {name}(NamedTuple):\n    x: float\n"


def test_code_that_was_kept_for_a_class_that_is_gone_is_not_read(package: Path) -> None:
    """Simulate an update that renames the record that a loop reads: what is on disk names the old one."""
    (package / "caller.py").write_text(
        "from .compiled import loops\n\n\n@loops.entry\ndef run(state):\n    return state.x + 1.0\n"
    )
    with processes(package, NUMBA_CACHE_DIR=str(package.parent / "cache")) as run:
        for name in ("Old", "New"):
            (package / "callee.py").write_text(STATE.format(name=name))
            say = f"from kernels.callee import {name}; " + SAY.replace("run(1.0)", f"run({name}(1.0))")
            for hits in (0, 1):
                assert run(say) == [(2.0, hits)]


def test_code_that_was_kept_for_a_module_that_is_gone_is_not_read(package: Path) -> None:
    """Simulate an update that moves a record to another module, where only the file of the loop itself counts."""
    (package / "alone.py").write_text(
        "from pathlib import Path\n"
        "from marginopt.solvers.interface.numba_flags import FAST_MATH, Loops\nloops = Loops(FAST_MATH)\n"
    )
    (package / "caller.py").write_text("from .alone import loops\n\n\n@loops.entry\ndef run(state):\n    return state.x + 1.0\n")
    with processes(package, NUMBA_CACHE_DIR=str(package.parent / "cache")) as run:
        for module in ("before", "after"):
            (package / f"{module}.py").write_text(STATE.format(name="State"))
            say = f"from kernels.{module} import State; " + SAY.replace("run(1.0)", "run(State(1.0))")
            for hits in (0, 1):
                assert run(say) == [(2.0, hits)]
            (package / f"{module}.py").unlink()


def test_what_only_compiled_code_calls_is_not_kept(package: Path) -> None:
    with processes(package) as run:
        run()
    assert [path.name.split("-")[0] for path in package.rglob("*.nbi")] == ["caller.run"]


@pytest.mark.skipif(sys.platform == "win32", reason="the user's cache directory is not below HOME")
def test_where_the_package_s_folder_cannot_be_written_the_user_s_cache_is_used(package: Path) -> None:
    """A file in the place of ``__pycache__`` keeps even root from writing there."""
    (package / "__pycache__").write_text("")
    with processes(package) as run:
        assert run() == [(3.0, 0)]
        assert run() == [(3.0, 1)]
    assert list((package.parent / "home").rglob("caller.run*.nbc"))
    assert not list(package.rglob("*.nbc"))


def test_first_runs_at_the_same_time_are_safe(package: Path) -> None:
    with processes(package) as run:
        assert [value for value, _ in run(count=3)] == [3.0, 3.0, 3.0]
        assert run() == [(3.0, 1)]


def test_where_no_folder_can_be_written_every_process_compiles(package: Path) -> None:
    """Simulate a container with a read-only file system: Numba would refuse."""
    nowhere = "from numba.core.caching import CompileResultCacheImpl as c; c._locator_classes = []; "
    expected = "; from marginopt.code_cache import CodeCache; print(CodeCache.on_disk)"
    done = subprocess.run(
        [sys.executable, "-c", nowhere + SAY + expected], cwd=package.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3.0", "0", "False"]
    assert not list(package.parent.rglob("*.nbi"))
