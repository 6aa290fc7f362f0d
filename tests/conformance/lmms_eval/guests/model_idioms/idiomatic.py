from typing import List, Optional, Tuple, Union

from tqdm import tqdm

from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from lmms_eval.utils import Collator, eval_logger, stop_sequences_criteria

CHUNKS = []
CONTEXTS = []


class Tokenizer:
    def encode(self, text, add_special_tokens=True):
        return [ord(sign) for sign in text]

    def batch_decode(self, rows):
        return ["".join(chr(token) for token in row) for row in rows]


@register_model("idiomatic", "idiomatisch")
class Idiomatic(lmms):
    """Sees the colour of the first pixel; written as the wrappers of lmms-eval are."""

    def __init__(
        self,
        pretrained: str = "org/name",
        device: Optional[str] = "cpu",
        batch_size: Optional[Union[int, str]] = 1,
        **kwargs,
    ) -> None:
        super().__init__()
        assert kwargs == {}, f"Unexpected kwargs: {kwargs}"
        self._tokenizer = Tokenizer()
        self.batch_size_per_gpu = int(batch_size)
        if self.rank == 0:
            eval_logger.info(f"Using {device}, {self.world_size} process, {self.accelerator_name}")

    @property
    def accelerator_name(self):
        return type(getattr(self, "accelerator", None)).__name__

    @property
    def batch_size(self):
        return self.batch_size_per_gpu

    @property
    def tokenizer(self):
        return self._tokenizer

    def tok_encode(self, string: str) -> List[int]:
        return self.tokenizer.encode(string, add_special_tokens=False)

    def flatten(self, input):
        new_list = []
        for i in input:
            for j in i:
                new_list.append(j)
        return new_list

    def loglikelihood(self, requests: List[Instance]) -> List[Tuple[float, bool]]:
        res = []
        pbar = tqdm(total=len(requests), disable=(self.rank != 0), desc="Model Responding")
        for contexts, doc_to_target, doc_to_visual, doc_id, task, split in [reg.args for reg in requests]:
            if type(doc_to_target) == str:
                continuation = doc_to_target
            else:
                continuation = doc_to_target(self.task_dict[task][split][doc_id])
            visuals = [doc_to_visual(self.task_dict[task][split][doc_id])]
            visuals = self.flatten(visuals)
            is_right = continuation.strip() == name_of(visuals[0])
            res.append((-0.5 if is_right else -3.0, is_right))
            pbar.update(1)
        pbar.close()
        return res

    def generate_until(self, requests: List[Instance]) -> List[str]:
        res = []

        def _collate(x):
            toks = self.tok_encode(x[0])
            return -len(toks), x[0]

        pbar = tqdm(total=len(requests), disable=(self.rank != 0), desc="Model Responding")
        re_ords = Collator([reg.args for reg in requests], _collate, grouping=True)
        chunks = re_ords.get_batched(n=self.batch_size, batch_fn=None)
        for chunk in chunks:
            contexts, all_gen_kwargs, doc_to_visual, doc_id, task, split = zip(*chunk)
            task = task[0]
            split = split[0]
            visuals = [doc_to_visual[0](self.task_dict[task][split][ids]) for ids in doc_id]
            # we assume all gen kwargs in the batch are the same
            gen_kwargs = all_gen_kwargs[0]
            until = [self.tok_encode("\n\n")]
            if "until" in gen_kwargs:
                until = gen_kwargs.pop("until")
                if isinstance(until, str):
                    until = [until]
                elif not isinstance(until, list):
                    raise ValueError(f"Expected `gen_kwargs['until']` to be of type Union[str,list] but got {type(until)}")
            stop_sequences_criteria(self.tokenizer, until, 0, len(contexts))
            if "max_new_tokens" not in gen_kwargs:
                gen_kwargs["max_new_tokens"] = 1024
            CHUNKS.append(len(contexts))
            CONTEXTS.extend(contexts)
            for context, pictures in zip(contexts, visuals):
                text = name_of(pictures[0])
                counts = TokenCounts(input_tokens=len(context), output_tokens=1)
                res.append(GenerationResult(text, counts))
                self.cache_hook.add_partial("generate_until", (context, gen_kwargs), text)
            pbar.update(1)
        res = re_ords.get_original(res)
        pbar.close()
        return res

    def generate_until_multi_round(self, requests) -> List[str]:
        raise NotImplementedError("TODO: Implement multi-round generation")


def name_of(picture):
    red, green, blue = picture.getpixel((0, 0))[:3]
    return "red" if red else "blue" if blue else "green"
