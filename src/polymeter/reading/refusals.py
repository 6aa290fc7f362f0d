"""Refusals, and options that are so common as words that most sentences contain them.

"I'm sorry, there is no image attached." contains the option "no" and chooses nothing. Refusals are recognised in the
languages of the announcements. An option that is a common word counts only as a separate clause ("No, there is none."),
or in an assertion ("It is on the left.").
"""

from __future__ import annotations

import re

from polymeter.reading.characters import is_unspaced

_IMAGE = r"(?:images?|pictures?|photos?|photographs?|figures?|attachments?|files?|videos?|diagrams?)\b"
_ENGLISH = (
    rf"\b(?:have|find|got|received) no {_IMAGE}",
    rf"\b(?:there(?:'s| is| was)|see) no {_IMAGE}"
    r"(?=\W*$|[.,;!]| (?:attached|provided|given|to|here|available|included|for)\b"
    r"| in (?:your|the|this) (?:message|question|prompt|chat|conversation)\b)",
    rf"\bno {_IMAGE} (?:(?:is|was|were|has been|have been|seems to be) )?"
    r"(?:attached|provided|given|included|uploaded|available|shared|supplied|present|here)\b",
    r"\b(?:can ?not|can't|could not|couldn't|unable to|not able to|do not|don't|did not|didn't|no way (?:of|to)) "
    r"(?:actually |currently |directly |really )?(?:see|seeing|view|viewing|access|open|analy[sz]e|have|find|receive"
    rf"|have access to|look at) (?:an? |the |any |your |this |that )?{_IMAGE}(?! clearly| well)",
    r"\b(?:can ?not|can't|unable to|not able to) (?:answer|help|assist|respond|comply)\b",
    r"\bno idea\b|\b(?:don't|do not) know\b|\bplease (?:provide|upload|share|attach|send|resend|re-upload)\b",
    r"\b(?:more|further|additional) (?:context|information|details|info)\b|\bwithout (?:an? |the |seeing )*image\b",
)
_ROMANCE = (
    r"\bno (?:puedo|podemos|me es posible) (?:\w+ )?(?:ver(?= la| ninguna| una imagen|\W*$)|responder|ayudar|contestar"
    r"|acceder|determinar)\b",
    r"\bno (?:hay|veo|tengo) (?:ninguna |una |la |acceso a la )?(?:imagen|foto)\b",
    r"\bne (?:peux|puis|vois) pas (?:\w+ )?(?:voir (?:l'|d'|la )|répondre|aider|accéder|d'image|l'image)",
    r"\b(?:aucune|pas d'|sans) ?(?:image|photo)\b",
    r"\bnão (?:posso|consigo) (?:\w+ )?(?:ver(?= a imagem| imagens|\W*$)|responder|ajudar|acessar)\b",
    r"\bnão (?:há|vejo|tenho|foi fornecida) (?:nenhuma |uma |a )?(?:imagem|foto)\b",
    r"\bnon (?:posso|riesco a) (?:\w+ )?(?:vedere(?= l'imm| la foto| imm|\W*$)|rispondere|aiutar\w*)",
    r"\bnon (?:vedo|c'è|ho) (?:alcuna |nessuna |un'|l')?(?:immagine|foto)\b",
)
_OTHERS = (
    r"\bkein(?:e|en)? (?:bild|foto|abbildung)\b|\b(?:bild|foto) nicht (?:sehen|öffnen|anzeigen)\b",
    r"\bkann (?:\w+ ){0,3}nicht (?:beantworten|antworten|helfen)\b|\bweiß (?:es )?nicht\b",
    r"\bне (?:могу|вижу) (?:\w+ )?(?:ответить|помочь|(?:у?видеть )?(?:изображени|картин|фото))|\bнет изображени",
    r"\b(?:resmi|görseli|görüntüyü|fotoğrafı) gör(?:e)?m|\bcevap verem|\byardımcı olam",
    r"(?:छवि|चित्र|तस्वीर) नहीं|\bkhông (?:thể|có|nhìn) (?:\w+ ){0,3}(?:ảnh|trả lời)",
    r"لا (?:أستطيع|يمكنني) (?:رؤية|الإجابة|مساعدة)|لا توجد صورة",
    r"看不到(?:任何|這張|这张|你的|您的)?(?:图|圖|照)|(?:没有|沒有|未)(?:提供|看到|收到|上传|附)?(?:任何)?(?:图片|圖片|图像|圖像|照片)",
    r"(?:无法|無法|不能)(?:查看|看到|回答|提供|识别|處理|处理|访问|作答)|不知道",
    r"画像(?:が|は|を)?(?:見え(?:な|ません)|見られ(?:な|ません)|ありません|ない|確認でき(?:な|ません)|提供されて)",
    r"(?:お答え|回答)(?:は)?(?:でき(?:な|ません)|いたしかね)|答えられ(?:な|ません)|[わ分]かりません",
    r"이미지(?:가|를|을)? ?(?:없|볼 수 없|보이지|확인할 수 없)|답(?:변)?(?:을|할|해) ?(?:드릴 )?수 없|모르겠",
)
_REFUSAL = re.compile("|".join((*_ENGLISH, *_ROMANCE, *_OTHERS)))

