"""The 0-1 loss with a budget of violations: an exact search of its own."""
