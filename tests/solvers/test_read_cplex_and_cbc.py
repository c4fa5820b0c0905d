"""Solution files of CPLEX and CBC: points, claims and multipliers, in the form's signs for either sense."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import StandardForm

#: An optimum of ∓12 at x = 2.5, y = 1.5, z = -1.5: an equation, rows from below and above, and one with two sides.
_PLAN = """{sense}
 profit: {costs}
Subject To
 cap: x + y <= 4
 eq: x - y = 1
 low: z + x >= 1
 rng: z + y >= -3
Bounds
 x <= 3
 -2 <= z <= 5
End
"""
_COSTS = {"Maximize": "3 x + 2 y - z", "Minimize": "-3 x - 2 y + z"}
#: Shadow prices of the maximum by row, as CPLEX and CBC state them.
_PRICES = {"cap": 3.0, "eq": 1.0, "low": -1.0, "rng": 0.0}


def _plan(sense: str, folder: Path) -> StandardForm:
    (folder / "plan.lp").write_text(_PLAN.format(sense=sense, costs=_COSTS[sense]), encoding="utf-8")
    return mo.read(folder / "plan.lp")


def _cplex(sense: str, *, values: tuple[float, ...] = (2.5, 1.5, -1.5), duals: bool = True, status: str = "optimal") -> str:
    sign, free = 1.0 if sense == "Maximize" else -1.0, 'reducedCost="0"'
    rows = [
        f'  <constraint name="{name}" index="{i}" slack="0" ' + f'dual="{sign * price}"' * duals + "/>"
        for i, (name, price) in enumerate(_PRICES.items())
    ]
    columns = [
        f'  <variable name="{name}" index="{i}" value="{value}" {free * duals}/>'
        for i, (name, value) in enumerate(zip("xyz", values, strict=True))
    ]
    return "\n".join(
        [
            '<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>', '<CPLEXSolution version="1.2">', " <header",
            '   problemName="plan.lp"', f'   objectiveValue="{sign * 12.0}"', '   solutionTypeString="basic"',
            f'   solutionStatusString="{status}"', '   writeLevel="1"/>', " <linearConstraints>", *rows,
            " </linearConstraints>", " <variables>", *columns, " </variables>", "</CPLEXSolution>", "",
        ]
    )  # fmt: skip


def _cbc(sense: str, *, rows: bool) -> str:
    """The file as CBC 2.10 writes it, the rows with its option printingOptions all."""
    sign = 1.0 if sense == "Maximize" else -1.0
    activities = {"cap": 4.0, "eq": 1.0, "low": 1.0, "rng": 0.0}
    lines = [f"Optimal - objective value {sign * 12.0:.8f}"]
    if rows:
        lines += [f"{i:7d} {name:<16} {activities[name]:>8g} {sign * p:>23g}" for i, (name, p) in enumerate(_PRICES.items())]
    lines += [f"{i:7d} {name:<16} {v:>8g} {0:>23g}" for i, (name, v) in enumerate((("x", 2.5), ("y", 1.5), ("z", -1.5)))]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("sense", ["Maximize", "Minimize"])
@pytest.mark.parametrize("solver", ["cplex", "cbc"])
def test_point_and_multipliers_prove_the_optimum(solver: str, sense: str, tmp_path: Path) -> None:
    form = _plan(sense, tmp_path)
    (tmp_path / "a.sol").write_text(_cplex(sense) if solver == "cplex" else _cbc(sense, rows=True), encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert result.solver == solver and result.claim.status is mo.Status.OPTIMAL
    assert result.status is mo.Status.OPTIMAL and result.bound_kind == "proved"
    assert result.objective == pytest.approx(12.0 if sense == "Maximize" else -12.0)
    assert form.join(result.values).tolist() == [2.5, 1.5, -1.5]
    certificate = mo.certify(form, tmp_path / "a.sol")
    assert certificate.bound == pytest.approx(certificate.objective, rel=1e-9)
    assert mo.proofs.check_point(form, tmp_path / "a.sol").feasible


@pytest.mark.parametrize("text", [_cplex("Maximize", duals=False), _cbc("Maximize", rows=False)], ids=["cplex", "cbc"])
def test_a_file_without_multipliers_is_a_point_and_a_claim(text: str, tmp_path: Path) -> None:
    form = _plan("Maximize", tmp_path)
    (tmp_path / "a.sol").write_text(text, encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert result.claim.status is mo.Status.OPTIMAL and result.objective == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("integer optimal, tolerance", mo.Status.OPTIMAL), ("time limit exceeded", mo.Status.TIME_LIMIT),
        ("integer infeasible", mo.Status.INFEASIBLE), ("optimal with unscaled infeasibilities", mo.Status.OPTIMAL),
    ],
)  # fmt: skip
def test_cplex_s_words_for_how_a_solve_ended(status: str, kind: mo.Status, tmp_path: Path) -> None:
    form = _plan("Maximize", tmp_path)
    (tmp_path / "a.sol").write_text(_cplex("Maximize", duals=False, status=status), encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert result.claim.status is kind and result.claim.native_status == status


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Stopped on time", mo.Status.TIME_LIMIT), ("Stopped on iterations", mo.Status.ITERATION_LIMIT),
        ("Integer infeasible", mo.Status.INFEASIBLE), ("Unbounded", mo.Status.UNBOUNDED),
        ("Optimal (within gap tolerance)", mo.Status.OPTIMAL),
    ],
)  # fmt: skip
def test_cbc_s_words_for_how_a_solve_ended(words: str, kind: mo.Status, tmp_path: Path) -> None:
    """CBC leaves zeros out, and marks what misses its bounds by two stars."""
    form = _plan("Maximize", tmp_path)
    (tmp_path / "a.sol").write_text(f"{words} - objective value 3.00000000\n**    0 x  1  2\n", encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert result.claim.status is kind and result.claim.native_status == words
    if kind is mo.Status.TIME_LIMIT:
        assert form.join(result.values).tolist() == [1.0, 0.0, 0.0]


def test_a_pool_of_cplex_counts_by_its_first_solution(tmp_path: Path) -> None:
    form = _plan("Maximize", tmp_path)
    first, second = (_cplex("Maximize", values=values).split("\n", 1)[1] for values in ((2.5, 1.5, -1.5), (1.0, 0.0, 0.0)))
    text = f'<?xml version = "1.0" encoding="UTF-8"?>\n<CPLEXSolutions version="1.2">\n{first}{second}</CPLEXSolutions>\n'
    (tmp_path / "a.sol").write_text(text, encoding="utf-8")
    assert form.join(mo.io.read_solution(form, tmp_path / "a.sol").values).tolist() == [2.5, 1.5, -1.5]


@pytest.mark.parametrize(
    "text",
    [
        _cplex("Maximize").replace("</variables>", ""), _cplex("Maximize").replace('"1.5"', '"one"'),
        _cplex("Maximize").replace('name="y" index', 'name="x" index'), "<CPLEXSolutions>\n</CPLEXSolutions>\n",
        _cbc("Maximize", rows=False).replace("1.5", "one"), "Optimal - objective value 1\n 0 x 1 0\n 0 x 1 0\n 0 x 1 0\n",
        "Optimal - objective value 1\n 0 x 1\n", "Optimal - objective value 1\n 0 x 1 0\n 1 x 2 0\n",
    ],
)  # fmt: skip
def test_a_damaged_file_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    form = _plan("Maximize", tmp_path)
    (tmp_path / "a.sol").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        mo.io.read_solution(form, tmp_path / "a.sol")
    assert raised.value.file == str(tmp_path / "a.sol")


def _run_cbc(folder: Path) -> Path:
    """Return the solution file that CasADi's CBC writes for plan.lp, with the rows."""
    spec = find_spec("casadi")
    place = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    if not (place / "cbc").is_file():
        pytest.skip("CBC is not installed: CasADi's wheels have it")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(place)}
    command = [str(place / "cbc"), "plan.lp", "printingOptions", "all", "solve", "solution", "cbc.sol"]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=True)
    return folder / "cbc.sol"


