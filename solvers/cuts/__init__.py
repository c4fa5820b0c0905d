"""Cuts of ours for other people's branch and bound: found by our exact solver's kernels, added through callbacks."""
