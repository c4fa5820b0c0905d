"""Checker of the proof logs of `zero-one-bb`: outward-rounded and rational arithmetic, no code of the solver."""
