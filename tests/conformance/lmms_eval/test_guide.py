"""Every listing of the task guide, byte for byte, run end to end. What hooks the guide only names are ours."""

import hashlib
import shutil
import textwrap
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.request import Generate, Loglikelihood
from tests.conformance.kit import evaluate, gold, guests_of, likelihoods, model, parquet, picture
from tests.tasks.yaml.kit import open_in, write_rows

GUESTS = guests_of("lmms_eval")

LISTINGS = {
    "guide_mme/annotated/mme.yaml": "4392700fcbd728c2",
    "guide_include/block": "eeea671b358f0d6e",
    "guide_metrics/metric_list_block": "8ea7a5b82da71ff8",
    "guide_registration/metric_listing.txt": "ab662fb2a464ae98",
    "guide_registration/result_dict_listing.txt": "6e019b280f49e5fc",
    "guide_mme/short/mme.yaml": "3277481173b9508f",
    "guide_seedbench/seedbench_ppl.yaml": "fcf00649c26172ca",
    "guide_mmsearch/mmsearch_end2end.yaml": "30df062d2e0124ce",
    "guide_registration/aggregation_listing.txt": "d111da818a647827",
}
"""The listings as the guide prints them, by the beginning of their SHA-256: they are run as they are, or not at all."""


@pytest.mark.parametrize("name", LISTINGS)
def test_a_stored_listing_is_the_guides_byte_for_byte(name: str) -> None:
    assert hashlib.sha256((GUESTS / name).read_bytes()).hexdigest().startswith(LISTINGS[name])


# --- MME -------------------------------------------------------------------------------------------------------------

MME = [
    {"question_id": "1", "image": 10, "question": "Is it dark? ", "answer": "Yes", "category": "color"},
    {"question_id": "1", "image": 10, "question": "Is it light?", "answer": "No", "category": "color"},
    {"question_id": "2", "image": 200, "question": "Is it dark?", "answer": "No", "category": "color"},
    {"question_id": "2", "image": 200, "question": "Is it light?", "answer": "Yes", "category": "color"},
    {"question_id": "9", "image": 90, "question": "Is 2+2 5?", "answer": "No", "category": "numerical_calculation"},
    {"question_id": "9", "image": 90, "question": "Is 2+2 4?", "answer": "Yes", "category": "numerical_calculation"},
]


def mme_data(tmp_path):
    rows = [{**row, "image": picture(row["image"])} for row in MME]
    return {"lmms-lab/MME": str(parquet(tmp_path / "mme", "test", rows))}


@pytest.mark.parametrize("listing", ["annotated", "short"])
def test_mme_gold_scores_full_marks(tmp_path, listing):
    run = gold(tmp_path, GUESTS / "guide_mme" / listing, "mme", data=mme_data(tmp_path))
    assert run.value("mme", "mme_perception_score") == 200.0
    assert run.value("mme", "mme_cognition_score") == 200.0
    assert run.result("mme", "mme_perception_score").n == 4


def test_mme_a_model_that_always_says_yes(tmp_path):
    run = evaluate(tmp_path, GUESTS / "guide_mme/annotated", "mme", model(lambda r: "Yes."), data=mme_data(tmp_path))
    # Half of the questions are right, but no image has both of its questions right.
    assert run.value("mme", "mme_perception_score") == 50.0


def test_mme_asks_what_the_listing_says(tmp_path):
    folder = GUESTS / "guide_mme/annotated"
    task = open_in(folder, "mme", data=mme_data(tmp_path), cache_dir=tmp_path / "cache")
    request = next(task.rollout(task.samples[0]))
    assert request.text == "Is it dark?\nAnswer the question using a single word or phrase."
    assert [part.modality for part in request.messages[0].parts] == ["image", "text"]
    assert request.parameters == Generate(
        16, 0.0, 1.0, (), request.parameters.seed, 0, {"num_beams": 1, "do_sample": False}
    )
    assert request.origin.generation_kwargs["until"] == ["\n\n"]
    qwen = open_in(folder, "mme", data=mme_data(tmp_path), cache_dir=tmp_path / "cache", traits=ModelTraits("qwen_vl"))
    assert next(qwen.rollout(qwen.samples[0])).text == "Is it dark? Answer:"
    assert task.spec.version == "0.0"


# --- SEED-Bench ------------------------------------------------------------------------------------------------------

SEED = [
    {
        "image": [picture(40 * i)],
        "question": f"What is shown in {i}?",
        "choice_a": "a cat",
        "choice_b": "a dog",
        "choice_c": "a very long animal indeed",
        "choice_d": "rain",
        "answer": "ABCD"[i],
    }
    for i in range(4)
]


