"""What bounds it: reductions of the 0-1 loss with their ways back, incumbents, losses, and the gap report."""

from .bigm import BigM
from .cells import ExactCell, InstanceCell, RelaxationCell
from .combined import Combined, CombinedRelaxation
from .conic import Conic
from .fixing import Fixed, Fixing, fix_variables
from .gaps import Interval
from .hinge import Hinge
from .incumbent import heuristic, tighten
from .kappa_cell import KappaCell
from .kernel_conic import KernelConic
from .losses import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss
from .named import NAMED
from .perspective import Perspective, PerspectiveRelaxation
from .profiles import fraction_within, performance_ratios, shifted_geometric_mean
from .reduction import Direction, LiftedDual, Reduction, best_multiple
from .relax import Relaxed, relax
from .report import GapReport, ReportRow
from .run import default_relaxations, gap_report
from .samples import default_report_instances, strongest_features
from .single_point import SinglePoint, SinglePointRelaxation
from .store import CellStore
from .strengthen import strengthen

__all__ = [
    "NAMED",
    "BigM",
    "CellStore",
    "Combined",
    "CombinedRelaxation",
    "Conic",
    "Direction",
    "ExactCell",
    "Fixed",
    "Fixing",
    "GapReport",
    "Hinge",
    "InstanceCell",
    "Interval",
    "KappaCell",
    "KernelConic",
    "LiftedDual",
    "Perspective",
    "PerspectiveRelaxation",
    "Reduction",
    "RelaxationCell",
    "Relaxed",
    "ReportRow",
    "SinglePoint",
    "SinglePointRelaxation",
    "best_multiple",
    "conic_loss",
    "default_relaxations",
    "default_report_instances",
    "fix_variables",
    "fraction_within",
    "gap_report",
    "heuristic",
    "hinge_loss",
    "normalised_sigmoid_loss",
    "performance_ratios",
    "psi_loss",
    "ramp_loss",
    "relax",
    "shifted_geometric_mean",
    "strengthen",
    "strongest_features",
    "tighten",
    "zero_one_loss",
]
