"""γ by the Fisher criterion in feature space; C by one model for each candidate."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.formulations.max_min import fisher_ratio
from .base import Sample
from .criterion import CriterionSelector

__all__ = ["Fisher"]


@dataclass(frozen=True)
class Fisher(CriterionSelector):
    """The γ with the largest ratio D_inter/D_inner, MaxMin (54)/(55), then the best C at it.

    D_inter = ||m+ - m-||², the distance between the classes' means in feature space; D_inner, the sum of the classes' variances
    about them (Wang, Wu, Ye and Hao, 2003). The ratio has a positive limit as γ → 0, where it often has its largest value, and
    the rule then chooses a kernel that is almost constant.

    Parameters
    ----------
    judge, share
        As `CriterionSelector`.
    """

    name = "fisher"

    def criterion(self, sample: Sample, gamma: float) -> float:
        """`fisher_ratio` at γ."""
        return fisher_ratio(sample.distances, sample.y, gamma)
