"""How fast a language model of Transformers is on a GPU, beside code written by hand for it, and with replicas on it.

Usage: ``python -m benchmarks.gpu [--small] [--save FILE]``. A Llama of two billion parameters with random weights in
bfloat16 is made first. Measured are generated tokens a second of ``hf:`` beside a static batch by hand and beside
Transformers' own continuous batching, log-likelihoods of four choices beside one forward for each choice, and a whole
run with one replica and with two that share the GPU. ``--small`` does the same with a tiny model where there is no GPU,
to see that it works: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.book import Book
from benchmarks.local_models import in_turn, ratio

_TASK = """\
task: bench_gpu
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{text}}"
doc_to_target: text
generation_kwargs: {max_new_tokens: N_TOKENS, temperature: 0}
metric_list: [{metric: exact_match}]
"""
_WORDS = ("river", "garden", "table", "window", "violin", "doctor", "stone", "bridge", "clock", "paper", "boat", "lamp")
_LARGE = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 28, "head_dim": 128}
_HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8}


class Sizes:
    """How much is measured.

    Args:
        is_small: Whether only to see that it works.
    """

    def __init__(self, is_small: bool) -> None:
        self.n_prompts, self.batch_size, self.n_tokens = (4, 2, 4) if is_small else (256, 64, 128)
        self.n_words, self.n_rounds = (4, 1) if is_small else (200, 5)


def main() -> None:
    """Make the checkpoint, measure, and print one line for each figure.

    Raises:
        SystemExit: if there is no GPU and ``--small`` is not given.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--small", action="store_true", help="a tiny model on any device, to see that it works")
    parser.add_argument("--save", type=Path, help="write the raw numbers into this JSON file")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch

    if not (torch.cuda.is_available() or options.small):
        raise SystemExit("There is no GPU here. --small runs the same with a tiny model, to see that it works.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    book, sizes = Book(), Sizes(options.small)
    print(f"Polymeter on {torch.cuda.get_device_name() if device == 'cuda' else 'no GPU'}")
    with tempfile.TemporaryDirectory(prefix="polymeter-bench-") as home:
        folder = make_checkpoint(Path(home) / "llama", options.small)
        alone(folder, device, sizes, book)
        replicas(Path(home), folder, sizes, book, is_shared=device == "cuda")
    if options.save:
        book.save(options.save)


def make_checkpoint(folder: Path, is_small: bool) -> Path:
    """A Llama with random weights in bfloat16, and a tokenizer.

    Args:
        folder: Where to.
        is_small: Whether it is tiny.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.helpers import checkpoints

    checkpoints.make_checkpoint("llama", folder)
    config = LlamaConfig.from_pretrained(folder)
    for name, value in ({} if is_small else _LARGE | _HEADS).items():
        setattr(config, name, value)
    config.max_position_embeddings = 4096
    torch.manual_seed(0)
    network = LlamaForCausalLM(config).to(torch.bfloat16)
    network.generation_config.eos_token_id = None  # answers have the length that is asked for
    network.save_pretrained(folder)
    return folder


def alone(folder: Path, device: str, sizes: Sizes, book: Book) -> None:
    """One model in this process: tokens a second, and log-likelihoods."""
    import torch

    from polymeter import Generate, Loglikelihood, Message, Request, Text
    from polymeter.models.hf import HfModel

    texts, choices = prompts(sizes), (" red stone", " green", " a violin", " the boat")
    model = HfModel(str(folder), device=device, dtype="bfloat16", logprob_template="none")
    model.load()
    model.at_once = sizes.batch_size
    asked = [(Message("user", (Text(text),)),) for text in texts]
    writes = [Request(one, Generate(max_new_tokens=sizes.n_tokens, temperature=0)) for one in asked]
    chooses = [Request(one, Loglikelihood(choices)) for one in asked]
    by_hand = ByHand(folder, device, sizes)
    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: [model.respond(part) for part in parts(writes, sizes.batch_size)],
        "hand": lambda: by_hand.static(texts),
    }
    if hasattr(by_hand.network, "generate_batch") and device == "cuda":
        ways["continuous"] = lambda: by_hand.continuous(texts)
    with torch.inference_mode():
        seconds, _ = in_turn(ways, sizes.n_rounds)
    n_tokens = sizes.n_prompts * sizes.n_tokens
    beside = ", ".join(f"{ratio(seconds, name, 'ours'):.2f} x {name}" for name in ways if name != "ours")
    told = f"{n_tokens / statistics.median(seconds['ours']):,.0f} tokens/s, {beside}"
    book.line(f"{sizes.n_prompts} answers of {sizes.n_tokens} tokens", told, "", seconds=seconds)
    seconds, given = in_turn(
        {
            "ours": lambda: [model.respond(part) for part in parts(chooses, sizes.batch_size)],
            "plain": lambda: by_hand.one_forward_per_choice(texts, choices),
        },
        sizes.n_rounds,
    )
    ours = [one.logprob for part in given["ours"] for answer in part for one in answer.outputs[0].logprobs]
    apart = max(abs(one - other) for one, other in zip(ours, given["plain"], strict=True))
    told = f"{ratio(seconds, 'plain', 'ours'):.2f} x one forward for each choice; log-probs within {apart:.0e}"
    book.line(f"{sizes.n_prompts} questions of 4 choices", told, "", seconds=seconds)
    model.close()


class ByHand:
    """What somebody would write for this one model.

    Args:
        folder: The checkpoint.
        device: Where it computes.
        sizes: How much is measured.
    """

    def __init__(self, folder: Path, device: str, sizes: Sizes) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._sizes = sizes
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(device).eval()

    def static(self, texts: Sequence[str]) -> list[str]:
        """Batches in order, each until its last token."""
        found = []
        for part in parts(texts, self._sizes.batch_size):
            given = self.tokenizer(part, return_tensors="pt", padding=True).to(self.network.device)
            made = self.network.generate(**given, max_new_tokens=self._sizes.n_tokens, do_sample=False)
            found += self.tokenizer.batch_decode(made[:, given["input_ids"].shape[1] :])
        return found

    def continuous(self, texts: Sequence[str]) -> Any:
        """Transformers' own continuous batching."""
        from transformers import GenerationConfig

        config = GenerationConfig(max_new_tokens=self._sizes.n_tokens, do_sample=False, eos_token_id=-1)
        return self.network.generate_batch([self.tokenizer(text)["input_ids"] for text in texts], config)

    def one_forward_per_choice(self, texts: Sequence[str], choices: Sequence[str]) -> list[float]:
        """Context and choice through the whole network, one choice at a time."""
        import torch

        scores = []
        with torch.inference_mode():
            for text in texts:
                n_before = len(self.tokenizer(text)["input_ids"])
                for choice in choices:
                    ids = self.tokenizer(text + choice, return_tensors="pt")["input_ids"].to(self.network.device)
                    logits = self.network(ids).logits[0, n_before - 1 : -1].float().log_softmax(-1)
                    scores.append(float(logits.gather(1, ids[0, n_before:, None]).sum()))
        return scores


def replicas(home: Path, folder: Path, sizes: Sizes, book: Book, *, is_shared: bool) -> None:
    """A run with one replica and with two, which share the GPU if there is one."""
    import polymeter

    (home / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in prompts(sizes)))
    (home / "bench_gpu.yaml").write_text(_TASK.replace("N_TOKENS", str(sizes.n_tokens)))
    words: dict[str, Any] = {"gpus_per_replica": 0.5} if is_shared else {"cpus_per_replica": 1}
    busy: dict[int, float] = {}
    for n in (1, 2):
        done = polymeter.evaluate(
            f"hf:{folder}", str(home / "bench_gpu.yaml"), model_args={"dtype": "bfloat16"}, replicas=n,
            batch_size=sizes.batch_size, output=home / f"run-{n}", cache_dir=home / "cache", **words,
        )  # fmt: skip
        part = done.folder.read_manifest()["sessions"][-1]
        slots = (part["lanes"]["model"].get("replicas") or {}).get("slots") or ()
        busy[n] = max((slot["ready_s"] for slot in slots), default=0.0)
    told = f"{busy[1] / max(busy[2], 1e-9):.2f} x one ({busy[1]:.1f} s, {busy[2]:.1f} s)"
    book.line("two replicas on one device", told, "", seconds={str(n): [value] for n, value in busy.items()})


def prompts(sizes: Sizes) -> list[str]:
    """Texts of different lengths."""
    generator = random.Random(0)
    lengths = [generator.randint(1, sizes.n_words) for _ in range(sizes.n_prompts)]
    return [" ".join(generator.choice(_WORDS) for _ in range(length)) for length in lengths]


def parts(items: Sequence[Any], n: int) -> list[list[Any]]:
    """The items, ``n`` at a time."""
    return [list(items[begin : begin + n]) for begin in range(0, len(items), n)]


if __name__ == "__main__":
    main()
