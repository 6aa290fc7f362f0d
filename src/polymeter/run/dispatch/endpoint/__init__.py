"""Requests to an endpoint: how many at a time, to which address, when again, and when it counts as gone."""
