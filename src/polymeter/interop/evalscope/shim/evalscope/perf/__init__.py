"""Load tests of endpoints, which are not provided."""
