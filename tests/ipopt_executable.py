"""An executable ``ipopt`` for Pyomo, from the library in CasADi's wheel.

``python ipopt_executable.py problem.nl -AMPL [option=value ...]`` writes ``problem.sol`` with multipliers in the signs of
Ipopt's own AMPL executable. ``install(folder)`` puts a script called ``ipopt`` into a folder, which the caller puts first on
the path.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

#: Message and AMPL's code of Ipopt's return status; any other status is a failure.
_OUTCOMES = {
    "Solve_Succeeded": ("Optimal Solution Found", 0),
    "Solved_To_Acceptable_Level": ("Solved To Acceptable Level.", 1),
    "Infeasible_Problem_Detected": ("Converged to a locally infeasible point. Problem may be infeasible.", 200),
    "Diverging_Iterates": ("Iterates diverging; problem might be unbounded.", 300),
    "Maximum_Iterations_Exceeded": ("Maximum Number of Iterations Exceeded.", 400),
    "Maximum_CpuTime_Exceeded": ("Maximum CPU Time Exceeded.", 401),
}


def install(folder: Path) -> Path:
    """Write the script ``ipopt`` into a folder and return its path."""
    script = folder / "ipopt"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W ignore "{Path(__file__).resolve()}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def _settings(arguments: list[str]) -> dict[str, Any]:
    """Ipopt's options from ``name=value``; numbers are numbers."""
    settings: dict[str, Any] = {"print_level": 0, "sb": "yes"}
    for argument in arguments:
        name, _, text = argument.partition("=")
        if name.startswith("-") or not text:
            continue
        try:
            settings[name] = int(text)
        except ValueError:
            try:
                settings[name] = float(text)
            except ValueError:
                settings[name] = text
    return settings


def solve(stub: Path, arguments: list[str]) -> None:
    """Read ``stub.nl``, solve it with options ``name=value``, and write ``stub.sol``."""
    import casadi

    builder = casadi.NlpBuilder()
    builder.import_nl(f"{stub}.nl", {"verbose": False})
    problem = {"x": casadi.vertcat(*builder.x), "f": builder.f, "g": casadi.vertcat(*builder.g)}
    solver = casadi.nlpsol("solver", "ipopt", problem, {"print_time": False, "ipopt": _settings(arguments)})
    sides = {"lbx": builder.x_lb, "ubx": builder.x_ub, "lbg": builder.g_lb, "ubg": builder.g_ub}
    answer = solver(x0=builder.x_init, **sides)
    outcome = solver.stats()["return_status"]
    message, code = _OUTCOMES.get(outcome, (outcome, 500))
    x, rows, bounds = (np.array(answer[name]).ravel() for name in ("x", "lam_g", "lam_x"))
    lines = [f"Ipopt (CasADi): {message}", "", "Options", 3, 1, 1, 0, rows.size, rows.size, x.size, x.size]
    lines += [*map(repr, map(float, -rows)), *map(repr, map(float, x)), f"objno 0 {code}"]
    for name, multipliers in (("ipopt_zL_out", np.maximum(-bounds, 0.0)), ("ipopt_zU_out", np.minimum(-bounds, 0.0))):
        lines += [f"suffix 4 {x.size} 13 0 0", name, *(f"{j} {float(value)!r}" for j, value in enumerate(multipliers))]
    Path(f"{stub}.sol").write_text("\n".join(map(str, lines)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "-v" in sys.argv:
        print("Ipopt 3.14.0 (CasADi)")
    else:
        solve(Path(sys.argv[1].removesuffix(".nl")), sys.argv[2:])
