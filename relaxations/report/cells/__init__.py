"""Cells of the gap report: each module has the record of one kind of result, and the task that computes it."""
