"""Certificates in the VIPR format for mixed-integer linear programs: a branch and bound whose every step is a rational sum."""
