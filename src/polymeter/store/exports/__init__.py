"""Files made from a journal for others: results, sample tables, copies and imported runs."""
