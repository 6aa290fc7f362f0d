"""Replicas as actors of a Ray cluster: one for each copy of the model, on any node with room.

``cluster`` joins the cluster and computes how many replicas it can hold, ``host`` starts them and sends them work,
``actor`` runs on a node. Ray itself is imported inside functions, when a run has asked for it.

Ray holds replicas and schedules nothing: leases decide which of them computes which requests, as on one machine. One
actor is one replica and waits for room by itself, so nodes may join late.
"""
