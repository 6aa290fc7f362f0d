"""Judges of 1.x: an adapter declares what a judge is asked and the JSON that answers it; one executor asks."""
