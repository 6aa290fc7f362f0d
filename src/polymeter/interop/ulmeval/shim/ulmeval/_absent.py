"""Names of ULMEvalKit that can be imported and that cannot be used."""

from __future__ import annotations

from functools import partial

from polymeter.guests import refused as _absent

absent_class = partial(_absent.absent_class, kit="ULMEvalKit")
absent_function = partial(_absent.absent_function, kit="ULMEvalKit")
