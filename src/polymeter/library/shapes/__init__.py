"""The text-to-image model that comes with Polymeter: it draws simple scenes of shapes, and edits such images.

It needs no weights. It reads prompts by a small grammar (``reading``), places and draws shapes (``layout``,
``drawing``), changes images that it is shown (``editing``), and makes mistakes on purpose at a stated rate
(``slips``). So the whole path of an image benchmark runs on any machine, and its score is known in advance.
"""

from polymeter.library.shapes.model import ShapesModel

__all__ = ["ShapesModel"]
