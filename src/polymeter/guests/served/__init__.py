"""What guests get of third-party packages in place of the original: local data, our metrics, packages that are not
installed.
"""
