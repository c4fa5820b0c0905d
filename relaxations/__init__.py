"""Relaxations of the 0-1 loss and of other models, presolve by their bounds, heuristics, loss functions, and the gap report."""

from ..extensions import make_package_callable
from ..solvers.geometric_mean import shifted_geometric_mean
from .bounds.big_m import BigM, Hinge
from .bounds.conic import Combined, CombinedRelaxation, Conic, KernelConic
from .bounds.form_relaxations import Continuous, Moments, Products
from .bounds.hulls import AllHulls, EqualHulls, OneHull, PairHulls
from .bounds.lagrangian import Lagrangian, LagrangianRelaxation
from .bounds.perspective import Perspective, PerspectiveRelaxation
from .bounds.single_point import SinglePoint, SinglePointRelaxation
from .bounds.thresholds import Thresholds
from .losses import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss
from .reduction import Direction, LiftedDual, Need, Reduction, Relaxation, best_multiple
from .registry import RelaxationTable, default_relaxations, get_relaxation, relaxations
from .relaxation_result import RelaxationResult, relax
from .report.cells import ExactCell, InstanceCell, KappaCell, RelaxationCell
from .report.default_instances import default_report_instances, strongest_features
from .report.means import fraction_within, performance_ratios
from .report.report import GapReport, gap_report, model_gaps
from .report.report_data import Interval, ReportRow
from .report.runner import CellStore, Progress, Runner, digest
from .strengthening import Fixing, Fixings, fix_variables, heuristic, strengthen, tighten

__all__ = [
    "AllHulls",
    "BigM",
    "CellStore",
    "Combined",
    "CombinedRelaxation",
    "Conic",
    "Continuous",
    "Direction",
    "EqualHulls",
    "ExactCell",
    "Fixing",
    "Fixings",
    "GapReport",
    "Hinge",
    "InstanceCell",
    "Interval",
    "KappaCell",
    "KernelConic",
    "Lagrangian",
    "LagrangianRelaxation",
    "LiftedDual",
    "Moments",
    "Need",
    "OneHull",
    "PairHulls",
    "Perspective",
    "PerspectiveRelaxation",
    "Products",
    "Progress",
    "Reduction",
    "Relaxation",
    "RelaxationCell",
    "RelaxationResult",
    "RelaxationTable",
    "ReportRow",
    "Runner",
    "SinglePoint",
    "SinglePointRelaxation",
    "Thresholds",
    "best_multiple",
    "conic_loss",
    "default_relaxations",
    "default_report_instances",
    "digest",
    "fix_variables",
    "fraction_within",
    "gap_report",
    "get_relaxation",
    "heuristic",
    "hinge_loss",
    "model_gaps",
    "normalised_sigmoid_loss",
    "performance_ratios",
    "psi_loss",
    "ramp_loss",
    "relax",
    "relaxations",
    "shifted_geometric_mean",
    "strengthen",
    "strongest_features",
    "table",
    "tighten",
    "zero_one_loss",
]

#: The same function as `relaxations`. The package itself can be called as well, but type checkers refuse to call a module.
table = relaxations
make_package_callable(__name__, table)
