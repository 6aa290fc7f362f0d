"""Detection models of real architectures with random weights, a few thousand numbers each."""

from __future__ import annotations

from pathlib import Path


def tiny_yolos(folder: Path, *names: str) -> str:
    """A model with classes of its own, in a folder."""
    import torch
    import transformers

    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=[32, 32],
        patch_size=8,
        num_detection_tokens=20,
        id2label=dict(enumerate(names)),
        label2id={name: place for place, name in enumerate(names)},
    )
    torch.manual_seed(0)
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    transformers.YolosImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return str(folder)


def tiny_grounding_dino(folder: Path, *words: str) -> str:
    """A model that is told what to look for in one text of these words, in a folder."""
    import torch
    import transformers

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64)
    backbone = transformers.SwinConfig(
        image_size=160,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        out_indices=[2, 3, 4],
    )
    text = {
        "model_type": "bert",
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 64,
    }
    sizes = {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")}
    config = transformers.GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=32,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=12,
        max_text_len=32,
        **sizes,
    )
    torch.manual_seed(0)
    transformers.GroundingDinoForObjectDetection(config).save_pretrained(folder)
    pictures = transformers.GroundingDinoImageProcessorPil(size={"height": 160, "width": 160})
    transformers.GroundingDinoProcessor(pictures, tokenizer).save_pretrained(folder)
    return str(folder)
