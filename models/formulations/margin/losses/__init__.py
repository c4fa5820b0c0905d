"""Losses: functions of the margin y x'w, or of the residual y - x'w."""
