"""The max-min paper, reproduced. Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH."""
