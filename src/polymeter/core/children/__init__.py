"""Processes that this one starts, watches and ends: ``child.Child`` is the one way to have one."""
