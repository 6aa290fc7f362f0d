"""One evaluation, start to end: plan, check, open, run. Each stage has its own room; this is the order."""

from __future__ import annotations

