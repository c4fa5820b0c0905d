"""A program from elsewhere: read it, look at its dual, find out why it is infeasible, export it, certify a colleague's solution.

python examples/users/foreign_program.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import marginopt as mo

PLAN = """NAME PLAN
OBJSENSE
    MAX
ROWS
 N profit
 L BAL
 L CAP
 G DEMAND
COLUMNS
    X1 profit 3.0 BAL 1.0
    X1 CAP 1.0 DEMAND 1.0
    X2 profit 2.0 BAL 1.0
    X2 CAP 3.0
RHS
    RHS BAL 4.0 CAP 6.0
    RHS DEMAND 1.0
BOUNDS
 UP BND X1 3.0
ENDATA
"""


def main(folder: Path) -> dict[str, float]:
    """Run the whole task and return what the test asserts."""
    (folder / "plan.mps").write_text(PLAN)
    plan = mo.read(folder / "plan.mps")
    print(plan)
    result = mo.solve(plan)
    print(result, result.values["X1"], result.values["X2"])
    dual = mo.solve(plan.dual())
    print(dual)
    plan.write(folder / "plan.lp")

    (folder / "impossible.mps").write_text(PLAN.replace("RHS DEMAND 1.0", "RHS DEMAND 5.0"))
    conflict = mo.read(folder / "impossible.mps").conflict()
    print(conflict)

    # two colleagues' solution files: one point misses rows, the other one is as good as the optimum
    checks = []
    for file, x2 in (("refused.sol", 4), ("certified.sol", 1)):
        (folder / file).write_text(f"X1 3\nX2 {x2}\n")
        checks.append(mo.proofs.check_point(plan, mo.io.read_solution(plan, folder / file).values))
        print(checks[-1])
    wrong, right = checks
    exported = mo.solve(mo.read(folder / "plan.lp"))
    return {
        "objective": result.objective, "dual": abs(dual.objective), "exported": exported.objective,
        "conflict": float(len(conflict.rows)), "wrong": float(wrong.feasible), "right": float(right.feasible),
        "worst": wrong.violations[0].amount, "value": float(right.objective),
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
