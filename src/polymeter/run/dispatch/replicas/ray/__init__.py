"""Replicas as actors of a Ray cluster: one for each copy of the model, wherever the cluster has room.

``cluster`` joins the cluster and says how many replicas it can hold, ``host`` starts them and carries work to them,
``actor`` is what runs on a node. Ray itself is imported inside functions, when a run has asked for it.

Ray holds replicas and schedules nothing: which of them computes what is decided by the leases, as on one machine. One
actor is one replica and waits for room by itself, so nodes may join late.
"""
