"""The exact search for the 0-1 loss with a budget of violations."""