def test_seedbench_ppl_gold_and_one_choice(tmp_path):
    data = {"lmms-lab/SEED-Bench": str(parquet(tmp_path / "seed", "test", SEED))}
    run = gold(tmp_path / "gold", GUESTS / "guide_seedbench", "seedbench_ppl", data=data)
    assert run.value("seedbench_ppl", "acc") == 1.0
    seen = []

    def shortest(request):
        seen.append(request)
        return likelihoods(request, lambda text: -float(len(text)))

    run = evaluate(tmp_path / "short", GUESTS / "guide_seedbench", "seedbench_ppl", model(shortest), data=data)
    assert run.value("seedbench_ppl", "acc") == 0.25
    assert len(seen) == 4
    asked = next(r for r in seen if r.text == "What is shown in 0? Answer :")
    assert asked.parameters == Loglikelihood((" a cat", " a dog", " a very long animal indeed", " rain"))
    assert len(list(asked.images())) == 1


# --- MMSearch --------------------------------------------------------------------------------------------------------

SEARCH = [
    {
        "query": f"Who won race {i}?",
        "query_image": picture(50) if i else None,
        "gt_requery": f"race {i} winner",
        "pages": [f"Nothing here {i}.", f"Race {i} was won by Ann {i}."],
        "answer": f"Ann {i}",
    }
    for i in range(3)
]


def search_data(tmp_path):
    return {"CaraJ/MMSearch:end2end": str(parquet(tmp_path / "search", "end2end", SEARCH))}


def searcher(request):
    if "What do you search for?" in request.text:
        return f"race {request.text.split()[4].rstrip('?')} winner"
    if "Which page?" in request.text:
        return "1"
    assert request.text.startswith("Race"), request.text
    return request.text.split("by ")[1].split(".")[0]


def test_mmsearch_plays_its_rounds(tmp_path):
    seen = []

    def answer(request):
        seen.append(request)
        return searcher(request)

    run = evaluate(tmp_path, GUESTS / "guide_mmsearch", "mmsearch_end2end", model(answer), data=search_data(tmp_path))
    assert run.value("mmsearch_end2end", "end2end_f1_score") == 1.0
    assert run.value("mmsearch_end2end", "requery_score") == 1.0
    assert len(seen) == 9
    last = [r for r in seen if r.text.startswith("Race 1")]
    assert last[0].text == "Race 1 was won by Ann 1.\nWho won race 1?"
    assert len(list(last[0].images())) == 1
    assert all(r.parameters.stop == ("ASSISTANT:",) and r.parameters.max_new_tokens == 512 for r in seen)
    assert not Path("/data1").exists()


def test_mmsearch_gold_scores_full_marks_where_the_gold_is_an_answer(tmp_path):
    rows = [{**row, "pages": ["x"], "answer": "0"} for row in SEARCH]
    data = {"CaraJ/MMSearch": str(parquet(tmp_path / "search", "end2end", rows))}
    run = gold(tmp_path, GUESTS / "guide_mmsearch", "mmsearch_end2end", data=data)
    assert run.value("mmsearch_end2end", "end2end_f1_score") == 1.0


def test_mmsearch_by_a_model_that_drives_rounds_itself(tmp_path):
    seen = []

    def drive(request):
        seen.append(request)
        handle = endpoint.rows(request.origin)
        row = handle.full_doc()
        outputs, info, number, text = [], None, 0, request.text
        while True:
            outputs.append(
                searcher(type(request)(request.messages[:0] or request.messages, request.parameters))
                if not number
                else searcher(_asking(request, text))
            )
            number += 1
            _, text, is_last, outputs, info = handle.next_round(
                row, previous_output=outputs, round_idx=number, previous_round_info=info
            )
            if is_last:
                return list(outputs)

    def respond(request):
        from polymeter.core.request import Response

        return Response.of_text(*drive(request))

    traits = {"drives_rounds": True, "kind": "simple"}
    endpoint = model(respond, **traits)
    run = evaluate(tmp_path, GUESTS / "guide_mmsearch", "mmsearch_end2end", endpoint, data=search_data(tmp_path))
    assert run.value("mmsearch_end2end", "end2end_f1_score") == 1.0
    assert run.value("mmsearch_end2end", "requery_score") == 1.0
    assert [r.origin.protocol for r in seen] == ["multi_round"] * 3


def _asking(request, text):
    from polymeter.core.content import Text
    from polymeter.core.request import Message, Request

    return Request((Message("user", (Text(text),)),), request.parameters)


# --- fragments -------------------------------------------------------------------------------------------------------

MINIMAL = """\
include: {include}
task: t
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
doc_to_text: q
doc_to_target: a
"""


