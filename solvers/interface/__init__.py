"""Base classes of solvers: `Solver`, `Backend` for third-party packages, `Algorithm` for own methods, and the driver of runs."""
