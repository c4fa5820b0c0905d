"""Newton steps for SMO on an estimate of the support: finishers of its runs, and starts for matrices of low rank."""
