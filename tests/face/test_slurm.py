"""Slurm, as far as a machine without it goes: the examples write a job's script and start jobs."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path

import pytest
from clusters import PATIENCE
from data import clouds

import marginopt as mo
from marginopt.solvers.zero_one import distributed_boxes as subtrees

pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]
#: The script of a job of the example.
SCRIPT = """#!/usr/bin/env bash

#SBATCH -J dask-worker
#SBATCH -p batch
#SBATCH -n 1
#SBATCH --cpus-per-task=8
#SBATCH --mem=30G
#SBATCH -t 04:00:00
#SBATCH --requeue
source ~/marginopt/bin/activate
marginopt warm-up zero-one-bb
python -m distributed.cli.dask_worker tcp://10.0.0.1:34393 --name dummy-name --nthreads 1 --memory-limit 3.73GiB --nworkers 8 \
--nanny --death-timeout 60 --lifetime 230m
"""


def test_dask_jobqueue_writes_the_examples_script() -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    example = runpy.run_path(str(ROOT / "examples" / "cluster" / "slurm_jobs.py"))
    with example["workers"](scheduler_options={"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}) as cluster:
        script = cluster.job_script()
    assert _plain(script) == _plain(SCRIPT)


def _plain(script: str) -> list[str]:
    """A script's lines, without what is another on every machine."""
    text = re.sub(r"tcp://[\d.]+:\d+", "ADDRESS", script.replace(sys.executable, "python"))
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_submitit_starts_the_examples_jobs_and_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed")
    X, y = clouds(0, 60, 3, 0.4, order="turns", spread=1.2)
    model = mo.ZeroOneSVM(X, y, 10.0, intercept="free")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", f"{PATIENCE:g}")
    monkeypatch.setattr(subtrees, "DISPATCH_NODES", 40)
    example = runpy.run_path(str(ROOT / "examples" / "cluster" / "submitit_workers.py"))
    alone = mo.solve(model, "zero-one-bb", threads=1)
    result, jobs = example["solve"](model, "127.0.0.1", jobs=2, workers=1, cluster="local")
    assert result.status is mo.Status.OPTIMAL and result.details["subproblems"] > 0
    assert result.objective == pytest.approx(alone.objective, rel=1e-6)
    assert [job.result() for job in jobs] == ["", ""]  # both commands ended by themselves, as the last line says
    assert not (tmp_path / "search.npz").exists()
