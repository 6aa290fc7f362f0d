"""Scorers of images against texts: tiny networks of the real architectures, and the ones that cannot be made."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import weights_from
from polymeter.metrics.image import CLIP_SCORE, clip_score
from polymeter.metrics.image_text import SCORERS, image_scorer
from polymeter.metrics.networks import kept

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

_WORDS = ["a", "red", "blue", "square", "of"]


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), pad_token="<|endoftext|>", model_max_length=77
    )
    pictures = transformers.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    transformers.CLIPProcessor(pictures, tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config={**size, "vocab_size": len(vocabulary), "eos_token_id": len(vocabulary) - 1},
        vision_config={**size, "image_size": 16, "patch_size": 8},
        projection_dim=8,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def blip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blip")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    pictures = transformers.BlipImageProcessor(size={"height": 16, "width": 16})
    transformers.Blip2Processor(pictures, tokenizer, num_query_tokens=4).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.Blip2Config(
        vision_config={**size, "image_size": 16, "patch_size": 8},
        qformer_config={
            **size,
            "vocab_size": len(vocabulary) + 1,
            "encoder_hidden_size": 16,
            "use_qformer_text_input": True,
        },
        text_config={"model_type": "opt", **size, "ffn_dim": 32, "vocab_size": 32, "word_embed_proj_dim": 16},
        num_query_tokens=4,
        image_text_hidden_size=8,
        image_token_index=len(vocabulary),
    )
    transformers.Blip2ForImageTextRetrieval(config).save_pretrained(folder)
    return folder


@pytest.fixture
def red(tmp_path: Path) -> str:
    Image.new("RGB", (20, 16), "red").save(tmp_path / "red.png")
    return str(tmp_path / "red.png")


@pytest.mark.parametrize("name", ["CLIPScore", "PickScore"])
def test_clip_scores_are_cosines(name: str, clip_folder: Path, red: str) -> None:
    places = {SCORERS[name].weights: str(clip_folder), SCORERS[name].processor: str(clip_folder)}
    with weights_from(places):
        scorer = image_scorer(name)
    scores = scorer(images=[red, Image.open(red)], texts=["a red square", "blue"])
    assert [tuple(row.shape) for row in scores] == [(2,), (2,)]
    assert torch.equal(scores[0], scores[1])
    assert scores[0].abs().max() <= 1

    processor = transformers.AutoProcessor.from_pretrained(clip_folder)
    network = transformers.CLIPModel.from_pretrained(clip_folder).eval()
    inputs = processor(images=Image.open(red), text=["a red square"], return_tensors="pt")
    with torch.no_grad():
        logit = network(**inputs).logits_per_image[0, 0] / network.logit_scale.exp()
    assert scores[0][0].cpu().item() == pytest.approx(logit.item(), abs=1e-5)


def test_a_text_longer_than_the_model_reads_is_cut(clip_folder: Path, red: str) -> None:
    with weights_from({SCORERS["CLIPScore"].weights: str(clip_folder)}):
        scorer = image_scorer("CLIPScore")
    long = "a" * 200
    assert scorer(red, long)[0][0].item() == pytest.approx(scorer(red, "a" * 300)[0][0].item(), abs=1e-6)


def test_matching_gives_a_probability(blip_folder: Path, red: str) -> None:
    with weights_from({SCORERS["BLIPv2Score"].weights: str(blip_folder)}):
        scorer = image_scorer("BLIPv2Score")
    one = scorer(images=[red], texts=["a red square"])[0][0].cpu().item()
    assert 0 < one < 1
    both = scorer(images=[red, red], texts=["a red square", "blue square of red"])
    assert both[0][0].item() == pytest.approx(one, abs=1e-6)


@pytest.mark.parametrize("name", [name for name, source in SCORERS.items() if source.make is None])
def test_a_scorer_that_cannot_be_made_says_what_it_takes(name: str) -> None:
    with pytest.raises(
        PlanError, match=rf"'{name}' cannot be built: it needs .*These can: VQAScore, PickScore, CLIPScore"
    ):
        image_scorer(name)


def test_an_unknown_scorer_names_the_nearest() -> None:
    with pytest.raises(PlanError, match=r"There is no image scorer 'ClipScore'\. Did you mean .*'CLIPScore'"):
        image_scorer("ClipScore")


def test_missing_weights_name_the_option(tmp_path: Path) -> None:
    with (
        weights_from({SCORERS["CLIPScore"].weights: str(tmp_path)}),
        pytest.raises(PlanError, match="--weights openai/clip-vit-large-patch14-336=PATH"),
    ):
        image_scorer("CLIPScore")


def test_bad_pairs(clip_folder: Path, red: str, tmp_path: Path) -> None:
    with weights_from({SCORERS["CLIPScore"].weights: str(clip_folder)}):
        scorer: Any = image_scorer("CLIPScore")
    with pytest.raises(DataError, match=r"images \(1\) and texts \(2\) differ"):
        scorer([red], ["a", "b"])
    with pytest.raises(DataError, match=r"Opening the image .*none\.png"):
        scorer([str(tmp_path / "none.png")], ["a"])


def test_clip_score_reads_what_the_run_names(clip_folder: Path, red: str) -> None:
    """Also for an id that a task names itself, and never what another run named."""
    published = SCORERS["CLIPScore"].weights
    expected = clip_score(red, "a red square", str(clip_folder))
    with weights_from({published: str(clip_folder), "my/clip": str(clip_folder)}):
        assert clip_score(red, "a red square") == clip_score(red, "a red square", "my/clip") == expected
        CLIP_SCORE.check("my/clip")  # type: ignore[misc]
    with weights_from({published: str(clip_folder / "none")}), pytest.raises(PlanError, match="none"):
        clip_score(red, "a red square")


def test_of_several_threads_one_reads_a_network() -> None:
    read: list[str] = []

    @kept
    def reader(place: str) -> list[str]:
        read.append(place)
        time.sleep(0.01)
        return [place]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(reader, ["a"] * 8))
    assert read == ["a"]
    assert all(item is found[0] for item in found)