_POLAR = frozenset(
    re.findall(
        r"\S+",
        "yes no true false sí si sim não sì oui non ja nein да нет evet hayır हाँ नहीं có không نعم لا 是 否 对 對 错 錯"
        " 有 没有 沒有 不是 不 はい いいえ 네 예 아니요 아니오 correct incorrect wrong not",
    )
)
"""Words that answer a question only as a separate clause."""
_AFFIRMATIVE = frozenset(("yes", "sí", "sim", "sì", "oui", "ja", "да", "evet", "نعم"))
"""Words among them that begin no other sentence."""
_COMMON = frozenset(
    re.findall(
        r"\S+",
        "left right up down in on out more less fewer one before after here there top over under with without it this"
        " that they he she 无 無",
    )
)
"""Words that name something only in an assertion."""
_IDIOM = re.compile(r"(?:\b(?:you're|you are|that's|that is|all|need|any|no) )$")
_BREAK = ',.;:!?\n，。；：！？、،؛؟।—()（）"“”'
_MOST = 2
_WINDOW = 80
_ASSERTION = re.compile(
    r"(?:\b(?:is|are|was|were|on|to|at|in|the|shows?|has|have|of|a|seems|looks|faces|facing|turns?|turning|goes|going"
    r"|points|pointing|its|his|her|their|contains)|^) $"
)


def is_refusal(low: str, spans: list[tuple[int, int]] | None = None) -> bool:
    """Check whether a text in lower case refuses, or asks for missing input, outside of these spans."""
    for match in _REFUSAL.finditer(low.replace("’", "'")):
        if not any(start < match.end() and match.start() < end for start, end in spans or ()):
            return True
    return False


def is_phrase(option: str) -> bool:
    """Check whether an option may itself sound like a refusal: "cannot be determined", "无法确定"."""
    return " " in option or (len(option) > _MOST and option >= "\u2e80")


def is_said(form: str, start: int, end: int) -> bool:
    """Check whether an option that is a common word is an answer at its place in a text. Any other option always is."""
    word = form[start:end]
    if word not in _POLAR and word not in _COMMON:
        return True
    begin = start
    while begin > 0 and form[begin - 1] not in _BREAK and start - begin < _WINDOW:
        begin -= 1
    stop = end
    while stop < len(form) and form[stop] not in _BREAK and stop - end < _WINDOW:
        stop += 1
    clause = form[begin:stop].strip()
    if word in _POLAR or is_unspaced(word[0]):
        is_apart = is_unspaced(word[0]) and form[begin:start].endswith(" ")
        is_one = word in _AFFIRMATIVE and clause.startswith(f"{word} ") and _POLAR.isdisjoint(clause.split()[1:])
        is_first = is_one and not form[:begin].strip(_BREAK + " ")
        is_asserted = is_apart or form[begin:start].endswith(
            ("it is ", "absolutely ", "definitely ", "是", "选择", "選擇", "选", "為", "为")
        )
        return clause == word or is_first or (is_asserted and clause.endswith(word))
    before = form[begin:start]
    if _IDIOM.search(before) is not None:
        return False
    return len(clause.split()) <= _MOST or clause.endswith(word) or _ASSERTION.search(before) is not None
