"""Results and what certifies them: certificates, rays, evidence found from the data, verdicts."""
