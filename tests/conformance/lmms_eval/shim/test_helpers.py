"""The helpers that tasks share, on cases worked out by hand or by the reference that they follow."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.core import request as core
from polymeter.core.errors import PlanError, ScoreError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.interop.lmms_eval.shim.lmms_eval import reasoning as reasoning_utils
from polymeter.interop.lmms_eval.shim.lmms_eval.files import (
    generate_submission_file,
    load_default_template_yaml,
    resolve_media_reference,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.mmbench import MMBench_Evaluator
from polymeter.metrics import bounded
from polymeter.metrics import option_letters as mmmu_mcq_utils
from polymeter.metrics import speech as asr_wer_utils
from polymeter.metrics.chinese_speech import TextNorm, num2chn
from polymeter.metrics.option_letters import extract_mcq_answer
from polymeter.metrics.speech import BasicTextNormalizer, EnglishTextNormalizer
from polymeter.metrics.vqa import EvalAIAnswerProcessor

OPTIONS = {"A": "a red car", "B": "a blue bus", "C": "a bike", "D": "nothing"}


def answering(text: str) -> object:
    return answering_through(lambda role, request: core.Response.of_text(text))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(C)", "C"),
        ("The answer is D.", "D"),
        ("A. because B. is wrong", "A"),
        ("", ""),
        ("none of it", ""),
        ("First (A), but then (C) is better", "C"),
        ("答案是B", "B"),
        ("Clearly it must be the one on the left: (B)", "B"),
        ("I pick C, not A", "A"),
        ("Dogs", "D"),
    ],
)
def test_the_letter_of_a_choice(text: str, letter: str) -> None:
    assert extract_mcq_answer(text) == letter


def test_the_letter_of_a_choice_among_others() -> None:
    assert extract_mcq_answer("The answer is J", ["I", "J"]) == "J"
    assert extract_mcq_answer("The answer is B", ["I", "J"]) == ""


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(C) or (A)", "A"),
        ("So, Answer: (B) it is. answer: C", "C"),
        ("I like C more than B", "B"),
        ("what I see in this picture is a blue bus", "B"),
        ("no idea", ""),
        ("A.", "A"),
    ],
)
def test_mmmu(text: str, letter: str) -> None:
    letters, names = mmmu_mcq_utils.get_multi_choice_info(list(OPTIONS.values()))
    assert (letters, names) == (OPTIONS, list("ABCD"))
    assert mmmu_mcq_utils.parse_mmmu_multi_choice_response(text, names, letters) == letter


def test_relatives_of_mmmu() -> None:
    names = list("ABCD")
    assert mmmu_mcq_utils.parse_videommmu_multi_choice_response("", names, OPTIONS) == "API Error"
    assert mmmu_mcq_utils.parse_videommmu_multi_choice_response("B. or C.", names, OPTIONS) == "B"
    assert mmmu_mcq_utils.parse_videommmu_multi_choice_response("hm", names, OPTIONS) == "No Answer Found."
    assert mmmu_mcq_utils.parse_jmmmu_multi_choice_response("答えはBです", names, OPTIONS) == "B"
    assert mmmu_mcq_utils.parse_jmmmu_multi_choice_response("？", names, OPTIONS) in names
    assert mmmu_mcq_utils.parse_jmmmu_pro_multi_choice_response("正解：Ｂ", names) == "B"
    assert mmmu_mcq_utils.parse_jmmmu_pro_multi_choice_response("A. one\nB. two\nC", names) == "C"
    assert mmmu_mcq_utils.parse_jmmmu_pro_multi_choice_response("", names) == "X"


@pytest.mark.parametrize(
    ("answer", "truth", "expected"),
    [
        ("<think>2+2</think><answer>four</answer>", "four", (1.0, 1.0, 1.0)),
        ("<analysis>x</analysis> <answer> B </answer>", "B", (1.0, 1.0, 1.0)),
        (r"so \boxed{\frac{1}{2}}", r"\frac{1}{2}", (1.0, 1.0, 1.0)),
        ("It is (C).", "C", (0.0, 0.0, 0.0)),
        ("Take 12 pears, give away 5 of them, so there are 12 - 5 = 7", "7", (0.98, 1.0, 0.8)),
        ("<think>no</think><answer>(A)</answer>", "B", (0.1, 0.0, 1.0)),
    ],
)
def test_reasoning_is_scored_for_its_conclusion_and_its_form(
    answer: str, truth: str, expected: tuple[float, float, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file, because the comparison runs in a process of its own.
    functions = "def parse(text, **_): return text\n\ndef verify(gold, answer, **_): return False\n"
    (tmp_path / "math_verify.py").write_text(functions)
    monkeypatch.syspath_prepend(str(tmp_path))
    bounded.end_idle_processes()
    found = reasoning_utils.compute_score("any", answer, truth)
    assert (found["score"], found["acc_score"], found["format_reward_score"]) == pytest.approx(expected)


def test_mathematics_needs_its_package_only_where_texts_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "math_verify", None)
    assert reasoning_utils.compute_score("any", "<answer>12</answer>", "12.")["acc_score"] == 1.0
    with pytest.raises(PlanError, match="pip install math-verify"):
        reasoning_utils.compute_score("any", "<answer>0.5</answer>", "1/2")


def test_a_judge_may_have_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_LLM_JUDGE", "True")
    monkeypatch.setattr(reasoning_utils, "_is_same_mathematics", lambda found, wanted: 0.0)
    with answering("1"):
        assert reasoning_utils.acc_reward("half", "1/2", {"question": "how much?"}) == 1
    with answering("maybe"), pytest.raises(UnscoredError):
        reasoning_utils.acc_reward("half", "1/2")


def test_pieces_of_reasoning() -> None:
    assert reasoning_utils.extract_boxed_answer(r"\boxed{1} then \boxed{a{b}} and \boxed{open") == "a{b}"
    assert reasoning_utils.extract_anwser_tag("It costs 3\nor rather 4.5.\nSorry") == "4.5"
    assert reasoning_utils.relax_exact_match("1234567890", "1234567890!") == 1.0
    assert reasoning_utils.relax_exact_match("12", "123") == 0.0
    messages = reasoning_utils.make_reasoning_doc_to_messages(lambda doc: ["img"], lambda doc, kw: " q ", "think")(
        {}, None
    )
    assert messages == [
        {"role": "system", "content": [{"type": "text", "text": "think"}]},
        {"role": "user", "content": [{"type": "image", "url": "img"}, {"type": "text", "text": "q"}]},
    ]


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("The Two dogs.", "2 dogs"),
        ("dont-know", "don't know"),
        ("3.5 apples, ok?", "3.5 apples ok"),
        ("none", "0"),
        ("couldnt've (maybe)", "couldn't've maybe"),
        ("oclock\nA", "o'clock"),
        ("a.b. c", "ab c"),
    ],
)
def test_answers_of_the_vqa_challenge(raw: str, normal: str) -> None:
    assert EvalAIAnswerProcessor()(raw) == normal


def test_contractions_are_known_with_one_apostrophe_missing() -> None:
    known = EvalAIAnswerProcessor.CONTRACTIONS
    assert len(known) == 120
    assert (known["yall'd've"], known["y'alld've"], known["y'all'dve"]) == ("y'all'd've",) * 3
    assert "yalldve" not in known


def test_word_error_rates() -> None:
    rate = asr_wer_utils.compute_wer(["The cat sat , down", "a b"], ["the cat sit down", "a"], "en")
    assert rate == pytest.approx(2 / 6)
    by_characters = asr_wer_utils.compute_wer(["你好吗"], ["你 好"], "zh", char_languages=("zh",))
    assert by_characters == pytest.approx(1 / 3)
    upper = asr_wer_utils.compute_wer(
        ["one"], ["1"], "en", english_languages=("en",), english_normalizer=lambda text: "x"
    )
    assert upper == 0
    with pytest.raises(ScoreError):
        asr_wer_utils.compute_wer(["..."], ["a"], "en")
    assert asr_wer_utils.remove_sp("<|en|> hello , world  !", "en") == "hello, world!"
    assert asr_wer_utils.remove_sp("你 好 。", "zh", no_space_languages=("zh",)) == "你好。"
    tokenizer = asr_wer_utils.EvaluationTokenizer("13a", lowercase=True, character_tokenization=True)
    assert tokenizer.tokenize("Hi you") == "h i ▁ y o u"


@pytest.mark.parametrize(
    ("number", "spoken"),
    [
        ("0", "零"),
        ("10", "十"),
        ("12", "十二"),
        ("20", "二十"),
        ("102", "一百零二"),
        ("200", "两百"),
        ("220", "两百二十"),
        ("2002", "两千零二"),
        ("20000", "两万"),
        ("120000", "十二万"),
        ("100000002", "一亿零二"),
        ("3.14", "三点一四"),
        ("0.5", "零点五"),
    ],
)
def test_numbers_in_chinese(number: str, spoken: str) -> None:
    assert num2chn(number) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("2008年8月8日", "二零零八年八月八日"),
        ("价格是3.5元", "价格是三点五元"),
        ("电话13912345678。", "电话一三九一二三四五六七八 "),
        ("占1/4，即25%", "占四分之一 即百分之二十五"),
        ("有2002个人", "有两千零二个人"),
        ("编号20481", "编号二零四八一"),
        ("B2B", "B2B"),
    ],
)
def test_chinese_transcripts(written: str, spoken: str) -> None:
    assert TextNorm()(written) == spoken


def test_options_of_chinese_transcripts() -> None:
    assert (
        TextNorm(to_banjiao=True, to_lower=True, remove_fillers=True, remove_space=True)("呃 ＡＢ c 你 好！")
        == "ab c你好"
    )
    with pytest.raises(PlanError, match="check_chars"):
        TextNorm(check_chars=True)


def test_whisper_s_normalizers() -> None:
    assert BasicTextNormalizer()("Hello, [noise] WORLD (laughs)!") == "hello world "
    assert BasicTextNormalizer(remove_diacritics=True)("Œuvre café") == "oeuvre cafe"
    if any(importlib.util.find_spec(name) for name in ("whisper_normalizer", "whisper")):
        assert EnglishTextNormalizer()("Mr. Brown's colour") == "mister brown is color"
    else:
        with pytest.raises(ModuleNotFoundError, match="pip install whisper-normalizer"):
            EnglishTextNormalizer()


ROW = {"question": "Which?", "A": "a cat", "B": "a dog", "C": "a cow", "D": None, "category": "animals"}


def rotation(index: int, answer: str, prediction: str, **more: object) -> dict[str, object]:
    return {**ROW, "index": index, "answer": answer, "prediction": prediction, **more}


def test_mmbench_reads_what_names_an_option() -> None:
    evaluator = MMBench_Evaluator(sys_prompt="Options:")
    prompt, options = evaluator.create_options_prompt({**ROW, "D": "nan"}, ["A", "B", "C", "D"])
    assert prompt == "Options:\nA. a cat\nB. a dog\nC. a cow"
    assert list(options) == list("ABCD")
    assert evaluator.prefetch_answer(rotation(1, "B", "(B)")) == "B"
    assert evaluator.prefetch_answer(rotation(1, "B", "It is a DOG")) == "B"
    assert evaluator.prefetch_answer(rotation(1, "B", "A or B")) is False
    assert evaluator.prefetch_answer(rotation(1, "A", "A small thing there")) is False


def test_mmbench_counts_a_question_that_is_right_in_every_rotation() -> None:
    pytest.importorskip("pandas")
    rows = [
        rotation(1, "A", "A"), rotation(1_000_001, "B", "B"), rotation(2, "A", "A"), rotation(1_000_002, "B", "A"),
        rotation(3, "B", "the barking one", category="others"),
    ]  # fmt: skip
    with answering("B"):
        overall, by_category, second = MMBench_Evaluator().eval_result(rows, eval_method="openai")
    assert overall == pytest.approx(2 / 3)
    assert by_category == {"animals": 0.5, "others": 1.0}
    assert second == {}
    with pytest.raises(PlanError, match="--judge"):
        MMBench_Evaluator().eval_result(rows)
    with answering("hard to say"):
        first = MMBench_Evaluator().eval_result(rows)
        assert MMBench_Evaluator().eval_result(rows) == first, "a drawn option is drawn again"


def test_mmbench_without_a_judge_searches_for_a_letter() -> None:
    pytest.importorskip("pandas")
    rows = [
        rotation(1, "A", "A"), rotation(2, "B", "I pick B. It barks"), rotation(3, "C", "either A or C"),
        rotation(4, "A", "hard to say"),
    ]  # fmt: skip
    assert MMBench_Evaluator().eval_result(rows, eval_method="static")[0] == 0.75


def test_templates_beside_task_code(tmp_path: Path) -> None:
    (tmp_path / "_default_template_yaml").write_text(
        "doc_to_text: !function utils.text\ndataset_kwargs: {cache_dir: vids}\n"
    )
    assert load_default_template_yaml(tmp_path / "utils.py") == {"dataset_kwargs": {"cache_dir": "vids"}}


def test_submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate_submission_file("x.json", SimpleNamespace(output_path=str(tmp_path / "run")))
    assert made == str(tmp_path / "run" / "submissions" / "x.json")
    assert (tmp_path / "run" / "submissions").is_dir()
    monkeypatch.chdir(tmp_path)
    assert generate_submission_file("x.json", None, "elsewhere") == str(tmp_path / "elsewhere" / "x.json")


def test_media_is_found_below_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("LMMS_EVAL_MEDIA_ROOT", raising=False)
    monkeypatch.setenv("MY_VIDEOS", str(tmp_path / "mine"))
    for place in ("hf/vids/videos/a.mp4", "hf/vids/clips/b.MP4", "mine/part/c.webm", "hf/sounds/audio/d.wav"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert resolve_media_reference("a", cache_dir="vids") == str(tmp_path / "hf/vids/videos/a.mp4")
    assert resolve_media_reference("old/b.mp4", cache_dir="vids") == str(tmp_path / "hf/vids/clips/b.MP4")
    found = resolve_media_reference("c", env_vars=("MY_VIDEOS",), extra_subdirs=("part",))
    assert found == str(tmp_path / "mine/part/c.webm")
    assert resolve_media_reference("d", "audio", "sounds") == str(tmp_path / "hf/sounds/audio/d.wav")
    assert resolve_media_reference("nowhere.mp4") == "nowhere.mp4"
    assert resolve_media_reference("https://x/y.mp4") == "https://x/y.mp4"
    assert resolve_media_reference({"bytes": b""}) == {"bytes": b""}