def test_arguments_reach_the_metric(tmp_path):
    shutil.copy(GUESTS / "guide_metrics/metric_list_block", tmp_path)
    write_rows(tmp_path, [{"q": "x", "a": "$1,000 Yes."}, {"q": "y", "a": "no"}])
    (tmp_path / "t.yaml").write_text(MINIMAL.format(include="metric_list_block"))
    run = evaluate(tmp_path, tmp_path / "t.yaml", "t", model(lambda r: "1000 YES." if r.text == "x" else "no."))
    assert run.value("t", "acc") == 0.0
    assert run.value("t", "exact_match") == 0.5  # "$" and "," go, case is folded, the full stop stays


@pytest.mark.parametrize("place", ["beside", "full path"])
def test_an_include_names_a_file_beside_or_a_full_path(tmp_path, place):
    block = (GUESTS / "guide_include/block").read_text()
    template = tmp_path / ("template_yaml" if place == "beside" else "elsewhere/template_yaml")
    template.parent.mkdir(exist_ok=True)
    template.write_text(MINIMAL.format(include="").replace("include: \n", ""))
    name = "template_yaml" if place == "beside" else str(template)
    write_rows(tmp_path)
    (tmp_path / "u.yaml").write_text("task: u\n" + block.replace("<YAML filename or with full path>", name))
    run = gold(tmp_path, tmp_path / "u.yaml", "u")
    assert run.value("u", "exact_match") == 1.0


CHOICE = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: multiple_choice
doc_to_text: q
doc_to_target: gold
doc_to_choice: ["no", "yes"]
metric_list:
  - metric: mcc
"""


@pytest.mark.parametrize("how", ["metrics.py", "utils.py", "--import"])
def test_the_registration_listings_work_where_a_user_puts_them(tmp_path, how, monkeypatch):
    for registry in (METRICS, AGGREGATIONS):  # what this test registers for all tasks ends with it
        monkeypatch.setattr(registry, "_users", dict(registry._users))
    listings = [
        textwrap.dedent((GUESTS / "guide_registration" / f"{name}_listing.txt").read_text())
        for name in ("metric", "aggregation")
    ]
    head = "import sklearn\nfrom lmms_eval.api.registry import register_metric, register_aggregation\n\n\n"
    code = head + "\n\n".join(listings).replace(
        "    return sklearn", "    CALLS.append(len(golds))\n    return sklearn"
    )
    code = code.replace("\n\n\n", "\n\nCALLS = []\n\n\n", 1) + "\n\ndef hook(doc):\n    return doc['q']\n"
    folder = tmp_path / "task"
    write_rows(folder, [{"q": f"q{i}", "gold": i % 2} for i in range(6)])
    options = {}
    if how == "--import":
        (tmp_path / "mine.py").write_text(code)
        options["imports"] = [tmp_path / "mine.py"]
    else:
        (folder / how).write_text(code)
    text = CHOICE.replace("doc_to_text: q", "doc_to_text: !function utils.hook") if how == "utils.py" else CHOICE
    (folder / "t.yaml").write_text(text)

    def answer(request):  # right four times of six
        number = int(request.text[1:])
        said = number % 2 if number < 4 else 1 - number % 2
        return likelihoods(request, lambda choice: 0.0 if choice == (" no", " yes")[said] else -5.0)

    run = evaluate(tmp_path, folder, "t", model(answer), **options)
    # tp = tn = 2, fp = fn = 1: (4 - 1) / sqrt(3 · 3 · 3 · 3)
    assert run.value("t", "mcc") == pytest.approx(3 / 9)


def test_the_result_dict_listing_says_what_our_metrics_get(tmp_path):
    """The guide prints the values of a multiple-choice sample; the same stand in ours."""
    from polymeter.core.task import Rollout
    from tests.tasks.yaml.kit import logprobs, opened

    text = textwrap.dedent((GUESTS / "guide_registration/result_dict_listing.txt").read_text())
    extra = "output_type: multiple_choice\ndoc_to_choice: [aa, b, cccc, d]\n"
    extra += "metric_list: [acc, f1, mcc, acc_norm, exact_match]\n"
    task = opened(tmp_path, extra, target="k")
    given = Rollout((logprobs(-4.0, -3.0, -7.0, -9.0, greedy=2),))
    values = task.score(task.samples[2], given).values
    names = {
        "use_metric": [m for m, _ in values],
        "gold": 2,
        "pred": 1,
        "acc": 0.0,
        "acc_norm": 1.0,
        "exact_match": 1.0,
    }
    exec(text, names)
    assert {metric: value for (metric, _), value in values.items()} == names["result_dict"]


def test_the_web_copy_says_that_its_indentation_is_lost(tmp_path):
    with pytest.raises(PlanError, match=r"not valid YAML.*lost its indentation.*mme\.yaml:26"):
        gold(tmp_path, GUESTS / "guide_web", "mme")
    with pytest.raises(PlanError, match=r"no task field 'token'.*seedbench_ppl\.yaml:3.*lost its indentation"):
        gold(tmp_path, GUESTS / "guide_web", "seedbench_ppl")
