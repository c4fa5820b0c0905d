"""Off-the-shelf solvers, one file each; the registry imports every file of this folder."""
