"""Importable names of other systems that lead to our objects."""
