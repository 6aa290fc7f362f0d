"""Names of EvalScope that can be imported and that cannot be used."""

from __future__ import annotations

from functools import partial

from polymeter.guests import refused as _absent

absent_class = partial(_absent.absent_class, kit="EvalScope")
absent_function = partial(_absent.absent_function, kit="EvalScope")
