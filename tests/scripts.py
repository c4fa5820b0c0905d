"""Scripts run one after another, each in a process of its own, which is a fork of one that has imported what most of them import.

To import the packages takes longer than most scripts do. The process that is forked has imported them and solved nothing, so that
no script sees what another one did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SERVER = """
import json, os, runpy, signal, sys
import matplotlib.pyplot, numpy, scipy.optimize, scipy.sparse, sklearn.model_selection, sklearn.svm, cvxpy
import marginopt as mo
mo.solve, mo.gap_report, mo.HingeSVM, mo.estimators.HingeSVC, mo.solvers, mo.relaxations, mo.instances
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    script, folder, said = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\\n")
    answers.flush()
else:
    sys.exit()
file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
null = os.open(os.devnull, os.O_RDWR)
for target, source in ((0, null), (1, null), (2, file)):
    os.dup2(source, target)
os.chdir(folder)
signal.alarm(600)
sys.argv, sys.path[0] = [script], os.path.dirname(script)
runpy.run_path(script, run_name="__main__")
"""


class ScriptRunner:
    """Runs scripts; see the module.

    Parameters
    ----------
    server : subprocess.Popen
        The process that is forked.
    """

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def __call__(self, script: Path, folder: Path) -> str:
        """Return what went wrong when the script ran in the folder: "" or the end of its standard error."""
        assert self._server.stdin is not None and self._server.stdout is not None
        said = folder / "stderr"
        self._server.stdin.write(json.dumps([str(script), str(folder), str(said)]) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        return "" if code == 0 else f"exit code {code}: {said.read_text(encoding='utf-8')[-2000:]}"


@contextmanager
def script_runner() -> Iterator[ScriptRunner]:
    """A runner whose process ends with the block."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        yield ScriptRunner(server)
