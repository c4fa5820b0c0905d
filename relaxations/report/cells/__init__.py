"""Cells of the gap report: each is one computation (a task) and the record of its result."""
