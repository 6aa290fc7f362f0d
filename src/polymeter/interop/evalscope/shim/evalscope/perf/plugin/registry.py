"""Registering parts of load tests."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_function

_INSTEAD = "Polymeter does not test the load of endpoints, so there is nothing to register for."

register_api = absent_function("register_api", _INSTEAD)
register_dataset = absent_function("register_dataset", _INSTEAD)
