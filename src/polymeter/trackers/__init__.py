"""Trackers: one file each, found through ``core.registries.TRACKERS``. None of them imports another."""
