"""One relaxation a file, with its proof."""
