"""The independent checker of scoring systems' proof logs."""