@pytest.mark.parametrize("sense", ["Maximize", "Minimize"])
def test_cbc_itself(sense: str, tmp_path: Path) -> None:
    form = _plan(sense, tmp_path)
    result = mo.io.read_solution(form, _run_cbc(tmp_path))
    assert result.solver == "cbc" and result.status is mo.Status.OPTIMAL and result.bound_kind == "proved"
    assert result.objective == pytest.approx(12.0 if sense == "Maximize" else -12.0)


@pytest.mark.parametrize("sense", ["Maximize", "Minimize"])
def test_ampl_s_multipliers_have_the_sense_of_the_file(sense: str, tmp_path: Path) -> None:
    """AMPL's duals are derivatives of the objective in the file, which maximises."""
    form = _plan(sense, tmp_path)
    form.write(tmp_path / "a.nl")
    solved = mo.solve(form, "highs")
    assert solved.multipliers is not None
    sign = -1.0 if sense == "Maximize" else 1.0
    y = sign * np.concatenate([np.ravel(solved.multipliers[c.label]) for c in form.constraints])
    by_name = dict(zip(form.names(), form.join(solved.values), strict=True))
    x = [by_name[name] for name in (tmp_path / "a.col").read_text(encoding="utf-8").split()]
    counts = [3, 1, 1, 0, form.rows, form.rows, form.n, form.n]
    lines = [
        "",
        "ANY 1.0: optimal solution",
        "",
        "Options",
        *map(str, counts),
        *(f"{v!r}" for v in map(float, [*y, *x])),
        "objno 0 0",
    ]
    (tmp_path / "a.sol").write_text("\n".join([*lines, ""]), encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert result.status is mo.Status.OPTIMAL and result.bound_kind == "proved"
    for label, z in solved.multipliers.items():
        np.testing.assert_allclose(result.multipliers[label], z, atol=1e-12)
