"""Answers whose choice is known, for the fuzz target ``reading``: a letter or an option's text in random wrappings, and
texts that choose nothing.

A case is any bytes: they seed the generator that puts an answer together, so a finding's file gives the same answer
again.
"""

from __future__ import annotations

import random

from polymeter.reading.choices import choice_reading, option_labels
from polymeter.reading.reasoning import without_reasoning
from polymeter.reading.yes_no import read_yes_or_no

OPTIONS = (
    ("bus", "dog", "bike", "none"),
    ("10", "100", "1000"),
    ("dog", "hot dog", "corn dog", "cat", "red cat"),
    ("公交车", "狗", "自行车", "无"),
    ("車", "犬", "自転車", "猫"),
    ("버스", "강아지", "자전거", "고양이"),
    ("autobús", "perro", "bicicleta", "tren"),
    ("автобус", "собака", "велосипед"),
    ("حافلة", "كلب", "دراجة"),
    ("बस", "कुत्ता", "साइकिल"),
    tuple(f"thing number {number}" for number in range(40)),
)
ANNOUNCED = (
    "The answer is {}.",
    "the answer is {}",
    "The correct answer is: {}",
    "Answer: {}",
    "**Final answer:** {}",
    "So the correct option is {}.",
    "I would choose {}.",
    "My final answer is option {}.",
    "### Answer\n{}\n",
    "The answer to this question is most likely {}, because of the shape.",
    "答案是{}。",
    "答案：{}",
    "正确答案为{}。",
    "因此，我选择{}。",
    "答えは{}です。",
    "正解：{}",
    "정답은 {}입니다.",
    "정답: {}",
    "La respuesta correcta es la {}.",
    "Respuesta: {}",
    "La bonne réponse est la {}.",
    "Réponse : {}",
    "Die richtige Antwort ist {}.",
    "Antwort: {}",
    "A resposta correta é a letra {}.",
    "La risposta corretta è la {}.",
    "Правильный ответ: {}.",
    "Ответ — {}",
    "Doğru cevap: {}",
    "सही उत्तर है {}",
    "Đáp án đúng là {}.",
    "الإجابة الصحيحة هي {}",
    '{{"answer": "{}"}}',
    '```json\n{{"reason": "it fits", "answer": "{}"}}\n```',
    "<answer>{}</answer>",
    "so $\\boxed{{{}}}$.",
    "\\[\\boxed{{\\text{{{}}}}}\\]",
)
AROUND_LETTERS = (
    "{}",
    "({})",
    "[{}]",
    "**{}**",
    "`{}`",
    "$ {} $",
    '"{}"',
    "【{}】",
    "**({})**",
    "__{}__",
    "“{}”",
    "«{}»",
)
ALONE = (
    *AROUND_LETTERS,
    "{}.",
    "{})",
    "{}:",
    " {} ",
    "\n{}\n",
    "- {}",
    "# {}",
    "> {}",
    "Option {}",
    "选项{}",
    "\\boxed{{{}}}",
)
BEFORE = (
    "",
    "Let me look at the image.\n",
    "A closer look shows details. ",
    "As an AI model I look at pixels. ",
    "I am looking at the picture, and it is not clear at first.\n\n",
    "Vitamin C and hepatitis B do not matter here.\n",
    "At first glance the answer is not A. ",
    "If the answer were C, there would be more. ",
    "仔细看图片。",
    "Veamos la imagen. ",
    "图中没有字母。\n",
)
AFTER = (
    "",
    " A picture has many details.",
    "\n\nExplanation: A is too small, B is too big, C is elsewhere, D does not fit.",
    "\nI hope this helps!",
    " That is what I see.",
    "\n\nB and C are wrong.",
)
NOTHING = (
    "Cannot be determined.",
    "As an AI model I am unable to view images.",
    "I am not sure.",
    "A closer look shows spokes.",
    "Vitamin C is healthy.",
    "It could be A or B.",
    "The answer is not A.",
    "The answer isn't B.",
    "If the answer were B, it would be larger.",
    "Is the answer C?",
    "I'd like to help.",
    "A photo of something.",
    "答案不是A。",
    "如果答案是B，图就更大。",
    "答えはAではありません。",
    "정답은 A가 아닙니다.",
    "La respuesta no es A.",
    "La réponse n'est pas B.",
    "Die Antwort ist nicht C.",
    "Ответ не A.",
    "Cevap B değil.",
    "A resposta não é C.",
    "La risposta non è A.",
    "Đáp án không phải là B.",
    "उत्तर A नहीं है।",
    "الإجابة ليست A.",
    "Class A and class B differ.",
    "C++ and C# are languages.",
    "N/A",
    "Dogma, busy, biker, 10000, 3.10, categories.",
    "U.S.A.",
    "D-Day was long ago.",
    "Both A and C.",
    "none the wiser".replace("none", "not any"),
)
LISTED = (
    ("{}. {}: {}", "\n"),
    ("- {}: {} — {}", "\n"),
    ("- **{}. {}** - {}", "\n"),
    ("Option {}: {} is {}.", "\n"),
    ("Answer {}: {}, {}", "\n"),
    ("{}) {} {}", "\n\n"),
    ("({}) {} is {}.", " "),
    ("选项{}：{}，{}", "\n"),
    ("Antwort {}: {} {}", "\n"),
)
HEADINGS = (
    "Explanation of each option:",
    "Let's evaluate each option:",
    "Let me check every choice:",
    "For each answer:",
    "Analysis by option:",
    "Analysons chaque option :",
    "Analysieren wir jede Antwort:",
    "每个选项：",
    "選択肢：",
    "Разберём каждый вариант:",
)
VERDICTS = ("incorrect", "correct", "not visible", "no", "yes", "visible")
COMMON = (
    ("yes", "no"),
    ("left", "right"),
    ("more", "less"),
    ("sí", "no"),
    ("有", "没有"),
    ("对", "错"),
    ("oui", "non"),
)
REFUSALS = (
    "I'm sorry, there is no image attached.",
    "I have no way of seeing the image.",
    "I have no idea.",
    "You're right to ask, but I can't see the image.",
    "I'd need more context.",
    "No image was provided.",
    "Please provide the image, no more is needed.",
    "No puedo ver la imagen.",
    "Je ne peux pas voir l'image.",
    "Ich kann das Bild nicht sehen.",
    "对不起，我看不到图片。",
    "没有图片，我无法回答。",
    "There is more left to say without an image.",
)
REASONING = (
    "<think>The answer is A. No, B!</think>",
    "<think>\n\n</think>\n\n",
    "<thinking>It may be C.</thinking>\n",
    "[THINK]The answer is D.[/THINK]",
)


