"""Tables with their cells as written: CSV, TSV and JSON, exact, and in bounded memory."""
