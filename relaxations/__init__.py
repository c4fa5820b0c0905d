"""What bounds it."""
