from polymeter.judge import LLMJudge


def judged(doc, results):
    judge = LLMJudge()
    colours = [image.convert("RGB").getpixel((0, 0)) for image in results]
    prompt = judge.build_prompt(str(colours), doc["colour"], doc["question"])
    return {"liked": judge.get_score(judge(prompt)), "n": len(results)}
