"""The 0-1 loss: big-M, indicators, strengthened, and with a budget of violations."""
