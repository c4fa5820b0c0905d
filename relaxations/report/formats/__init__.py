"""Files of the report: one format each."""
