"""Tables and figures of Zhang, Lai, Zhou, Liang: NPSVC++."""
