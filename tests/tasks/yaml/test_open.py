"""Layer three: forms, prompts and asks."""

import io
import pickle
import wave

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.content import Image, Text, Video
from polymeter.core.errors import DataError, PlanError
from polymeter.core.identity import seed_for
from polymeter.core.model import ModelTraits
from polymeter.data.audio import samples
from polymeter.tasks.yaml.prompts.templates import compile_template
from polymeter.tasks.yaml.settings import prompt_kwargs
from tests.tasks.yaml.kit import ROWS, ask, open_in, opened, spec, task_text, text_of, write, write_rows


def code(folder, text):
    write(folder, {"utils.py": text})


def images(folder, n=3):
    """A parquet file with an image column, made by ``datasets``."""
    import datasets

    rows = {"q": [f"q{i}" for i in range(n)], "a": [str(i) for i in range(n)], "image": []}
    for i in range(n):
        rows["image"].append(pil.fromarray(np.full((8, 6, 3), 40 * i, np.uint8)))
    table = datasets.Dataset.from_dict(
        rows,
        features=datasets.Features(
            {"q": datasets.Value("string"), "a": datasets.Value("string"), "image": datasets.Image()}
        ),
    )
    folder.mkdir(parents=True, exist_ok=True)
    table.to_parquet(str(folder / "rows.parquet"))
    return folder


def image_task(folder, extra):
    images(folder)
    (folder / "t.yaml").write_text(task_text(extra).replace("json", "parquet").replace("rows.parquetl", "rows.parquet"))
    from tests.tasks.yaml.kit import open_in

    return open_in(folder)


# --- doc_to_text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "expected"), [("q", "q1"), ('"<{{q}}|{{ k + 1 }}>"', "<q1|2>"), ('"plain words"', "plain words")]
)
def test_text_is_a_column_a_template_or_itself(tmp_path, form, expected):
    assert text_of(ask(opened(tmp_path, text=form), 1)) == expected


def test_text_function_gets_the_row_alone_without_specific_kwargs(tmp_path):
    code(tmp_path, "def f(*args):\n    return f'{len(args)} {args[0][\"q\"]}'\n")
    assert text_of(ask(opened(tmp_path, text="!function utils.f"))) == "1 q0"


def test_text_function_gets_kwargs_when_there_are_any_even_empty(tmp_path):
    code(tmp_path, "def f(*args):\n    return f'{len(args)} {args[1]}'\n")
    task = opened(tmp_path, "lmms_eval_specific_kwargs: {}\n", text="!function utils.f")
    assert text_of(ask(task)) == "2 {}"


def test_digits_with_choices_become_an_index(tmp_path):
    task = opened(tmp_path, "doc_to_choice: [zero, one, two, three]\n", text='"{{k}}"')
    assert text_of(ask(task, 2)) == "two"


def test_a_template_with_an_unknown_column_fails_before_any_sample(tmp_path):
    with pytest.raises(DataError, match=r"'questoin'.*t\.yaml:6.*columns: q, a, k"):
        opened(tmp_path, text='"{{questoin}}"')


def test_a_template_may_ask_whether_a_column_is_there(tmp_path):
    task = opened(tmp_path, text="\"{% if hint is defined %}{{hint}}{% endif %}{{q}}{{ x | default('-') }}\"")
    assert text_of(ask(task)) == "q0-"


def test_regex_replace_is_a_filter(tmp_path):
    assert text_of(ask(opened(tmp_path, text="\"{{ q | regex_replace('q', 'Q') }}\""))) == "Q0"


@pytest.mark.parametrize("text", ["{{a}}", "x {{a}} 100%\n", "{{a}}{{b}}", "", "{{a}}\n\n", "{# c #}{{b}}!"])
def test_the_short_cut_renders_like_jinja(text):
    import jinja2

    row = {"a": None, "b": 1.5}
    assert compile_template(text, row, field="f", where="w")(row) == jinja2.Template(text).render(row)


def test_description_stands_before_the_prompt(tmp_path):
    assert text_of(ask(opened(tmp_path, 'description: "About {{a}}: "\n'))) == "About a0: q0"


def test_the_system_prompt_is_a_message(tmp_path):
    request = ask(opened(tmp_path, system_prompt="Be brief."))
    assert [(m.role, m.text) for m in request.messages] == [("system", "Be brief."), ("user", "q0")]


def test_examples_come_from_another_split_and_never_from_the_measured_one(tmp_path):
    with pytest.raises(PlanError, match="no split to draw 2 examples"):
        opened(tmp_path, "num_fewshot: 2\n")
    task = opened(tmp_path, "num_fewshot: 2\nfewshot_split: train\nfewshot_config: {sampler: first_n}\n")
    assert text_of(ask(task, 0)) == "q1 a1\n\nq2 a2\n\nq0"
    assert task.num_fewshot == 2


