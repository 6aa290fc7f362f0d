"""One evaluation, a room for each stage: ``plan``, ``schedule``, ``dispatch``, ``finish``. ``run`` calls them in order.

Knows tasks and models only by the words of ``polymeter.core``.
"""
