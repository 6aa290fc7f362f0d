"""How requests reach a model: in batches on this machine, at an endpoint, or at replicas."""
