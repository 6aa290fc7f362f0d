"""What ``scripts/regressions.py`` has to know of a test goes into the report that it reads."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note which tests are controls."""
    for item in items:
        if item.get_closest_marker("control"):
            item.user_properties.append(("control", "true"))
