"""Rows made for published tasks: what their code reads, rows of that form, and what to change where one fails."""
