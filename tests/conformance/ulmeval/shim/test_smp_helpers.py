"""Helpers that files take from ``ulmeval.smp``: what they give, and that nothing in a cell or a name is ever run."""

from __future__ import annotations

import base64
import logging
import subprocess
import unicodedata
from pathlib import Path

import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import answering_through
from polymeter.core.request import Error, Request, Response
from polymeter.interop.ulmeval.models.base import BaseAPI
from polymeter.interop.ulmeval.shim.ulmeval import smp, tools
from polymeter.interop.ulmeval.shim.ulmeval.judges import build_judge
from polymeter.interop.ulmeval.shim.vlmeval import vqa_eval
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice import (
    build_choices,
    mcq_circular_eval,
    mcq_vanilla_eval,
    prefetch_answer,
    report_acc,
)

DANGEROUS = "__import__('pathlib').Path('touched').write_text('x')"


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def picture(path: Path, size: tuple[int, int] = (120, 110)) -> str:
    Image.new("RGB", size, "red").save(path)
    return str(path)


def test_a_cell_is_never_run(tmp_path: Path) -> None:
    assert not smp.istype(DANGEROUS, int)
    with pytest.raises(DataError, match="not a printed list"):
        smp.toliststr(f"[{DANGEROUS}]")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("cell", "kind", "is_one"),
    [
        ("3", int, True),
        (3, int, True),
        ("[1, 2]", list, True),
        ("three", int, False),
        ("", int, False),
        (None, int, False),
    ],
)
def test_istype(cell: object, kind: type, is_one: bool) -> None:
    assert smp.istype(cell, kind) is is_one


def test_small_helpers() -> None:
    assert smp.toliststr("['a', 'b']") == ["a", "b"]
    assert smp.toliststr("a") == ["a"]
    assert smp.listinstr(["WISE", "GenEval"], "GenEval_all")
    assert smp.splitlen("org/model") == 2
    assert smp.get_rank_and_world_size() == (0, 1)
    assert list(smp.extract_json_objects('so {"a": {"b": 1}} and {broken {"c": 2}')) == [{"a": {"b": 1}}, {"c": 2}]
    assert smp.d2df({"a": 1, "b": 2}).to_dict("records") == [{"a": 1, "b": 2}]
    assert len(smp.timestr("day")) == 8
    assert smp.process_punctuation("it's a dog, isn't it?") == "it's a dog isn't it "
    assert smp.version_cmp("1.10", "1.9", "gt")
    assert (smp.r2h((255, 0, 16)), smp.h2r("#ff0010")) == ("#ff0010", (255, 0, 16))
    merged = {"a": {"b": 1}, "c": 2}
    smp.dict_merge(merged, {"a": {"d": 3}, "c": 4})
    assert merged == {"a": {"b": 1, "d": 3}, "c": 4}


def test_rank_and_world_are_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    assert smp.get_rank_and_world_size() == (0, 1)


def test_a_command_is_never_read_by_a_shell(tmp_path: Path) -> None:
    assert smp.run_command("echo a; touch touched").strip() == "a; touch touched"
    assert not (tmp_path / "touched").exists()
    with pytest.raises(subprocess.CalledProcessError):
        smp.run_command(["false"])


def test_nothing_is_installed_or_downloaded_behind_the_users_back() -> None:
    assert smp.pip_install_robust("pytest")
    with pytest.raises(PlanError, match="pip install nowhere_to_be_found==1"):
        smp.pip_install_robust("nowhere_to_be_found==1")
    with pytest.raises(PlanError, match="Videos are not downloaded"):
        smp.youtube_dl("x")


def test_keys_do_not_get_into_a_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "abcdef-123456")
    logger = BaseAPI().logger
    assert logger is smp.get_logger("ChatAPI")
    with caplog.at_level(logging.INFO):
        logger.info(f"Using API Base: x; API Key: sk-{'a' * 20}")
        logger.info("key %s", "abcdef-123456")
        logger.info("%d keys", 3)
    assert "aaaa" not in caplog.text
    assert "123456" not in caplog.text
    assert "3 keys" in caplog.text


