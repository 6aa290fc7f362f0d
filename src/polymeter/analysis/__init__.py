"""Applications that read finished runs. None of them asks a model but ``preferences`` and ``tracking``."""
