"""Named formulations that are compositions of parts and nothing else."""
