"""Off-the-shelf solvers, one file each; the registry finds them by looking."""
