"""Native models of other packages: one each."""
