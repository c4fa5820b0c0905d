"""Branch and bound with proof logs, shared by the exact solvers: search, checkpoints, remote workers, log checkers, and VIPR."""
