"""Readers of data files, one for each family of formats."""
