from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from lmms_eval.protocol import ChatMessages

SEEN = []


@register_model("chatty")
class Chatty(lmms):
    is_simple = False

    def __init__(self, **kwargs):
        # Many wrappers of lmms-eval never call super().__init__().
        self.kwargs = kwargs

    def generate_until(self, requests):
        res = []
        for ctx, doc_to_messages, gen_kwargs, doc_id, task, split in [reg.args for reg in requests]:
            chat_messages = doc_to_messages(self.task_dict[task][split][doc_id])
            chat_messages = ChatMessages(**{"messages": chat_messages})
            images, videos, audios = chat_messages.extract_media()
            hf = chat_messages.to_hf_messages()
            SEEN.append((ctx, [item["type"] for item in hf[-1]["content"]], dict(gen_kwargs), hf[0]["role"]))
            until = gen_kwargs.pop("until")
            red, green, blue = images[0].getpixel((0, 0))[:3]
            res.append(("red" if red else "blue" if blue else "green", {"output_tokens": 2}))
        return res

    def loglikelihood(self, requests):
        assert False, "Not implemented for chat models"

    def generate_until_multi_round(self, requests):
        res = []
        for ctx, doc_to_messages, gen_kwargs, doc_id, task, split in [reg.args for reg in requests]:
            doc = self.task_dict[task][split][doc_id]
            outputs, info, round_idx = [], None, 0
            messages = doc_to_messages(doc)
            while True:
                outputs.append(f"{messages[-1]['content'][-1]['text']}!")
                round_idx += 1
                messages, is_terminal, outputs, info = doc_to_messages(
                    doc, round_idx=round_idx, previous_output=outputs, previous_round_info=info
                )
                if is_terminal:
                    break
            res.append(outputs)
        return res
