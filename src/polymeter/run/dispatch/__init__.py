"""Ways of requests to a model: in batches on this machine, at an endpoint, or at replicas."""
