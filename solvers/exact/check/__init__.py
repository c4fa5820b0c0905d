"""The checker of proof logs, but for each problem's own rules. It shares no code with the searches."""
