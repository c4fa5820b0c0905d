"""Exact search, shared by all problems: coordinates, compiled relaxations, logs and their checker; and VIPR certificates."""
