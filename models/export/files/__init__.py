"""Files: one format each, written and read back."""
