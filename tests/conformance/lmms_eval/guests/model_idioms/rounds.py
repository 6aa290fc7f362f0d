from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model


@register_model("rounds")
class Rounds(lmms):
    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until(self, requests):
        return [request.args[0] + "!" for request in requests]

    def generate_until_multi_round(self, requests):
        res = []
        for request in requests:
            context, gen_kwargs, doc_to_visual, doc_to_text, doc_id, task, split = request.args
            doc = self.task_dict[task][split][doc_id]
            visuals, outputs, info, round_idx = doc_to_visual(doc), [], None, 0
            while True:
                outputs.append(f"{context}!{len(visuals)}")
                round_idx += 1
                visuals, context, is_terminal, outputs, info = doc_to_text(
                    doc, previous_output=outputs, round_idx=round_idx, previous_round_info=info
                )
                if is_terminal:
                    break
            res.append(tuple(outputs))
        return res


@register_model("one_round")
class OneRound(lmms):
    def generate_until(self, requests):
        return [request.args[0] + "!" for request in requests]
