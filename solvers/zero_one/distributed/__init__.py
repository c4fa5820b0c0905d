"""Distribution and checkpoints of the 0-1 search: subproblems for other processes, and saved searches."""
