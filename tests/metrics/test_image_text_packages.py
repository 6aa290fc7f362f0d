"""Scorers whose networks come from packages of their authors: how the packages are called, with small stand-ins."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context_with, weights_from
from polymeter.core.names.parity import parity_with
from polymeter.metrics.image_text import AT_PARITY, SCORERS, image_scorer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

_MODULES = {"VQAScore": "t2v_metrics", "ImageRewardScore": "ImageReward", "FGA_BLIP2Score": "lavis"}


@pytest.fixture
def red(tmp_path: Path) -> str:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "red.png")
    return str(tmp_path / "red.png")


def install(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


class _Clip(torch.nn.Module):
    """Embeds an image by its mean colour and a text by how many words of each colour it has."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def encode_image(self, images: Any) -> Any:
        return images.mean(dim=(2, 3)) * self.scale

    def encode_text(self, tokens: Any) -> Any:
        return tokens.float()


def _open_clip(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    made: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def create(*given: Any, **named: Any) -> Any:
        made.append((given, named))
        pixels = lambda image: torch.tensor(list(image.resize((1, 1)).getpixel((0, 0)))).float()[:, None, None]  # noqa: E731
        return _Clip(), None, pixels

    colours = ("red", "green", "blue")
    count = lambda texts: torch.tensor([[text.split().count(colour) for colour in colours] for text in texts])  # noqa: E731
    install(monkeypatch, "open_clip", create_model_and_transforms=create, get_tokenizer=lambda name: count)
    return made


@pytest.mark.parametrize("name", ["HPSv2Score", "HPSv2.1Score"])
def test_hps_is_a_clip_with_weights_of_its_own(
    name: str, red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _open_clip(monkeypatch)
    source = SCORERS[name]
    network = _Clip()
    torch.nn.init.constant_(network.scale, 2.0)
    torch.save({"state_dict": network.state_dict()}, tmp_path / source.processor)
    with weights_from({source.weights: str(tmp_path)}):
        scorer = image_scorer(name)
    (row,) = scorer(images=[red], texts=["red"])
    assert row[0].cpu().item() == pytest.approx(1.0)
    assert scorer(red, "red blue")[0][0].item() == pytest.approx(0.5**0.5)
    assert made == [(("ViT-H-14",), {"image_resize_mode": "longest"})]


def test_clip_score_at_parity_is_open_clips(red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _open_clip(monkeypatch)
    source = AT_PARITY["CLIPScore"]
    (tmp_path / source.processor).touch()
    with weights_from({source.weights: str(tmp_path)}), guest_context_with(parity=parity_with("evalscope")):
        scorer = image_scorer("CLIPScore")
    assert scorer(red, "red")[0][0].item() == pytest.approx(1.0)
    assert made == [(("ViT-L-14-336",), {"pretrained": str(tmp_path / source.processor)})]


def test_a_file_may_stand_for_its_folder(red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _open_clip(monkeypatch)
    torch.save({"state_dict": _Clip().state_dict()}, tmp_path / "mine.pt")
    with weights_from({SCORERS["HPSv2Score"].weights: str(tmp_path / "mine.pt")}):
        assert image_scorer("HPSv2Score")(red, "red")[0].shape == (1,)


def test_vqa_score_asks_the_package_by_path(red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def make(**named: Any) -> Any:
        made.append(named)

        def score(images: list[str], texts: list[str]) -> Any:
            assert Image.open(images[0]).size == (4, 4)
            return torch.tensor([[0.1 * len(text) for text in texts]])

        return score

    install(monkeypatch, "t2v_metrics", VQAScore=make)
    with weights_from({SCORERS["VQAScore"].weights: str(tmp_path)}):
        scorer = image_scorer("VQAScore")
    assert scorer(images=[red], texts=["four"])[0][0].cpu().item() == pytest.approx(0.4)
    assert (made[0]["model"], made[0]["cache_dir"]) == ("clip-flant5-xxl", str(tmp_path))


def test_image_reward_is_loaded_from_its_files(red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []

    def load(name: str, device: str, med_config: str) -> Any:
        loaded.append((name, med_config))
        return SimpleNamespace(score=lambda text, image: -0.5 if image.size == (4, 4) and text == "red" else 0.0)

    install(monkeypatch, "ImageReward", load=load)
    for name in ("ImageReward.pt", "med_config.json"):
        (tmp_path / name).touch()
    with weights_from({SCORERS["ImageRewardScore"].weights: str(tmp_path)}):
        scorer = image_scorer("ImageRewardScore")
    assert scorer(images=[red], texts=["red"])[0][0].cpu().item() == -0.5
    assert loaded == [(str(tmp_path / "ImageReward.pt"), str(tmp_path / "med_config.json"))]


def test_fga_blip2_scores_a_text_and_its_elements(red: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "hot", "dog", "red"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    (tmp_path / "fga_blip2.pth").touch()
    loaded: list[str] = []

    class Network:
        def load_checkpoint(self, path: str) -> None:
            loaded.append(path)

        def eval(self) -> None:
            """Nothing to do."""

        def element_score(self, images: Any, texts: list[str]) -> Any:
            assert images.shape == (1, 3)
            return torch.tensor(3.5), torch.arange(6.0)[None]  # [CLS] a red hot dog [SEP]

    def make(name: str, variant: str, is_eval: bool, device: str) -> Any:
        assert (name, variant, is_eval) == ("fga_blip2", "coco", True)
        return Network(), {"eval": lambda image: torch.zeros(3)}, {"eval": str.lower}

    install(monkeypatch, "lavis")
    install(monkeypatch, "lavis.models", load_model_and_preprocess=make)
    places = {SCORERS["FGA_BLIP2Score"].weights: str(tmp_path), "google-bert/bert-base-uncased": str(tmp_path)}
    with weights_from(places):
        scorer = image_scorer("FGA_BLIP2Score")
        asked = {"prompt": "A red hot dog", "tags": ["hot dog (food)", "red (color)", "cat (animal)"]}
        (of_elements,) = scorer(images=[red], texts=[asked])
        (of_text,) = scorer(images=[red], texts=["A red hot dog"])
    assert {name: float(value) for name, value in of_elements[0].items()} == {
        "overall_score": 3.5,
        "hot dog (food)": 3.5,
        "red (color)": 2.0,
        "cat (animal)": 0.0,
    }
    assert float(of_text[0]) == 3.5
    assert loaded == [str(tmp_path / "fga_blip2.pth")]


@pytest.mark.parametrize(
    ("name", "module", "command"),
    [
        ("VQAScore", "t2v_metrics", "pip install t2v-metrics"),
        ("HPSv2Score", "open_clip", "pip install open_clip_torch"),
        ("HPSv2.1Score", "open_clip", "pip install open_clip_torch"),
        ("ImageRewardScore", "ImageReward", "pip install image-reward"),
        ("FGA_BLIP2Score", "lavis", r"pip install git\+https://github.com/DYEvaLab/EvalMuse"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    name: str, module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlanError, match=rf"needs the package '{module}.*{command}"):
        image_scorer(name)


def test_a_folder_without_the_checkpoint_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _open_clip(monkeypatch)
    with (
        weights_from({SCORERS["HPSv2Score"].weights: str(tmp_path)}),
        pytest.raises(DataError, match=r"contains no HPS_v2_compressed\.pt"),
    ):
        image_scorer("HPSv2Score")
