"""In which mode a benchmark is asked, and with which settings."""

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.interop.evalscope.tasks.settings import choose_mode, image_settings, text_settings

CHOICES = ("multiple_choice_logits", "loglikelihood", "checkpoint")
BOTH = ["multiple_choice_logits", "generation"]


def traits(**requests):
    return ModelTraits(family="x", requests=requests)


@pytest.mark.parametrize(
    ("wanted", "allowed", "requests", "eval_type", "expected"),
    [
        ("generation", BOTH, {}, None, ("generation", "generate", "checkpoint")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": True}, None, CHOICES),
        ("multiple_choice_logits", BOTH, {}, None, ("generation", "generate", "service")),
        ("continuous_logits", ["continuous_logits"], {}, None, ("continuous_logits", "loglikelihood", "checkpoint")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": False}, None, ("generation", "generate", "service")),
        ("multiple_choice_logits", BOTH, {"loglikelihood": True}, "service", ("generation", "generate", "service")),
        ("multiple_choice_logits", BOTH, {}, "custom", ("generation", "generate", "custom")),
        ("continuous_logits", BOTH, {"loglikelihood": True}, None, CHOICES),
        ("server", ["generation"], {}, None, ("generation", "generate", "checkpoint")),
        ("image_generation", ["image_generation"], {}, None, ("image_generation", "generate_image", "checkpoint")),
    ],
)
def test_the_mode_that_is_really_used(wanted, allowed, requests, eval_type, expected) -> None:
    mode = choose_mode("b", wanted, allowed, traits(**requests), eval_type)
    assert (mode.output_type, mode.request_kind, mode.eval_type) == expected


def test_log_probabilities_are_tried_where_the_run_wants_them() -> None:
    mode = choose_mode("b", "multiple_choice_logits", BOTH, traits(), None, is_wanted_by_run=True)
    assert mode.request_kind == "loglikelihood"
    assert "not known whether" in choose_mode("b", "multiple_choice_logits", BOTH, traits(), None).note


def test_a_mode_that_is_not_allowed_is_noted() -> None:
    has_logprobs = traits(loglikelihood=True)
    assert "not made for 'continuous_logits'" in choose_mode("b", "continuous_logits", BOTH, has_logprobs, None).note


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(PlanError, match=r"asked by 'generatoin'.*Did you mean 'generation'"):
        choose_mode("b", "generatoin", ["generatoin"], traits(), None)


def test_settings_under_any_of_their_names() -> None:
    made, n = text_settings({"max_tokens": 9, "n": 2, "stop": "X", "top_k": 5, "seed": 1}, "service")
    assert (made.max_new_tokens, n, made.stop, made.temperature) == (9, 2, ("X",), None)
    assert made.extra == {"top_k": 5, "do_sample": True}
    assert text_settings({"max_tokens": 9, "max_new_tokens": 8}, "service")[0].max_new_tokens == 8
    assert text_settings({}, "custom")[0].max_new_tokens is None
    assert image_settings({"width": 512, "num_images_per_prompt": 2})[0].size == (512, 512)
    with pytest.raises(PlanError, match="'temperature' must be a number, not 'hot'"):
        text_settings({"temperature": "hot"}, "service")


def test_endpoints_have_the_defaults_of_a_service():
    endpoint = ModelTraits("m", requests={"generate": True}, is_endpoint=True)
    assert choose_mode("b", "generation", ["generation"], endpoint, None).eval_type == "service"
    assert choose_mode("b", "generation", ["generation"], traits(generate=True), None).eval_type == "checkpoint"
