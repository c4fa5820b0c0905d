"""The tables of a report, in their order."""

from __future__ import annotations

from ..data import ReportData
from ..means import exact_means, relaxation_means
from .column import Table
from .exacts import EXACT_COLUMNS, exact_rows
from .instances import SUMMARY, instance_rows
from .kappas import KAPPA_COLUMNS
from .means import EXACT_MEANS, RELAXATION_MEANS
from .relaxations import COLUMNS

__all__ = ["report_tables"]


def report_tables(report: ReportData) -> tuple[Table, ...]:
    """The tables of a report: those without rows are left out, except the first and the relaxations."""
    means = "A row for each family and λ."
    if report.trivial:
        out = f"{len(report.trivial)} of {len(report.instances)} instances"
        means += f" {out}, whose best known classifier is the intercept, are left out."
    tables = [
        Table("instances", "Instances", SUMMARY, instance_rows(report)),
        Table("relaxation-means", "Relaxations over instances", RELAXATION_MEANS, relaxation_means(report), means),
        Table("exact-means", "Exact solves over instances", EXACT_MEANS, exact_means(report), means),
        Table("relaxations", "Relaxations", COLUMNS, report.rows, "A row for each instance × relaxation."),
        Table("exacts", "Exact solves", EXACT_COLUMNS, exact_rows(report), "A row for each run."),
        Table("kappas", "Sweep over κ", KAPPA_COLUMNS, report.kappas, "The κ form: min ||w||² with at most κn violations."),
    ]
    return tuple(table for table in tables if table.rows or table.name in ("instances", "relaxations"))
