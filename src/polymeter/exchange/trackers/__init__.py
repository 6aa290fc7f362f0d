"""Trackers: one file each, found through ``core.names.registries.TRACKERS``. They do not import each other."""
