"""The text-to-image model that comes with Polymeter. It draws simple scenes of shapes and edits such images.

It needs no weights. It reads prompts by a small grammar (``reading``), places and draws shapes (``layout``,
``drawing``), edits images (``editing``), and makes mistakes on purpose at a given rate (``slips``). So an image
benchmark runs end to end on any machine, with a known score. ``recognition`` finds shapes in images by their pixels,
for editing and for the detector ``shapes`` (``detector``).
"""

from polymeter.library.shapes.model import ShapesModel

__all__ = ["ShapesModel"]
