"""Loading a guest: its module, its folder, and the packages and neighbours that it names."""
