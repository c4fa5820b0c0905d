"""The proof checker: rational arithmetic, sharing nothing with the solver."""
