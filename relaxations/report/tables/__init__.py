"""Tables of the report: rows and columns from cells."""
