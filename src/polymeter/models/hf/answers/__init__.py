"""Generated answers: how tokens are chosen, and batches that stay full."""
