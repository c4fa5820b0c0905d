"""Compiled loops of the engines; functions that call each other share a file."""
