"""Executors of independent tasks: this process, joblib's workers, a Dask or a Ray cluster, by one mechanism."""

from .team import Alone, Team
from .teams import Cluster, team_of

__all__ = ["Alone", "Cluster", "Team", "team_of"]