# --- model-specific blocks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (None, None),
        ({"m": {"a": 1}, "default": {"a": 2}}, {"a": 1}),
        ({"default": {"a": 2}, "x": 1}, {"default": {"a": 2}, "x": 1, "a": 2}),
        ({"dataset": {"a": 3}}, {"dataset": {"a": 3}, "a": 3}),
        ({"dir": "/x"}, {"dir": "/x"}),
    ],
)
def test_specific_kwargs_resolve_by_model_then_default_then_as_they_are(block, expected):
    assert prompt_kwargs(block, "m") == expected


def test_blocks_are_looked_up_by_family_and_prompt_key_wins(tmp_path):
    code(tmp_path, "def f(doc, kw):\n    return kw['post']\n")
    extra = "lmms_eval_specific_kwargs: {default: {post: d}, qwen_vl: {post: w}, gpt: {post: g}}\n"
    assert text_of(ask(opened(tmp_path, extra, text="!function utils.f"))) == "d"
    assert text_of(ask(opened(tmp_path, extra, text="!function utils.f", traits=ModelTraits("qwen_vl")))) == "w"
    assert text_of(ask(opened(tmp_path, extra, text="!function utils.f", prompt_key="gpt"))) == "g"


# --- doc_to_visual and doc_to_messages -------------------------------------------------------------------------------


def test_a_visual_column_is_lazy_and_gives_the_original_bytes(tmp_path):
    task = image_task(tmp_path, "doc_to_visual: image\n")
    image, text = ask(task, 1).messages[0].parts
    assert isinstance(image, Image)
    assert callable(image.source)
    assert image.key == f"{task.fingerprint.partition(':')[0]}:1:image"
    assert image.encoded()[1] == "image/png"
    assert image.open().getpixel((0, 0)) == (40, 40, 40)
    assert text == Text("q1")
    assert task.needs.modalities == {"text", "image"}
    assert "image" not in task.samples[0].doc


def test_a_visual_function_gets_the_row_with_media(tmp_path):
    code(tmp_path, "def f(doc):\n    return [doc['image'], doc['image'].convert('L')]\n")
    task = image_task(tmp_path, "doc_to_visual: !function utils.f\n")
    first, second, _ = ask(task, 2).messages[0].parts
    assert first.open().mode == "RGB"
    assert second.open().mode == "L"
    assert first.key.endswith(":2:v0")
    assert second.key.endswith(":2:v1")


def test_an_image_changed_in_place_is_not_sent_by_its_old_bytes(tmp_path):
    code(tmp_path, "def f(doc):\n    image = doc['image']\n    image.thumbnail((2, 2))\n    return [image]\n")
    task = image_task(tmp_path, "doc_to_visual: !function utils.f\n")
    data, _ = ask(task).messages[0].parts[0].encoded()
    assert max(pil.open(io.BytesIO(data)).size) == 2


@pytest.mark.parametrize(
    ("signature", "expected"), [("doc", 1), ("doc, kw", 2), ("doc, kw=None", 2), ("doc, a=1, b=2", 1)]
)
def test_visual_functions_get_kwargs_only_with_exactly_two_parameters(tmp_path, signature, expected):
    code(tmp_path, f"def f({signature}):\n    return ['x.mp4'] * ({'2 if kw else 1' if 'kw' in signature else '1'})\n")
    task = opened(tmp_path, "doc_to_visual: !function utils.f\nlmms_eval_specific_kwargs: {default: {x: 1}}\n")
    assert len(ask(task).messages[0].parts) == expected + 1


def test_visuals_are_typed_by_what_they_are(tmp_path):
    code(
        tmp_path,
        "def f(doc):\n    return ['a.jpg', 'b.wav', 'c.mkv', {'type': 'image', 'url': 'd.png'},"
        " {'video_start': 1, 'video_end': 2, 'url': 'e.mp4'}, None]\n",
    )
    task = opened(tmp_path, "doc_to_visual: !function utils.f\n")
    parts = ask(task).messages[0].parts
    assert [part.modality for part in parts] == ["image", "audio", "video", "image", "video", "text"]
    assert isinstance(parts[4], Video)
    assert (parts[4].source, parts[4].start_s, parts[4].end_s) == ("e.mp4", 1.0, 2.0)


def test_a_visual_may_name_its_file_by_what_it_is(tmp_path):
    code(
        tmp_path,
        "def f(doc):\n    return [{'video_path': 'a.mp4', 'timestep': 3}, {'type': 'image', 'image_path': 'b.png'},"
        " {'type': 'audio', 'audio_path': 'c.wav'}]\n",
    )
    parts = ask(opened(tmp_path, "doc_to_visual: !function utils.f\n")).messages[0].parts
    assert [(part.modality, part.source) for part in parts[:3]] == [
        ("video", "a.mp4"),
        ("image", "b.png"),
        ("audio", "c.wav"),
    ]


