"""Solve one 0-1 SVM on jobs of Slurm, which dask-jobqueue starts as workers of the exact search."""

from __future__ import annotations

from dask_jobqueue import SLURMCluster

import marginopt as mo


def workers(**options):
    """Return a cluster whose jobs run eight workers each; `print(cluster.job_script())` shows the script of a job."""
    return SLURMCluster(
        cores=8,
        processes=8,
        memory="32GB",
        walltime="04:00:00",
        queue="batch",
        job_extra_directives=["--requeue"],
        worker_extra_args=["--lifetime", "230m"],
        job_script_prologue=["source ~/marginopt/bin/activate", "marginopt warm-up zero-one-bb"],
        **options,
    )


def solve(model, jobs=16):
    """Return the result of a 0-1-loss SVM, solved on the workers of ``jobs`` jobs; the same call goes on from the checkpoint."""
    with workers() as cluster, cluster.get_client() as client:
        cluster.scale(jobs=jobs)
        return mo.solve(model, "zero-one-bb", cluster=client, checkpoint="search.npz")
