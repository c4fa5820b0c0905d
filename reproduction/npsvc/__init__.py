"""The NPSVC++ paper, reproduced. Zhang, Lai, Zhou, Liang: Nonparallel classifiers encounter representation learning."""
