"""Caps on a run: its cost, its tokens and its time (``--max-cost``, ``--max-tokens``, ``--max-time``).

The worst that a request can cost (``worst_case``) is reserved in an account (``ledger``) and in the journal before it
is sent, and its answer settles the reservation. Dispatchers reserve through a ``Meter``, one for each model. ``checks``
refuses a plan that cannot be capped, ``earlier`` reads what the parts of a run have spent, and ``budget`` puts all
together for one part of a run. Without a cap nothing of this is made.
"""
