"""What bounds it: reductions of the 0-1 loss with their ways back, incumbents, losses, and the gap report."""

from .bigm import BigM
from .cells import ExactCell, InstanceCell, RelaxationCell
from .combined import Combined, CombinedRelaxation
from .conic import Conic
from .gaps import Interval
from .hinge import Hinge
from .incumbent import heuristic, tighten
from .losses import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss
from .reduction import Direction, LiftedDual, Reduction, best_multiple
from .relax import Relaxed, relax
from .report import GapReport, ReportRow
from .run import default_relaxations, gap_report
from .samples import default_report_instances, strongest_features

__all__ = [
    "BigM",
    "Combined",
    "CombinedRelaxation",
    "Conic",
    "Direction",
    "ExactCell",
    "GapReport",
    "Hinge",
    "InstanceCell",
    "Interval",
    "LiftedDual",
    "Reduction",
    "RelaxationCell",
    "Relaxed",
    "ReportRow",
    "best_multiple",
    "conic_loss",
    "default_relaxations",
    "default_report_instances",
    "gap_report",
    "heuristic",
    "hinge_loss",
    "normalised_sigmoid_loss",
    "psi_loss",
    "ramp_loss",
    "relax",
    "strongest_features",
    "tighten",
    "zero_one_loss",
]
