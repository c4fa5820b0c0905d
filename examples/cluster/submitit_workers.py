"""Solve one 0-1 SVM on jobs of Slurm, which submitit submits: each job starts the workers of one machine.

``solve(model, host="10.0.0.1")`` runs where the machines of the jobs reach this one by that address.
"""

from __future__ import annotations

import submitit
from distributed import LocalCluster

import marginopt as mo


def solve(model, host, jobs=16, workers=8, cluster=None):
    """Solve a 0-1-loss SVM on jobs × workers processes; return the result and the jobs, which end with it."""
    with LocalCluster(n_workers=0, host=host, dashboard_address=f"{host}:0") as here, here.get_client() as client:
        command = ["dask", "worker", here.scheduler_address, "--nworkers", str(workers), "--nthreads", "1"]
        command += ["--lifetime", "230m", "--no-dashboard"]
        executor = submitit.AutoExecutor(folder="slurm-logs", cluster=cluster)
        executor.update_parameters(timeout_min=240, cpus_per_task=workers, mem_gb=32, slurm_partition="batch")
        with executor.batch():
            submitted = [executor.submit(submitit.helpers.CommandFunction(command)) for _ in range(jobs)]
        result = mo.solve(model, "zero-one-bb", cluster=client, checkpoint="search.npz")
        client.shutdown()  # the workers, and with them the jobs, end
    return result, submitted
