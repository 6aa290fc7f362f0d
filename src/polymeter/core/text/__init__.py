"""Text formats: JSON, YAML and CSV written and read safely, numbers as written, and texts without keys."""
