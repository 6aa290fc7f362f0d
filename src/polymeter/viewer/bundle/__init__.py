"""A bundle: the viewer's pages of some runs, written to a folder that any web server, or none, can serve."""
