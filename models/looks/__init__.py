"""How a form and a result are looked at: inspection, explanation, pictures."""
