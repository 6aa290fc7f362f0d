"""Settings as users write them, and the parameters and limits that they stand for."""
