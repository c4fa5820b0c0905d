"""What solves it."""
