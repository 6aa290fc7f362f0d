"""Hooks of MMSearch under the names that the guide prints: ask for a query, choose a page, answer from it."""


def mmsearch_end2end_doc_to_visual(doc):
    return [] if doc["query_image"] is None else [doc["query_image"].convert("RGB")]


def mmsearch_end2end_doc_to_text(
    doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None
):
    assert set(lmms_eval_specific_kwargs) == {"middle_resules_dir", "result_cache_dir"}
    if round_idx is None:
        return f"Question: {doc['query']}\nWhat do you search for?"
    assert isinstance(previous_output, list) and len(previous_output) == round_idx
    if round_idx == 1:
        assert previous_round_info is None
        pages = "\n".join(f"{i}: {page}" for i, page in enumerate(doc["pages"]))
        return None, f"Results for {previous_output[-1]!r}:\n{pages}\nWhich page?", False, previous_output, {"asked": 1}
    assert previous_round_info["asked"] == round_idx - 1
    if round_idx == 2:
        page = doc["pages"][int(previous_output[-1])]
        image = [doc["query_image"]] if doc["query_image"] is not None else None
        return image, f"{page}\n{doc['query']}", False, previous_output, {"asked": 2}
    return None, None, True, previous_output, None


def mmsearch_end2end_process_results(doc, results):
    requery, _, answer = results[0]
    return {"end2end_f1_score": f1(answer, doc["answer"]), "requery_score": f1(requery, doc["gt_requery"])}


def f1(said, gold):
    said, gold = said.lower().split(), gold.lower().split()
    common = sum(min(said.count(word), gold.count(word)) for word in set(gold))
    return 0.0 if not common else 2 * common / (len(said) + len(gold))


def mmsearch_aggregate_results_f1_score(results):
    return sum(results) / len(results)


def mmsearch_aggregate_results_req_score(results, args):
    assert args.output_path
    return sum(results) / len(results)
