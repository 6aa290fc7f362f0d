"""What a guest's source says without being run: its imports, its files, the packages and names that it uses."""
