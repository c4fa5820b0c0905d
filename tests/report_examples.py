"""Gap reports with made-up numbers, for the tests of their tables and sentences."""

from __future__ import annotations

from dataclasses import replace

from marginopt.relaxations import ExactCell, GapReport, InstanceCell, RelaxationCell

_M = "M is below its smallest value proved valid at 3 of 3 points"


def made_up() -> GapReport:
    """Return a report of two instances and three relaxations, with solved, stopped and refused cells."""
    instances = tuple(
        InstanceCell(name, 0.5, "made | up <here>", 50, 3, True, 25, 12.0, 9, 4, 0.1) for name in ("first & best", "second")
    )
    relaxations = tuple(
        cell
        for i in instances
        for cell in (
            RelaxationCell(
                i.instance, 0.5, "big-M, M from w=0", "piqp", "1.0", "optimal", "solved", 2.0, "proved", "argument", "",
                "M from w=0, valid", 4.0, 9.0, 12.5, 10, 5, None, 53, 50, 5000, 0.001, 0.002,
            ),
            RelaxationCell(
                i.instance, 0.5, "conic SDP", "clarabel", "1.0", "optimal", "Solved", 6.0 + 1 / 3, "proved", "argument",
                recovered=11.0, violations=9, misclassified=4, rank_ratio=0.25, variables=100, rows=200, bytes=9000,
                build_seconds=0.001, solve_seconds=0.05,
            ),
            RelaxationCell(i.instance, 0.5, "other", "mosek", reason="mosek is not installed: pip install mosek"),
        )
    )  # fmt: skip
    done = ExactCell(
        "first & best", 0.5, "scip", "9", "big-M", "incumbent", "optimal", "optimal", True, 10.0, 10.0, 10.0, "claimed by solver",
        1234, 8, 3, 0.1, 2.5, 30.0, 53, 50,
    )  # fmt: skip
    stopped = replace(done, instance="second", status="time limit", proven=False, bound=8.0)
    refused = tuple(ExactCell(i.instance, 0.5, "gurobi", reason="the licence allows 200 variables") for i in instances)
    meta = {
        "created": "2026-01-01T00:00:00+00:00",
        "versions": {"marginopt": "0.1.0", "numpy": "2.0"},
        "machine": "Linux x86_64, 2 cores",
        "options": {"time limit": 30.0, "exact": ["scip", "gurobi"]},
        "seed": 7,
        "base": "big-M, M from w=0",
    }
    return GapReport(instances, relaxations, (done, refused[0], stopped, refused[1]), meta)


def swept(sigmas: int = 2, ps: int = 6) -> GapReport:
    """Return a report of a family over σ and p with a weak and a strong bound.

    With σ = 0, 1, .. the gap of the weak bound is 0.1 p/(1 + σ), that of the strong bound half of it.
    """
    instances, relaxations, exacts = [], [], []
    for p in range(1, ps + 1):
        for k in range(sigmas):
            name, zeta = f"set[p={p}, sigma={k}]", 10.0
            parameters = {"sigma": float(k)}
            instances.append(
                InstanceCell(name, 1.0, "made up", 50, p, True, 25, zeta, 9, 4, 0.1, family="set", parameters=parameters)
            )
            lucky = RelaxationCell(name, 1.0, "lucky", "any", bound=zeta, kind="proved", solve_seconds=0.1)
            relaxations.append(lucky if p == 1 and k == 0 else replace(lucky, bound=0.0, caveat=_M))
            for relaxation, part in (("weak", 1.0), ("strong", 0.5)):
                bound = zeta * (1.0 - part * 0.1 * p / (1 + k))
                relaxations.append(replace(lucky, relaxation=relaxation, bound=bound, solve_seconds=part))
            proved = ExactCell(name, 1.0, "exact", status="optimal", proven=True, incumbent=zeta, bound=zeta, kind="proved")
            exacts.append(proved)
            exacts.append(ExactCell(name, 1.0, "asleep", reason="no <licence>"))
    return GapReport(tuple(instances), tuple(relaxations), tuple(exacts), {"base": "weak"})
