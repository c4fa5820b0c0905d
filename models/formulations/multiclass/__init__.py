"""Several classes in one program: Crammer and Singer, Weston and Watkins, and the 0-1 loss."""
