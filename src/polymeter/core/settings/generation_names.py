"""Names of generation settings: those that mean the same for every model, and those that exist somewhere in the field.

A model declares which further names it knows (``known_settings``), so that a misspelt one is found before anything is
asked.
"""

from __future__ import annotations

SHARED = frozenset(
    {
        "do_sample", "extra_body", "height", "max_agentic_steps", "max_gen_toks", "max_new_tokens", "max_tokens", "n",
        "num_generations", "num_images_per_prompt", "num_return_sequences", "seed", "size", "stop", "stop_sequences",
        "temperature", "top_p", "until", "visual_cot", "width",
    }
)  # fmt: skip
"""The settings that Polymeter reads itself, for every model."""

OF_TRANSFORMERS = frozenset(
    {
        "assistant_confidence_threshold", "assistant_early_exit", "assistant_lookbehind", "bad_words_ids",
        "begin_suppress_tokens", "bos_token_id", "cache_config", "cache_implementation", "constraints",
        "decoder_start_token_id", "diversity_penalty", "dola_layers", "early_stopping",
        "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "eos_token_id", "epsilon_cutoff", "eta_cutoff",
        "exponential_decay_length_penalty", "force_words_ids", "forced_bos_token_id", "forced_eos_token_id",
        "guidance_scale", "length_penalty", "low_memory", "max_length", "max_time", "min_length", "min_new_tokens",
        "min_p", "no_repeat_ngram_size", "num_assistant_tokens", "num_beam_groups", "num_beams",
        "output_attentions", "output_hidden_states", "output_logits", "output_scores", "pad_token_id",
        "penalty_alpha", "prompt_lookup_num_tokens", "remove_invalid_values", "renormalize_logits",
        "repetition_penalty", "return_dict_in_generate", "sequence_bias", "stop_strings", "suppress_tokens",
        "token_healing", "top_h", "top_k", "typical_p", "use_cache", "watermarking_config",
    }
)  # fmt: skip
"""Transformers' names, for models that take settings of local models or say why they do not."""

OF_ENDPOINTS = frozenset(
    {
        "add_generation_prompt", "allowed_token_ids", "best_of", "chat_template", "chat_template_kwargs", "echo",
        "ebnf", "enable_thinking", "frequency_penalty", "function_call", "functions", "grammar", "guided_choice",
        "guided_decoding_backend", "guided_grammar", "guided_json", "guided_regex", "ignore_eos",
        "include_stop_str_in_output", "json_schema", "length_penalty", "logit_bias", "logprobs",
        "max_completion_tokens", "metadata", "min_p", "min_tokens", "mirostat", "mirostat_eta", "mirostat_tau",
        "mm_processor_kwargs", "modalities", "options", "parallel_tool_calls", "prediction", "presence_penalty",
        "priority", "provider", "reasoning", "reasoning_effort", "regex", "repetition_penalty", "response_format",
        "return_tokens_as_token_ids", "safety_identifier", "service_tier", "skip_special_tokens",
        "spaces_between_special_tokens", "stop_token_ids", "store", "stream", "stream_options",
        "structured_outputs", "suffix", "thinking", "thinking_budget", "tool_choice", "tools", "top_a", "top_k",
        "top_logprobs", "truncate_prompt_tokens", "typical_p", "use_beam_search", "user", "verbosity",
        "web_search_options",
    }
)  # fmt: skip
"""Names in bodies of OpenAI-compatible requests: OpenAI's, and those of the servers that people run themselves."""

OF_IMAGES = frozenset(
    {
        "add_watermark", "aspect_ratio", "background", "clip_skip", "enhance_prompt", "eta", "guidance_scale",
        "image_guidance_scale", "image_size", "input_fidelity", "moderation", "negative_prompt",
        "num_inference_steps", "output_compression", "output_format", "quality", "response_format", "steps",
        "strength", "style", "true_cfg_scale",
    }
)  # fmt: skip
"""Names of settings of models that make images."""

EVERY_NAME = SHARED | OF_TRANSFORMERS | OF_ENDPOINTS | OF_IMAGES
"""Every name that is known to exist, even if no model honours it."""
