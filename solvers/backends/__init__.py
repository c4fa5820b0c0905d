"""Backends: one file for each third-party solver; the registry imports every file of this folder."""
