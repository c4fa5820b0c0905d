"""Executors of independent tasks: this process, joblib's workers, a Dask or a Ray cluster. The whole package uses this
mechanism.
"""

from .choose_executor import Cluster, choose_executor
from .executor import Executor, SerialExecutor

__all__ = ["Cluster", "Executor", "SerialExecutor", "choose_executor"]