def test_files_by_their_suffix(tmp_path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"index": [1, 2], "answer": ["a", "b"]})
    for name in ("t.tsv", "t.csv", "t.pkl", "t.xlsx"):
        smp.dump(table, str(tmp_path / name))
        assert smp.load(str(tmp_path / name)).to_dict() == table.to_dict()
    smp.dump({"a": smp.np.int64(1)}, str(tmp_path / "t.json"))
    assert smp.load(str(tmp_path / "t.json")) == {"a": 1}


def test_a_pickle_that_is_not_data(tmp_path: Path) -> None:
    import pickle

    class Mine:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path("touched").write_text, ("x",))

    (tmp_path / "bad.pkl").write_bytes(pickle.dumps(Mine()))
    with pytest.raises(DataError, match=r"bad\.pkl"):
        smp.load(str(tmp_path / "bad.pkl"))
    assert not (tmp_path / "touched").exists()


def test_what_a_text_of_a_message_is(tmp_path: Path) -> None:
    path = picture(tmp_path / "a.png")
    (tmp_path / "dog").mkdir()
    (tmp_path / "notes.xyz1").write_text("")
    assert smp.parse_file(path) == ("image/png", path)
    assert smp.parse_file("dog") == (None, "dog")
    assert smp.parse_file(str(tmp_path / "notes.xyz1"))[0] == "unknown"
    assert smp.parse_file("https://example.org/page") == ("url", "https://example.org/page")
    assert smp.parse_file("Été") == (None, "Été")
    (tmp_path / unicodedata.normalize("NFD", "Été.png")).touch()
    assert smp.parse_file(str(tmp_path / "Été.png")) == ("image/png", str(tmp_path / "Été.png"))
    assert smp.parse_file("x" * 5000) == (None, "x" * 5000)
    packed = "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()
    mime, kept = smp.parse_file(packed)
    assert mime == "image/png"
    assert smp.read_ok(kept)


def test_an_image_at_an_address_is_not_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"example\.org"):
        smp.parse_file("https://example.org/a.png")


def test_images_in_and_out_of_base64(tmp_path: Path) -> None:
    path = picture(tmp_path / "a.png")
    packed = smp.encode_image_file_to_base64(path)
    assert smp.decode_base64_to_image(packed).size == (120, 110)
    smp.decode_base64_to_image_file(packed, str(tmp_path / "new" / "b.png"))
    assert smp.read_ok(str(tmp_path / "new" / "b.png"))
    assert not smp.read_ok("notes.txt")


def test_images_side_by_side(tmp_path: Path) -> None:
    paths = [picture(tmp_path / "a.png", (20, 10)), picture(tmp_path / "b.png", (30, 20))]
    assert smp.concat_images_ulmeval(paths, return_image=True).size == (50, 20)
    assert smp.concat_images_ulmeval(paths, mode="v", return_image=True).size == (30, 30)
    assert smp.concat_images_ulmeval(paths, target_size=10, return_image=True).size == (35, 10)
    with Image.open(smp.concat_images_ulmeval(paths)) as kept:
        assert kept.getpixel((5, 5)) == (255, 0, 0)


