"""Runner of scripts, each in a fork of a process that has imported the packages that most scripts import.

Importing the packages takes longer than most scripts do. The forked process has solved nothing, so that no script sees the
effects of another one.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SERVER = """
import json, os, runpy, signal, sys
import matplotlib.pyplot, numpy, scipy.optimize, scipy.sparse, sklearn.model_selection, sklearn.svm, cvxpy
import marginopt as mo
mo.solve, mo.gap_report, mo.HingeSVM, mo.estimators.HingeSVC, mo.solvers, mo.relaxations, mo.instances
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    script, folder, errors = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\\n")
    answers.flush()
else:
    sys.exit()
file = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
null = os.open(os.devnull, os.O_RDWR)
for target, source in ((0, null), (1, null), (2, file)):
    os.dup2(source, target)
os.chdir(folder)
signal.alarm(600)
sys.argv, sys.path[0] = [script], os.path.dirname(script)
runpy.run_path(script, run_name="__main__")
"""

#: Script that runs commands (``argv[2]``, lists of words in JSON) by ``main`` of the module ``argv[1]``; prints their outputs.
COMMANDS = """
import contextlib, importlib, io, json, sys
main, outputs = importlib.import_module(sys.argv[1]).main, []
for words in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    assert not status, (words, status, out.getvalue())
    outputs.append(out.getvalue())
print(json.dumps(outputs))
"""


@contextmanager
def script_runner() -> Iterator[Callable[[Path, Path], str]]:
    """Yield a function of a script and a folder that runs the script there and returns "" or the end of standard error."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    if not hasattr(os, "fork"):
        yield functools.partial(_alone, environment)
        return
    words = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        yield functools.partial(_forked, server)


def _forked(server: subprocess.Popen[str], script: Path, folder: Path) -> str:
    assert server.stdin is not None and server.stdout is not None
    errors = folder / "stderr"
    server.stdin.write(json.dumps([str(script), str(folder), str(errors)]) + "\n")
    server.stdin.flush()
    return _fault(int(server.stdout.readline()), errors.read_text(encoding="utf-8"))


def _alone(environment: dict[str, str], script: Path, folder: Path) -> str:
    """Run it in a fresh process, where there is no fork."""
    words = [sys.executable, str(script)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False, env=environment)
    return _fault(done.returncode, done.stderr)


def _fault(code: int, errors: str) -> str:
    return "" if code == 0 else f"exit code {code}: {errors[-2000:]}"
