"""Trackers: one file each, found through ``core.names.registries.TRACKERS``. None of them imports another."""
