from ..annotated.utils import *  # noqa: F403
