"""Episodes of environments: opened, enacted and closed, in this process or in processes that can be ended."""
