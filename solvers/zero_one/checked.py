"""``check_proof`` as users call it: the independent checker, alone or with the processes and clusters of everything else."""

from __future__ import annotations

from pathlib import Path

from ...models.model import Model
from ..parallel import Cluster, team_of
from .check.checker import ProofReport, check_proof as verify

__all__ = ["check_proof"]


def check_proof(path: str | Path, model: Model | None = None, *, jobs: int | None = None, cluster: Cluster = None) -> ProofReport:
    """Verify a proof log of ``zero-one-bb``.

    Parameters
    ----------
    path : str or Path
        The file that ``zero-one-bb`` wrote with ``proof=path``.
    model : ZeroOneSVM, optional
        The problem that the log should be about: a proof about other data, costs or another intercept is refused.
    jobs : int, optional
        Parts of a tree of boxes at a time, by joblib; -1 for all cores. Where it is not given, one, or what an enclosing
        ``joblib.parallel_config`` says.
    cluster : distributed.Client or str, optional
        The same on a Dask cluster (a client, or its scheduler's address), or "ray", this session's Ray cluster. Who checks in
        parallel believes the workers.

    Returns
    -------
    ProofReport
        ``valid`` only where every step holds; a damaged or wrong log is reported, whatever is wrong with it, never raised.

    Raises
    ------
    InputError
        The model is no `ZeroOneSVM`, ``cluster`` no cluster.
    """
    with team_of(jobs, cluster) as team:
        return verify(path, model, team)
