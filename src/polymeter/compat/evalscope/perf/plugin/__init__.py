"""Parts of load tests."""
