"""Where independent tasks run: this process, joblib's workers, a Dask or a Ray cluster. One mechanism for the whole package."""

from .team import Alone, Team
from .teams import Cluster, team_of

__all__ = ["Alone", "Cluster", "Team", "team_of"]
