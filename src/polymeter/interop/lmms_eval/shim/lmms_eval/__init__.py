"""Stand-in for ``lmms_eval``, as far as tasks and models import it."""

__version__ = "0.7.2"