@pytest.mark.parametrize("hook", ["sound", "!function utils.f"])
@pytest.mark.parametrize("is_decoded", [False, True])
def test_a_recording_stays_the_cell_that_the_dataset_leaves_undecoded(tmp_path, hook, is_decoded):
    import datasets

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0" * 80)
    cell = {"bytes": buffer.getvalue(), "path": "a.wav"}
    stored = {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}
    features = datasets.Features({"q": datasets.Value("string"), "sound": stored})
    table = datasets.Dataset.from_dict({"q": ["q"], "sound": [cell]}, features=features)
    table = table.cast_column("sound", datasets.Audio(decode=is_decoded))
    table.to_parquet(str(tmp_path / "rows.parquet"))
    code(tmp_path, "def f(doc):\n    return [doc['sound']]\n")
    text = task_text(f"doc_to_visual: {hook}\n", target="q").replace("json", "parquet", 1)
    write(tmp_path, {"t.yaml": text.replace("rows.jsonl", "rows.parquet")})
    part = ask(open_in(tmp_path)).messages[0].parts[0]
    assert part.modality == "audio"
    if is_decoded:
        assert samples(part)[1] == 8000
        assert part.source != cell
    else:
        assert part.source == cell
        assert part.origin() == cell["bytes"]


def test_an_unknown_visual_column_lists_the_columns(tmp_path):
    with pytest.raises(DataError, match=r"'picture'.*columns: q, a, k"):
        opened(tmp_path, "doc_to_visual: picture\n")


MESSAGES = """
def f(doc, lmms_eval_specific_kwargs=None):
    kw = lmms_eval_specific_kwargs or {}
    return [
        {"role": "system", "content": [{"type": "text", "text": kw.get("s", "none")}]},
        {"role": "user", "content": [{"type": "text", "text": doc["q"]},
                                     {"type": "video", "url": "v.mp4", "start_time": 1, "end_time": 3}]},
    ]
"""


def test_chat_models_get_the_messages_and_simple_ones_text_and_visuals(tmp_path):
    code(tmp_path, MESSAGES)
    extra = "doc_to_messages: !function utils.f\nlmms_eval_specific_kwargs: {default: {s: sys}}\n"
    messages = ask(opened(tmp_path, extra)).messages
    assert [m.role for m in messages] == ["system", "user"]
    assert messages[0].text == "sys"
    assert messages[1].parts[1].end_s == 3.0
    assert all(message.is_listed for message in messages)
    simple = ask(opened(tmp_path, extra, traits=ModelTraits("m", kind="simple"))).messages
    assert [(m.role, m.text) for m in simple] == [("user", "q0")]


# --- generation ------------------------------------------------------------------------------------------------------


def test_the_injected_stop_reaches_only_raw_arguments_and_completion_models(tmp_path):
    request = ask(opened(tmp_path))
    assert request.parameters.stop == ()
    assert request.origin.generation_kwargs == {"do_sample": False, "until": ["\n\n"]}
    assert ask(opened(tmp_path, traits=ModelTraits("m", is_completion=True))).parameters.stop == ("\n\n",)


def test_generation_settings_are_typed_merged_and_overridden_by_the_plan(tmp_path):
    extra = """
    generation_kwargs: {max_gen_toks: 16, temperature: "0", until: "\\n", num_beams: 1}
    model_specific_generation_kwargs: {m: {max_gen_toks: 32}, default: {max_gen_toks: 64}}
    """
    task = opened(tmp_path, extra, traits=ModelTraits("m"), generation={"top_p": 0.5})
    ask_ = ask(task).parameters
    assert (ask_.max_new_tokens, ask_.temperature, ask_.top_p, ask_.stop) == (32, 0.0, 0.5, ("\n",))
    assert ask_.extra == {"num_beams": 1}
    assert isinstance(ask_.temperature, float)


def test_a_temperature_of_the_plan_wins_over_a_tasks_greedy_decoding(tmp_path):
    extra = "generation_kwargs: {do_sample: false}\n"
    assert ask(opened(tmp_path, extra)).parameters.temperature == 0.0
    sampled = ask(opened(tmp_path, extra, generation={"temperature": 0.7})).parameters
    assert (sampled.temperature, sampled.extra) == (0.7, {})
    told = ask(opened(tmp_path, extra, generation={"temperature": 0.7, "do_sample": False})).parameters
    assert told.extra == {"do_sample": False}


