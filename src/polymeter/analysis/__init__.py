"""Applications that read finished runs. Only ``preferences`` and ``tracking`` send requests to a model."""
