"""Certificates, rays, evidence, results and their files."""
