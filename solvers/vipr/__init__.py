"""Certificates in the VIPR format for mixed-integer linear programs: branch and bound with a rational sum for every step."""
