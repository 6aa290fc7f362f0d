"""Metrics of tables in HTML."""
