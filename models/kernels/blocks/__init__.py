"""How blocks of kernel values are made: compiled passes, and tiles that stay in a core's cache."""