def test_repeats_are_a_tuple_with_a_seed_each(tmp_path):
    requests = ask(opened(tmp_path, "repeats: 3\n", seed=5), 2)
    assert [(r.parameters.seed, r.parameters.repeat) for r in requests] == [
        (seed_for(5, "t", "2", j), j) for j in range(3)
    ]


def test_origin_and_hooks_carry_what_foreign_models_need(tmp_path):
    task = opened(
        tmp_path, "metadata: [{version: 1.0, sample_frames: 8}]\ndoc_to_visual: 'https://example.org/{{q}}.mp4'\n"
    )
    origin = ask(task, 1).origin
    assert (origin.task, origin.sample, origin.split, origin.index) == ("t", "1", "train", 1)
    assert origin.metadata["sample_frames"] == 8
    assert origin.metadata["doc_id"] == 1
    assert task.row_functions.full_doc(1)["q"] == "q1"
    assert task.row_functions.target(1) == "a1"
    assert task.row_functions.choices is None


# --- process_docs, identity, bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "return data.filter(lambda row: row['k'] > 1)",
        "return [row for row in data if row['k'] > 1]",
        "yield from (row for row in data if row['k'] > 1)",
        "return data.select([2, 3])",
    ],
)
def test_process_docs_may_give_a_dataset_a_list_or_a_generator(tmp_path, body):
    code(tmp_path, f"def f(data):\n    {body}\n")
    task = opened(tmp_path, "process_docs: !function utils.f\n")
    assert len(task.samples) == 2
    assert [sample.doc["q"] for sample in task.samples[:]] == ["q2", "q3"]
    assert text_of(ask(task, 1)) == "q3"


def test_process_docs_that_keeps_nothing_is_an_error(tmp_path):
    code(tmp_path, "def f(data):\n    return data.select([])\n")
    with pytest.raises(DataError, match="no rows in split 'train' of task 't'"):
        opened(tmp_path, "process_docs: !function utils.f\n")


def test_samples_have_stable_ids_and_clusters(tmp_path):
    task = opened(tmp_path, "cluster_key: k\n")
    assert [(s.id, s.index, s.cluster) for s in task.samples[1:3]] == [("1", 1, "1"), ("2", 2, "2")]
    assert task.samples[-1].id == "3"
    with pytest.raises(IndexError):
        task.samples[4]


def test_guests_are_told_from_tasks_without_code(tmp_path):
    assert not opened(tmp_path / "a").is_guest
    code(tmp_path / "b", "def f(doc):\n    return 'x'\n")
    task = opened(tmp_path / "b", "metadata: {thread_safe: true, num_fewshot: 7}\n", text="!function utils.f")
    assert task.is_guest
    assert task.is_thread_safe
    assert task.num_fewshot == 7


def test_data_fingerprint_depends_on_content_not_place(tmp_path):
    one, two = opened(tmp_path / "one"), opened(tmp_path / "two")
    other = opened(tmp_path / "three", rows=[*ROWS[:3], {**ROWS[3], "q": "changed"}])
    assert one.fingerprint == two.fingerprint != other.fingerprint


def test_specs_cross_processes(tmp_path):
    write_rows(tmp_path)
    code(tmp_path, "def f(doc):\n    return 'x'\n")
    (tmp_path / "t.yaml").write_text(task_text(text="!function utils.f"))
    made = spec(tmp_path)
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_hook_that_always_fails_is_found_before_anything_is_spent(tmp_path):
    code(tmp_path, "def f(doc):\n    return doc['nope']\n")
    with pytest.raises(PlanError, match=r"doc_to_text of task 't' raised KeyError.*utils\.py:2"):
        opened(tmp_path, text="!function utils.f")


def test_one_odd_first_row_stops_nothing(tmp_path):
    code(tmp_path, "def f(doc):\n    return 'x' if doc['k'] else 1 / 0\n")
    assert text_of(ask(opened(tmp_path, text="!function utils.f"), 1)) == "x"


def test_a_literal_target_list_and_raw_column_types(tmp_path):
    rows = [{"q": "x", "a": ["one", "two"], "n": 3}]
    assert opened(tmp_path, rows=rows).row_functions.target(0) == ["one", "two"]
    task = opened(tmp_path, rows=rows, target="\"['{{q}}', 'y']\"")
    assert task.row_functions.target(0) == ["x", "y"]
    assert opened(tmp_path, rows=rows, target="n").row_functions.target(0) == 3


def test_target_function_gets_the_models_target_kwargs(tmp_path):
    code(tmp_path, "def f(doc, kw=None):\n    return str(kw)\n")
    task = opened(
        tmp_path,
        "model_specific_target_kwargs: {m: mcq, default: qa}\n",
        target="!function utils.f",
        traits=ModelTraits("m"),
    )
    assert task.row_functions.target(0) == "mcq"
