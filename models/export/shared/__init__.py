"""The parts that several formats and native models share: layout of variables, indicators, quadratic cones."""
