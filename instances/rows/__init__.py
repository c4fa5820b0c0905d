"""Data sets that stay on disk: arrays that are read by rows, the unpacking of files to such arrays, and ``open_rows``."""