class Misread(Exception):
    """An answer was read as another option than it chooses."""


def check(case: bytes) -> None:
    """Read the answers that a case makes.

    Raises:
        Misread: if one is not read as what it says.
    """
    chance = random.Random(case)
    options = chance.choice(OPTIONS)
    for make in (_announced, _alone, _text, _nothing, _listed, _only_listed):
        right, answer = make(chance, options)
        reading = choice_reading(_without_reasoning(chance, answer), options)
        if reading.index != right:
            raise Misread(f"{make.__name__[1:]}: {answer!r} of {options!r} is read as {reading}, not {right}")
    common, refusal = chance.choice(COMMON), " ".join(chance.sample(REFUSALS, chance.choice([1, 1, 2])))
    if choice_reading(refusal, common).index is not None or read_yes_or_no(refusal) is not None:
        raise Misread(f"the refusal {refusal!r} is credited to one of {common!r}, or to yes or no")
    raw = choice_reading(case[:20_000].decode("utf-8", "replace"), options)
    if raw.index is not None and not 0 <= raw.index < len(options):
        raise Misread(f"{raw} is no option")


def _announced(chance: random.Random, options: tuple[str, ...]) -> tuple[int, str]:
    right = chance.randrange(len(options))
    form = chance.choice(ANNOUNCED)
    if chance.random() < 0.2 and not options[right].isdigit():
        named = options[right]
    else:
        named = chance.choice(AROUND_LETTERS).format(_letter(chance, right, is_any_case=False))
    if '"' in form and '"' in named:
        named = named.replace('"', "")
    said, before, after = form.format(named), chance.choice(BEFORE), chance.choice(AFTER)
    if form.startswith(("#", "`")) and before:
        before += "\n"
    if not said.endswith((".", "。", "\n")) and not after.startswith("\n"):
        said += "."  # a sentence ends before the next one begins
    return right, before + said + after


def _alone(chance: random.Random, options: tuple[str, ...]) -> tuple[int, str]:
    right = chance.randrange(len(options))
    letter = _letter(chance, right, is_any_case=True)
    form = chance.choice(ALONE)
    before = chance.choice(BEFORE) if chance.random() < 0.3 else ""
    said = f"{letter}. {options[right]}" if chance.random() < 0.2 else letter
    return right, f"{before}\n{form.format(said)}" if before else form.format(said)


def _text(chance: random.Random, options: tuple[str, ...]) -> tuple[int, str]:
    right = chance.randrange(len(options))
    text = options[right]
    text = text.upper() if chance.random() < 0.3 else text
    text = text.translate(_WIDE) if chance.random() < 0.2 else text
    forms = ("{}", "{}.", "**{}**", "It is {}.", '"{}"', "  {}\n", "I see: {}!", "“{}”", "`{}`", "({})")
    return right, chance.choice(forms).format(text)


def _nothing(chance: random.Random, options: tuple[str, ...]) -> tuple[None, str]:
    return None, " ".join(chance.choice(NOTHING) for _ in range(chance.choice([1, 1, 2, 3])))


def _listed(chance: random.Random, options: tuple[str, ...]) -> tuple[int, str]:
    """An announcement, and a list of all options with a verdict on each before or after it."""
    right = chance.randrange(len(options))
    form = chance.choice([form for form in ANNOUNCED if not form.startswith(("#", "`", "so", "\\"))])
    said, listed = form.format(option_labels(right + 1)[right]), _list(chance, options)
    return right, f"{listed}\n\n{said}" if chance.random() < 0.5 else f"{said}\n\n{listed}"


def _only_listed(chance: random.Random, options: tuple[str, ...]) -> tuple[None, str]:
    return None, _list(chance, options)


def _list(chance: random.Random, options: tuple[str, ...]) -> str:
    form, between = chance.choice(LISTED)
    labels = option_labels(len(options))
    entries = [
        form.format(label, option, chance.choice(VERDICTS)) for label, option in zip(labels, options, strict=True)
    ]
    return f"{chance.choice(HEADINGS)}\n{between.join(entries)}"


def _letter(chance: random.Random, index: int, *, is_any_case: bool) -> str:
    label = option_labels(index + 1)[index]
    if is_any_case and chance.random() < 0.3:
        label = label.lower()
    return label.translate(_WIDE) if chance.random() < 0.2 else label


def _without_reasoning(chance: random.Random, answer: str) -> str:
    """The answer, sometimes with reasoning that the reader of reasoning then removes."""
    return answer if chance.random() < 0.5 else without_reasoning(chance.choice(REASONING) + answer)


_WIDE = {code: code + 0xFEE0 for code in range(ord("0"), ord("z") + 1)}
