"""Images from networks that write them as tokens."""