def test_folders_and_lines(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "sub/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        smp.mwlines(["one", "two", ""], str(tmp_path / name))
    assert smp.mrlines(str(tmp_path / "a.txt")) == ["one", "two"]
    names = [Path(found).name for found in smp.ls(str(tmp_path), match=["!md"], mode="file")]
    assert names == ["a.txt"]
    assert [Path(found).name for found in smp.ls(str(tmp_path), match=".txt", level="2+")] == ["a.txt", "c.txt"]
    assert smp.file_size(str(tmp_path / "a.txt"), "KB") == pytest.approx(8 / 1024)
    assert smp.md5("text") == "1cb251ec0d568de6a929b520c4aed8d1"
    (tmp_path / "plain").write_text("text")
    assert smp.md5(str(tmp_path / "plain")) == smp.md5("text")


def test_names_of_side_files() -> None:
    path = smp.get_intermediate_file_path
    assert path("m_d.pkl", "_tmp") == "m_d_tmp.pkl"
    assert path("m_d.pkl", "_rating") == "m_d_rating.json"
    assert path("m_d.pkl", "_acc") == "m_d_acc.csv"
    assert path("m_d.pkl", "_result", "xlsx") == "m_d_result.xlsx"


def test_files_of_one_dataset_are_not_those_of_another(tmp_path: Path) -> None:
    for name in ("m_Toy.pkl", "m_Toy_score.csv", "m_ToyPP.pkl"):
        (tmp_path / name).touch()
    found = [Path(name).name for name in smp.fetch_aux_files(str(tmp_path / "m_Toy.pkl"))]
    assert found == ["m_Toy.pkl", "m_Toy_score.csv"]


def test_a_table_without_its_images(tmp_path: Path) -> None:
    import pandas as pd

    packed = base64.b64encode(Path(picture(tmp_path / "a.png")).read_bytes()).decode()
    table = pd.DataFrame({"index": ["1", "2"], "image": [packed, "1"], "question": ["a", "b"]})
    table.to_csv(tmp_path / "toy.tsv", sep="\t", index=False)
    assert list(smp.localize_df(table, "toy").columns) == ["index", "question", "image_path"]
    assert "image" in table
    new = pd.read_csv(tools.LOCALIZE(str(tmp_path / "toy.tsv")), sep="\t")
    assert len(new) == 2
    assert all(smp.read_ok(path) for path in new["image_path"])


def test_open_answers_are_compared_as_vlmevalkit_compares_them() -> None:
    line = {"answer": "['two dogs', '2 dogs']", "prediction": "Two dogs."}
    assert vqa_eval.process_line(line, "none")["match"] == [True, True]
    near = vqa_eval.process_line({"answer": 100, "prediction": "104"}, "relaxed_accuracy")
    assert vqa_eval.hit_calculate([near], "ChartQA_TEST") == [1.0]
    far = vqa_eval.process_line({"answer": "abcd", "prediction": "wxyz"}, "anls")
    assert vqa_eval.hit_calculate([far], "DocVQA_VAL") == [0.0]
    assert vqa_eval.hit_calculate([{"match": 1}, {"match": 0}], "TableVQA") == [1.0, 0.0]


def test_options_are_read_by_rules() -> None:
    item = {"question": "which?", "A": "dog", "B": "cat", "C": float("nan"), "prediction": "The answer is B."}
    assert build_choices(item) == {"A": "dog", "B": "cat"}
    assert prefetch_answer(item) == "B"


def test_accuracies_of_a_class_that_scores_multiple_choice_itself(tmp_path: Path) -> None:
    import pandas as pd

    rows = [
        {"index": 1, "question": "q", "A": "dog", "B": "cat", "answer": "A", "category": "one"},
        {"index": 1000001, "question": "q", "A": "cat", "B": "dog", "answer": "B", "category": "one"},
        {"index": 2, "question": "r", "A": "red", "B": "blue", "answer": "B", "category": "two"},
        {"index": 1000002, "question": "r", "A": "blue", "B": "red", "answer": "A", "category": "two"},
    ]
    meta = pd.DataFrame(rows)
    data = meta.drop(columns=["answer"]).assign(prediction=["A", "B.", "B", "It is hard to say what it is."])
    plain = mcq_vanilla_eval(None, data, meta, 2, str(tmp_path / "r.pkl"))
    assert list(plain["hit"]) == [1.0, 1.0, 1.0, 0.0]
    assert "there is no judge" in plain["log"].iloc[3]
    rotated = mcq_circular_eval(None, data, meta, 2, str(tmp_path / "c.pkl"), "MMBench")
    assert dict(zip(rotated["index"], rotated["hit"], strict=True)) == {1: 1.0, 2: 0.0}
    assert report_acc(rotated)["Overall"].tolist() == [0.5]
    assert list(mcq_vanilla_eval(None, data, meta[:2], 2, str(tmp_path / "s.pkl"))["index"]) == [1, 1000001]


def test_a_missing_verdict_is_no_wrong_answer(tmp_path: Path) -> None:
    import pandas as pd

    meta = pd.DataFrame([{"index": 1, "question": "q", "A": "dog", "B": "cat", "answer": "A"}])
    data = meta.drop(columns=["answer"]).assign(prediction=["It has four legs, and barks all day."])

    def away(role: str, request: Request) -> Response:
        return Response(error=Error("permanent", "the judge is away"))

    with answering_through(away):
        found = mcq_vanilla_eval(build_judge(model="m"), data, meta, 1, str(tmp_path / "r.pkl"))
    assert found["hit"].isna().all()
    assert "Failed to obtain answer" in found["log"].iloc[0]
