"""Checker of proof logs: base classes, log reader, exact arithmetic, tree verification. It shares no code with the searches."""
