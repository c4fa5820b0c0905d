"""What several formats and native models share: the layout of variables, indicators, quadratic cones."""
