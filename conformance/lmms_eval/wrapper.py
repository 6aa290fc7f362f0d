"""The scripted model as an ``lmms`` wrapper: this one file is loaded by lmms-eval and by Polymeter.

It answers from the book that `prepare.py` wrote, by task and row, and notes the prompts that it was given.
"""

import json
import os
import threading
from collections import Counter

from lmms_eval.api.instance import GenerationResult
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model

_LOCK = threading.Lock()


class _Scripted(lmms):
    def __init__(self, book="", model="right", prompts="", as_result="false", **kwargs):
        super().__init__()
        with open(book, encoding="utf-8") as file:
            self._book = json.load(file)
        self._model = model
        self._prompts = prompts
        self._as_result = str(as_result).lower() == "true"
        self._asked = Counter()

    def _answer(self, task, doc_id, prompt):
        with _LOCK:
            number = self._asked[task, doc_id]
            self._asked[task, doc_id] += 1
            if self._prompts:
                with open(self._prompts, "a", encoding="utf-8") as file:
                    file.write(json.dumps([task, self._model, f"{doc_id}.{number}", prompt]) + os.linesep)
        answers = self._book[task]["answers"][self._model][str(doc_id)]
        return answers[number % len(answers)]

    def clean(self):
        """There is no accelerator's memory to free; collecting garbage would take longer than all else."""

    def loglikelihood(self, requests):
        made = []
        for request in requests:
            context, continuation, _visual, doc_id, task, _split = request.args
            losses = self._book[task]["losses"][self._model][str(doc_id)]
            loss = losses[continuation.strip()]
            is_greedy = loss == min(losses.values())
            self._note(task, doc_id, f"{context}\x00{continuation}\x00")
            # lmms-eval turns a bare pair into text before it scores; there it has to come as a result's text.
            made.append(GenerationResult(text=(loss, is_greedy)) if self._as_result else (-loss, is_greedy))
        return made

    def _note(self, task, doc_id, prompt):
        if self._prompts:
            with _LOCK, open(self._prompts, "a", encoding="utf-8") as file:
                number = self._asked[task, doc_id]
                self._asked[task, doc_id] += 1
                file.write(json.dumps([task, self._model, f"{doc_id}.{number}", prompt]) + os.linesep)

    def generate_until_multi_round(self, requests):
        made = []
        for request in requests:
            context, _settings, to_visual, to_text, doc_id, task, split = request.args
            row = self.task_dict[task][split][doc_id]
            to_visual(row)
            outputs, info, text = [], None, context
            for number in range(1, 9):
                outputs.append(self._answer(task, doc_id, f"{text}\x00"))
                payload = to_text(row, previous_output=outputs, round_idx=number, previous_round_info=info)
                _visuals, text, is_over, outputs, info = payload
                if is_over:
                    break
            made.append(outputs)
        return made


@register_model("scripted_simple")
class ScriptedSimple(_Scripted):
    is_simple = True

    def generate_until(self, requests):
        made = []
        for request in requests:
            context, settings, to_visual, doc_id, task, split = request.args
            shown = _shown(to_visual(self.task_dict[task][split][doc_id]) if to_visual else None)
            made.append(self._answer(task, doc_id, f"{context}\x00{shown}\x00{_settings(settings)}"))
        return made

    generate_visual_cot = generate_until


@register_model("scripted_chat")
class ScriptedChat(_Scripted):
    is_simple = False

    def generate_until(self, requests):
        made = []
        for request in requests:
            _context, to_messages, settings, doc_id, task, split = request.args
            messages = to_messages(self.task_dict[task][split][doc_id])
            text = json.dumps(messages, default=_media, ensure_ascii=False)
            made.append(self._answer(task, doc_id, f"{text}\x00{_settings(settings)}"))
        return made


def _shown(visuals):
    """Media as a list: where a task gives nothing, or one image without a list, lmms-eval hands that on as it is."""
    if visuals is None:
        return []
    return [_media(one) for one in visuals] if isinstance(visuals, (list, tuple)) else [_media(visuals)]


def _media(value):
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return os.path.basename(value)
    if hasattr(value, "size") and hasattr(value, "mode"):
        return f"<image {value.mode} {value.size} {sum(value.convert('RGB').tobytes()) % 9973}>"
    if isinstance(value, dict):
        return {key: _media(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_media(one) for one in value][:4]
    return f"<{type(value).__name__}>"


def _settings(settings):
    return json.dumps(settings, sort_keys=True, default=str)
