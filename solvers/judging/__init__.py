"""What an answer is worth: certificate, rays, evidence, result and its file."""
