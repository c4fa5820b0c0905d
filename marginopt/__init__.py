"""marginopt: mathematical programs for maximum-margin learning."""
