"""Runs side by side: what else differs between them, and whether their scores differ by more than noise."""
