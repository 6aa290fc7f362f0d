"""Reading a run folder: samples, values, failures and usage, as reports and comparisons need them."""
