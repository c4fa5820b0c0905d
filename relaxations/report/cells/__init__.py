"""Cells of the report: a task that is run, a record of what it found."""
