"""Polymeter's own benchmark formats: task YAML, and tables without a class. Each compiles to core Tasks and knows
neither the engine nor the models.
"""
