"""Compiled parts that several searches call."""
