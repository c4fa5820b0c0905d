"""Program files that other packages write, read here: the optimum of the program that was written.

Pyomo writes each drawn model as NL, LP and MPS, with names of its own and with the names of the model; Gurobi, HiGHS and SCIP
write the LP file of Pyomo again as LP and MPS. SCIP does not read LP files with a linear part behind a quadratic one; what a
package does not read is left out. The limit of a solve is wall time, which a busy machine may spend on others: a solve that it
ended says nothing, and is no fault.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attack_imports as imports
import attack_matrices as matrices
import numpy as np

import marginopt as mo
from marginopt.models import StandardForm

#: Relative difference between the two optima that is a fault.
_WRONG = 1e-5
#: The outcome of a solve that its time limit ended.
_UNFINISHED = "time limit"


def attack(number: int) -> tuple[str, str]:
    """Return the name of a program, and its fault; empty where there is none."""
    name, model = imports.pyomo_model(np.random.default_rng([number, 991]))
    truth = _outcome(lambda: mo.from_pyomo(model))
    with tempfile.TemporaryDirectory() as folder:
        for writer, path in _files(model, Path(folder)):
            ours = _outcome(lambda path=path: mo.read(path))  # type: ignore[misc]
            same = ours[0] == truth[0] and not abs(ours[1] - truth[1]) > _WRONG * max(1.0, abs(truth[1]))
            if not same and _UNFINISHED not in (ours[0], truth[0]):
                return f"{number}: {name}", f"{path.suffix} by {writer}: {ours}, not {truth}"
    return f"{number}: {name}", ""


def _outcome(take: Callable[[], Any]) -> tuple[str, float]:
    """Return status and objective, or the error."""
    try:
        form = take()
        assert isinstance(form, StandardForm)
        begin = time.perf_counter()
        result = mo.solve(form, time_limit=imports.LIMIT)
        if time.perf_counter() - begin >= imports.LIMIT:
            return _UNFINISHED, math.nan
    except Exception as error:  # noqa: BLE001 - a refusal is a fault here, as is an exception
        return f"{type(error).__name__}: {error}", math.nan
    return result.status.name, math.nan if result.certificate is None else float(result.objective)


def _files(model: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    import gurobipy
    import highspy
    import pyscipopt

    for symbolic in (False, True):
        for suffix in (".nl", ".lp", ".mps"):
            path = folder / f"pyomo{symbolic:d}{suffix}"
            model.write(str(path), io_options={"symbolic_solver_labels": symbolic})
            yield "Pyomo", path
    source = str(folder / "pyomo1.lp")
    grb = gurobipy.read(source, matrices.environment())
    highs: Any = highspy.Highs()
    highs.silent()
    scip = pyscipopt.Model()
    scip.hideOutput()
    writers: dict[str, Callable[[str], object]] = {"Gurobi": grb.write}
    if highs.readModel(source) != highspy.HighsStatus.kError:
        writers["HiGHS"] = highs.writeModel
    try:
        scip.readProblem(source)
        writers["SCIP"] = lambda path: scip.writeProblem(path, verbose=False)
    except OSError:  # it does not read the file
        pass
    for writer, write in writers.items():
        for suffix in (".lp", ".mps"):
            path = folder / f"{writer.lower()}{suffix}"
            write(str(path))
            yield writer, path
