"""The results of a class: what its ``evaluate`` returns, as numbers with intervals where they can be known."""
