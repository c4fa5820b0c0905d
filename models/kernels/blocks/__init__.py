"""Compiled passes that compute blocks of kernel values, and tiles that stay in a core's cache."""
