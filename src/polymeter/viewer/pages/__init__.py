"""The pages of the viewer, one file each: a file with a tuple ``PAGES`` is found by being here."""
