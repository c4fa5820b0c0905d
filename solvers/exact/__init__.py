"""Branch and bound with proof logs, shared by all exact solvers: search, checkpoints, remote workers, the checker of logs, VIPR."""
