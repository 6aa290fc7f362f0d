"""Facts about a guest's source without running it: its imports, its files, the packages and names that it uses."""
