"""A model as an ``lmms`` wrapper whose answers follow from the prompt: this one file is loaded by lmms-eval and by
Polymeter.
"""

import zlib

from lmms_eval.api.instance import GenerationResult
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model

WORDS = ("2", "red", "4", "blue", "6", "green", "8", "yellow")


def draw(*texts):
    return zlib.crc32("\n".join(texts).encode())


@register_model("scripted")
class Scripted(lmms):
    is_simple = True

    def __init__(self, seed="1", as_result="false", **kwargs):
        super().__init__()
        self._seed = str(seed)
        self._as_result = str(as_result).lower() == "true"

    def generate_until(self, requests):
        made = []
        for request in requests:
            context, _settings, to_visual, doc_id, task, split = request.args
            shown = to_visual(self.task_dict[task][split][doc_id])[0].getpixel((0, 0))
            made.append(WORDS[draw(self._seed, context, str(shown)) % len(WORDS)])
        return made

    def loglikelihood(self, requests):
        made = []
        for request in requests:
            context, continuation, _to_visual, doc_id, task, split = request.args
            if callable(continuation):
                continuation = continuation(self.task_dict[task][split][doc_id])
            loss = draw(self._seed, context, continuation) % 1000 / 100
            # lmms-eval turns a bare pair into text before it scores; there it has to come as a result's text.
            made.append(GenerationResult(text=(loss, False)) if self._as_result else (-loss, False))
        return made

    def generate_until_multi_round(self, requests):
        raise NotImplementedError
