"""Rules about single samples: when one ends early, and when one starts anew."""
