"""Data that stay on disk: arrays that are read by rows, what is unpacked for that, and the door to both."""
