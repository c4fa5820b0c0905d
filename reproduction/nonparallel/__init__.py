"""Zhang, Lai, Zhou, Liang: NPSVC++."""
