"""Relaxations of the registry: each module holds one or a few of them, with the proof of their bounds."""
