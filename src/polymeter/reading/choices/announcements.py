"""The phrases that announce an option in answers, as data: one record for each language.

All of them are in lower case. A blank stands for any white space and markup. ``choices`` reads them and has the rules
for their order.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """The phrases of a language.

    Attributes:
        subjects: Names of the announced option, before a link: "answer".
        letter_subjects: Names that announce only a letter: "solution" in "the solution is a bus" announces nothing.
        label_subjects: The same, but only if the text announces nothing as the answer: "option", "letter".
        bare_subjects: Names that the option may follow without a link, as in languages without a copula.
        distributives: Words before a subject that make it the heading of a list: "each option:".
        corrections: Words that announce an answer instead of the one before: "actually".
        contrasts: Words between a denied option and the right one: "but" in "not A but B".
        denying_contrasts: The same, for words that themselves deny the option before them.
        gaps: Words that begin an insertion between subject and link: "to" in "the answer to this question is".
        links: Words between subject and option: "is".
        verbs: Words directly before an option: "I choose".
        weak: The same, but an announcement only if the answer has no stronger one: "it is".
        predicates: Words directly after an option: "is the correct answer".
        after: Words that may follow an option within an announcement, in languages that put the verb last.
        fillers: Words between link and option: "option", "most likely".
        nouns: Words before an option that are part of its name: "Option B". A subset of the fillers.
        suffixes: Words after an option that are part of its name, or that end a sentence with its name alone.
        conditions: Words that make a sentence hypothetical.
        initial_conditions: Words that do so only at the beginning of a clause; elsewhere they mean something else.
        denials: Words that deny the text after them.
        denials_after: Words that deny the text before them.
        joins: Words between options, so that the answer chooses none of these: "or".
        reasons: Words after an option that begin an explanation: "because".
        causes: Reasons that make a letter at the beginning of an answer the answer: "B, because the sky is blue".
    """

    subjects: tuple[str, ...] = ()
    letter_subjects: tuple[str, ...] = ()
    label_subjects: tuple[str, ...] = ()
    bare_subjects: tuple[str, ...] = ()
    distributives: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    contrasts: tuple[str, ...] = ()
    denying_contrasts: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    fillers: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    initial_conditions: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    denials_after: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("|") if phrase.strip())


def _products(subjects: str, verbs: str) -> tuple[str, ...]:
    return tuple(f"{subject} {verb}" for subject in _words(subjects) for verb in _words(verbs))


ENGLISH = Phrases(
    corrections=_words(
        "wait|actually|correction|i meant|i mean|scratch that|on second thought|on reflection|or rather"
    ),
    contrasts=_words("but|but rather|rather|but instead"),
    distributives=_words("each|every|any|all|by|per|both|other|another|various|following"),
    subjects=_words(
        "answer|answers|ans|correct option|correct choice|right option|right choice|best option|best choice"
        "|best answer|correct one|right one|best one|correct letter|correct statement|correct response"
        "|correct selection|my choice|my option|my selection|my pick|my guess|my response|my decision"
        "|my conclusion|my best guess|final choice|final option|final selection|final response|final decision"
        "|final verdict|most likely option|most likely choice|most appropriate option|most appropriate choice"
        "|most suitable option|most accurate option|most accurate choice|most plausible option|closest option"
        "|only correct option|only option|chosen option|chosen letter|selected option|selected choice"
        "|selected letter|selected answer|predicted option|final letter|correct label|option letter"
        "|answer letter"
    ),
    letter_subjects=_words("solution|prediction|conclusion|verdict|selection|selected"),
    label_subjects=_words("letter|choice|label|option"),
    bare_subjects=_words("answer|ans|correct option|correct choice|final choice|final option|my choice"),
    gaps=_words("to|for|of|here|in|on|from|based|given|that|which|i|we|choice|option|letter|key|according|after"),
    links=_words(
        "is|are|was|should be|must be|has to be|ought to be|will be|seems to be|appears to be|remains"
        "|is still|is indeed|'s|is as follows|is option|shall be|can only be|could only be|comes out as"
        "|turns out to be|equals|reads"
    ),
    verbs=_products(
        "i|we|i'd|i'll|i would|i will|we would|we will|i must|i should|we should|we must|i can|we can|i have to|i|let's"
        "|i would therefore|i therefore|i will therefore|i'm going to|i am going to",
        "choose|select|pick|go with|opt for|settle on|vote for|say|answer|answer with|lean towards|stick with|chose"
        "|selected|picked|went with",
    )
    + _products("i have|i've|we have", "chosen|selected|picked|settled on")
    + _products("i am|i'm", "choosing|selecting|picking|going with|opting for|leaning towards"),
    weak=_words(
        "it is|it's|it must be|it has to be|it should be|that is|that's|this is|i think|i think it's"
        "|i think it is|so|thus|hence|therefore|i believe|i believe it is|i believe it's|must be|i guess"
        "|definitely|probably|clearly|choose|choosing|select|selecting|pick|picking|go with|going with"
        "|opt for|opting for|answer with|stick with|i'd go for|this points to|this leads to|that leaves"
        "|leaving|which leaves"
    ),
    predicates=_words(
        "best describes|best represents|best answers|best explains|best completes|best captures|is correct"
        "|is also correct|is also right|is right|is true|is the correct|is the right|is the best"
        "|is the answer|is my answer|is my choice|is the most|is the only|is the one|is my final answer"
        "|is therefore correct|is therefore the|is thus the|is clearly the correct|is clearly correct"
        "|must be correct|must be the|it is|would be my choice|is best|fits best|matches best|is the option"
        "|is most likely|is definitely correct|as the answer|as my answer|as the correct answer"
        "|as my final answer|is indeed correct|is indeed the correct|is correct answer"
    ),
    fillers=_words(
        "maybe|perhaps|possibly|the|a|an|clearly|definitely|therefore|thus|hence|most likely|likely|probably"
        "|simply|still|indeed|actually|obviously|certainly|also|just|only|as follows|it|it is|it's|that it is"
        "|that it's|that|surely|undoubtedly|in fact|of course|i think|i believe|marked|labeled|labelled"
        "|number|no|correct|right|best|final|then|now|without a doubt|without doubt|by far|must be|both"
    ),
    nouns=_words("option|choice|letter|answer|alternative|opt|ans|answer choice|answer option"),
    suffixes=_words("it is|final answer"),
    initial_conditions=_words("were|had the|should the"),
    conditions=_words(
        "if|suppose|supposing|assume|assuming|whether|unless|imagine|in case|hypothetically|might think"
        "|may think|could think|might say|could say|might be|could be|may be|let's say|either|pretend|wonder"
        "|wondering|might seem|may seem|might have been|other than|rather than|instead of|except|besides"
        "|had the answer"
    ),
    denials=_words(
        "not|never|cannot|neither|nor|no|doubt|doubtful|deny|unlikely|impossible|wrong|incorrect|false"
        "|without|unable|incorrectly|wrongly|falsely|isn't|wasn't|aren't|don't|doesn't|didn't|won't|wouldn't"
        "|can't|couldn't|shouldn't|mustn't|hasn't|haven't|rejected|eliminate|eliminated|rule out|ruled out"
        "|exclude|excluded|hardly|dont|isnt|cant|wont|reject|initial|initially|previous|opposite|ain't"
    ),
    denials_after=_words(
        "is not|isn't|is wrong|is incorrect|is false|is unlikely|was not|wasn't|can be ruled out"
        "|can be eliminated|cannot be|can't be|is ruled out|is eliminated|are not|aren't|are wrong"
        "|are incorrect|does not fit|is out|only if|if there|if it were|if the|unless"
    ),
    joins=_words("or|and|and/or|nor|to|through|vs|versus"),
    reasons=_words(
        "because|since|as|which|due|for|given|based|although|though|while|but|from|according|here|in|is|so"
        "|and then|where|that|with|however|considering|after|by|instead|rather|not|at|on|of|among|out|thank"
        "|thanks|then|now|when|if|who|are|was|has|have|the|this|it|i|my|final|answer|shows|option|only|please"
    ),
    causes=_words("because|since"),
)
CHINESE = Phrases(
    corrections=_words("更正|修正|等等"),
    contrasts=_words("而是|而應是|而应是"),
    distributives=_words("每|各|所有|逐|其他|其它|以下|任何"),
    bare_subjects=_words(
        "答案|正确选项|正确的选项|正确的是|正确答案|最终答案|最佳选项|最佳答案|解答|回答|答|正解|正確選項"
        "|正確的選項|正確的是|最合适的选项|最合適的選項|最终选项|结论|結論|参考答案|選項為|应该是|應該是"
        "|因此是|所以是"
    ),
    gaps=_words(
        "应|應|就|便|应当|應當|应该|應該|最可能|很可能|可能|显然|顯然|一定|肯定|只能|当然|當然|其实|其實|最终"
        "|最後|最后|我认为|我認為|无疑|無疑|大概"
    ),
    links=_words(
        "是|为|為|选|選|即|就是|应为|應為|应该是|應該是|应是|應是|应当是|选择|選擇|应选|應選|只能是|乃|系"
        "|便是|：|有|应该选|應該選|应该选择"
    ),
    verbs=_words(
        "应该选择|應該選擇|应该选|應該選|本题选|本題選|此题选|这题选|这道题选|只能选|就选|最终选择|最后选"
        "|所以我选|因此我选|我选择|我选|我選擇|我選|故选|故選|应选|應選|因此选|所以选|因此選|所以選|因此选择"
        "|所以选择|应选择|應選擇|而是"
    ),
    weak=_words(
        "我觉得是|我認為是|我认为是|我覺得是|我觉得|我认为|我猜是|因此|所以|故|是|应为|應為|综上|綜上|选择|選擇|选|選"
    ),
    predicates=_words(
        "是正确的|正确|是对的|是正确答案|是正确选项|是答案|是最佳答案|是最佳选项|为正确答案|符合题意|最合适"
        "|最符合|是正確的|正確|是正確答案|是正確選項|项正确|项是正确|选项正确|选项是正确|項正確|選項正確"
        "|項是正確|選項是正確|项符合|选项符合|项最|选项最|是最|为正确|為正確|才是正确|项是对的|对|是我的答案"
    ),
    fillers=_words(
        "选项|選項|选|選|第|字母|就是|应该|應該|应该是|應該是|最可能|可能是|显然|顯然|我认为|我認為|的|了"
        "|下列|图片|图中|一个|一只|一隻|一條|一辆|一種|一种|個|个"
    ),
    nouns=_words("选项|選項|选|選|答|答案|我选|我選"),
    suffixes=_words("项|選項|选项|項|是正确的|吧|。|呀|啊"),
    conditions=_words("如果|假如|若|倘若|假设|假設|要是|是否|即使|即便|万一|也许会|假定|如若|除非|就算|倘"),
    denials=_words(
        "不是|不|非|并非|並非|没有|沒有|没|沒|未|别|勿|错误|錯誤|不应|不能|无法|無法|排除|并不|並不|绝不|而非"
        "|不选|不選|误选|错|錯|否定|除了|不可能"
    ),
    denials_after=_words("不正确|错误|不对|不是|不符合|是错|被排除|不正確|錯誤|不對|是錯|不可能|排除|有误|不合"),
    joins=_words("或|或者|和|与|與|及|还是|還是|以及|、|跟"),
    causes=_words("因为|因為|由于|由於"),
)
JAPANESE = Phrases(
    corrections=_words("訂正"),
    denying_contrasts=_words("ではなく|ではなくて|じゃなくて|でなく"),
    label_subjects=_words("選択肢"),
    distributives=_words("各|それぞれの|すべての|全ての|他の|以下の"),
    bare_subjects=_words(
        "答え|解答|正解|回答|答|正解の選択肢|正しい選択肢|最終回答|最終的な答え|正しい答え|適切な選択肢|正答"
        "|選んだ選択肢|こたえ|結論|最も適切なの|適切なの|正しいの|正解なの|適切なもの|正しいもの"
        "|最も適切なもの"
    ),
    links=_words("は|が|としては|は、|はおそらく|は明らかに|はやはり|は選択肢|も|：|となるのは|になるのは"),
    weak=_words("それは|これは|つまり|ゆえに|私は|よって|したがって"),
    predicates=_words(
        "が正解|が正しい|が答え|を選びます|を選ぶ|を選択|が適切|が正答|が最も|だと思います|だと考え"
        "|と思います|が該当|で正解|が当てはまり|を回答|が正しく|になります|となります|が最適|に決まり"
        "|にします|を解答|を選ん"
    ),
    fillers=_words("選択肢|選択肢の|記号|記号の|おそらく|明らかに|、|やはり|番号|たぶん|多分|もちろん|間違いなく"),
    nouns=_words("選択肢|選択肢の|記号|答え|回答"),
    suffixes=_words(
        "です|だ|である|でしょう|です。|番|番です|の選択肢|になります|となります|が正解|が正解です"
        "|だと思います|かな|と思います|ですね|を選びます"
    ),
    conditions=_words("もし|仮に|たとえ|かどうか|なら|ならば|だったら|であれば|としたら|とすれば|場合"),
    denials=_words("不正解|間違い|誤り|誤った|間違った"),
    denials_after=_words(
        "ではな|ではありません|じゃな|じゃありません|でない|は誤り|は間違|は不正解|は違|が誤り|とは限"
        "|ではなかった|は正しくな|は正解ではな|なら|だったら|であれば|ならば|かどうか|としたら|が正解なら"
        "|が答えなら|が正解だったら|は除外"
    ),
    joins=_words("か|または|もしくは|と|や|及び|および|あるいは|それとも|でも"),
    causes=_words("なぜなら|理由は"),
)
KOREAN = Phrases(
    corrections=_words("정정"),
    denying_contrasts=_words("가 아니라|이 아니라|아니라"),
    distributives=_words("각|모든|다른|각각의"),
    bare_subjects=_words(
        "정답|답|답변|대답|최종 답|최종 정답|최종 답변|올바른 답|옳은 답|올바른 선택지|선택|옳은 것|올바른 것"
        "|해답|결론|정답지|알맞은 답|맞는 답"
    ),
    links=_words("은|는|이|가|:|으로는|로는|은 바로|는 바로|입니다"),
    weak=_words("그것은|이것은|즉|따라서|그러므로|저는|나는"),
    predicates=_words(
        "가 정답|이 정답|가 답|이 답|가 맞|이 맞|를 선택|을 선택|를 고르|을 고르|를 골|을 골|가 옳|이 옳"
        "|번이 정답|번이 답|번을 선택|가 올바|이 올바|번을 고르|번이 맞|이라고 생각|라고 생각|번이 옳"
        "|번이라고|가 가장|이 가장|번이 올바"
    ),
    fillers=_words("보기|선택지|옵션|번|아마|아마도|바로|분명히|확실히|선지|당연히"),
    nouns=_words("보기|선택지|옵션|답|정답|선지"),
    suffixes=_words(
        "번|입니다|이다|예요|이에요|번입니다|번이다|에요|임|다|요|번이에요|이에요.|인 것 같습니다"
        "|라고 생각합니다|가 정답입니다|네요"
    ),
    conditions=_words("만약|만일|혹시|가령|설령"),
    denials=_words("오답|틀린|잘못된"),
    denials_after=_words(
        "가 아니|이 아니|는 아니|은 아니|가 아닙|이 아닙|는 아닙|은 아닙|번이 아닙|아닙니다|아니다|아니라"
        "|라면|이라면|는 틀|은 틀|가 틀|이 틀|는 오답|은 오답|였다면|이었다면|가 정답이라면|이 정답이라면"
        "|일 경우|가 답이라면|번이 아니|번은 아니|번은 틀|번이라면|인지"
    ),
    joins=_words("또는|혹은|이나|나|와|과|및|하고|아니면"),
    causes=_words("왜냐하면|이유는"),
)
SPANISH = Phrases(
    corrections=_words("corrección|en realidad|mejor dicho|perdón"),
    contrasts=_words("sino|sino la|sino que es"),
    distributives=_words("cada|todas las|por|cualquier|otra|ambas"),
    subjects=_words(
        "opción correcta|alternativa correcta|la correcta|mi elección|mejor opción|elección correcta"
        "|letra correcta|mi opción|solución|opción adecuada"
    ),
    bare_subjects=_words("respuesta|respuesta correcta|respuesta final|resp"),
    gaps=_words("correcta|final|a|es claramente|para|de|más|adecuada|definitiva|que|más probable"),
    links=_words("es|debe ser|tiene que ser|es la opción|es la|parece ser|debería ser"),
    verbs=_words("elijo|escojo|selecciono|me quedo con|yo diría|elegiría|opto por|diría que es|voy con"),
    weak=_words("es|es la|por lo tanto|por tanto|creo que es|creo que es la|así que|elegir|elegimos"),
    predicates=_words(
        "es la respuesta|es correcta|es la correcta|es la opción correcta|es correcto|es la mejor"
        "|es la opción|es el correcto"
    ),
    fillers=_words(
        "la|el|un|una|los|probablemente|claramente|por tanto|por lo tanto|seguramente|entonces|por supuesto"
        "|sin duda|que es"
    ),
    nouns=_words("opción|letra|alternativa|respuesta|inciso|opcion|la opción|la letra|la respuesta|literal"),
    initial_conditions=("si",),
    conditions=_words("supongamos|suponiendo|suponer|en caso|ojalá"),
    denials=_words("no|nunca|tampoco|incorrecta|incorrecto|errónea|equivocada|falsa|ni|sin|jamás|descarto|excepto"),
    denials_after=_words(
        "no es|es incorrecta|es incorrecto|es falsa|queda descartada|está mal|es errónea|no puede ser"
    ),
    joins=_words("o|u|y|e|ni"),
    reasons=_words("porque|ya que|pues|puesto|dado|debido|según|donde|que|como|en|con|por|pero|aunque"),
    causes=_words("porque|ya que|puesto que|dado que"),
)
FRENCH = Phrases(
    corrections=_words("correction|en fait|ou plutôt"),
    contrasts=_words("mais|mais la|mais plutôt"),
    distributives=_words("chaque|toutes les|par|autre|toute"),
    subjects=_words(
        "bonne option|option correcte|choix correct|bon choix|mon choix|meilleure option|meilleur choix"
        "|meilleure réponse|lettre correcte|solution|l'option correcte"
    ),
    bare_subjects=_words("réponse|bonne réponse|réponse correcte|réponse finale|reponse"),
    gaps=_words("correcte|finale|à|est donc|exacte|pour|de|la plus|juste|que|attendue|appropriée|définitive"),
    links=_words("est|c'est|est donc|doit être|est l'option|est la|est bien|semble être|est clairement|sera"),
    verbs=_words(
        "je choisis|je sélectionne|je dirais|j'opte pour|je prends|je répondrais|je réponds|je choisirais"
        "|je retiens|nous choisissons|j'ai choisi"
    ),
    weak=_words(
        "c'est|c'est la|donc|je pense que c'est|je pense que c'est la|par conséquent|ainsi|il s'agit de|choisir"
    ),
    predicates=_words(
        "est la bonne|est correcte|est la réponse|est correct|est juste|est la meilleure"
        "|est l'option correcte|est exacte|est le bon choix"
    ),
    fillers=_words(
        "la|le|l'|un|une|les|donc|bien|probablement|clairement|sans doute|sûrement|évidemment|certainement"
        "|plutôt|d'|que c'est|qu'il s'agit de"
    ),
    nouns=_words("option|lettre|réponse|choix|proposition|l'option|la lettre|la réponse|la proposition|le choix"),
    initial_conditions=("si",),
    conditions=_words("supposons|supposant|à supposer|au cas où|s'il|imaginons"),
    denials=_words(
        "ne|n'est|n'est pas|pas|jamais|non|incorrecte|mauvaise|fausse|ni|sans|aucun|aucune|n'a|n'ai|erronée"
        "|sauf|éliminé|écarte"
    ),
    denials_after=_words(
        "n'est pas|est incorrecte|est fausse|est incorrect|est faux|est éliminée|ne convient pas|ne peut pas"
    ),
    joins=_words("ou|et|ni"),
    reasons=_words("car|parce|puisque|étant|en|qui|comme|dans|avec|pour|mais|bien que|d'après|selon|donc"),
    causes=_words("parce que|parce qu'|puisque"),
)
GERMAN = Phrases(
    corrections=_words("korrektur|vielmehr|moment"),
    contrasts=_words("sondern"),
    distributives=_words("jede|jeder|jedes|jeden|jedem|alle|aller|allen|andere|anderen|pro"),
    subjects=_words(
        "richtige option|korrekte option|richtige wahl|meine wahl|beste option|beste wahl|richtige auswahl"
        "|korrekte auswahl|lösung|richtige lösung|richtige buchstabe|auswahl|meine auswahl"
    ),
    bare_subjects=_words(
        "antwort|richtige antwort|korrekte antwort|endgültige antwort|antwortmöglichkeit|antwortoption"
    ),
    gaps=_words("auf|zu|für|hier|ist also|der|die|in|lautet also|muss|somit|daher"),
    links=_words("ist|lautet|lautet also|ist also|muss sein|ist daher|ist somit|ist option|muss|ist eindeutig|heißt"),
    verbs=_words(
        "richtig ist|korrekt ist|richtig wäre"
        "|ich wähle|ich entscheide mich für|ich nehme|wähle ich|ich würde sagen|ich tippe auf|ich sage"
        "|ich wähle also|entscheide ich mich für|wählen wir|ich würde wählen"
    ),
    weak=_words("es ist|das ist|also|daher|somit|folglich|ich denke|ich glaube|es muss"),
    predicates=_words(
        "ist richtig|ist korrekt|ist die richtige|ist die korrekte|ist die antwort|ist die beste|stimmt"
        "|ist meine antwort|trifft zu|ist die lösung"
    ),
    fillers=_words(
        "die|der|das|ein|eine|einen|den|also|wahrscheinlich|vermutlich|daher|somit|eindeutig|wohl|sicher"
        "|sicherlich|natürlich|klar|folglich"
    ),
    nouns=_words(
        "option|antwort|buchstabe|antwortmöglichkeit|möglichkeit|auswahl|die antwort|die option|antwortoption"
    ),
    initial_conditions=_words("wäre|sollte|hätte"),
    conditions=_words("wenn|falls|angenommen|ob|nehmen wir an"),
    denials=_words(
        "nicht|kein|keine|keinen|nie|niemals|falsch|falsche|falschen|inkorrekte|weder|nein|ohne|außer|ausgeschlossen"
    ),
    denials_after=_words(
        "ist nicht|ist falsch|ist inkorrekt|stimmt nicht|trifft nicht|scheidet aus|ist ausgeschlossen|kann nicht"
    ),
    joins=_words("oder|und|bzw|noch"),
    reasons=_words("weil|da|denn|wegen|aufgrund|welche|die|wie|in|mit|für|aber|obwohl|laut|richtig"),
    causes=_words("weil|denn"),
)
PORTUGUESE = Phrases(
    corrections=_words("correção|na verdade|aliás"),
    contrasts=_words("mas|mas sim|e sim"),
    distributives=_words("cada|todas as|por|qualquer|outra"),
    subjects=_words(
        "opção correta|alternativa correta|letra correta|minha escolha|melhor opção|escolha correta|gabarito"
        "|solução|a correta|opção certa"
    ),
    bare_subjects=_words("resposta|resposta correta|resposta final|resposta certa"),
    gaps=_words("correta|final|certa|para|à|a|da|mais|é portanto|que|adequada|definitiva"),
    links=_words("é|é a|deve ser|é a opção|é a letra|tem que ser|parece ser|é portanto"),
    verbs=_words("escolho|eu escolho|seleciono|eu seleciono|opto por|eu diria|fico com|escolheria|marco|vou com"),
    weak=_words("é|é a|portanto|logo|acho que é|acho que é a|então"),
    predicates=_words(
        "é a correta|está correta|é a resposta|é correta|é a opção correta|é a alternativa|está certa"
        "|é a certa|é a melhor|é o correto"
    ),
    fillers=_words("a|o|um|uma|os|as|provavelmente|claramente|portanto|então|certamente|com certeza|que é|sem dúvida"),
    nouns=_words("opção|letra|alternativa|resposta|item|a opção|a letra|a alternativa|a resposta"),
    initial_conditions=("se",),
    conditions=_words("suponha|supondo|digamos|caso a|caso o|caso fosse|caso seja"),
    denials=_words("não|nunca|nem|incorreta|incorreto|errada|falsa|jamais|nenhum|nenhuma|sem|exceto|descarto"),
    denials_after=_words("não é|está incorreta|está errada|é incorreta|é falsa|não está|é errada|não pode"),
    joins=_words("ou|e|nem"),
    reasons=_words("porque|pois|já que|uma vez|devido|que|como|em|com|por|mas|embora|segundo|visto"),
    causes=_words("porque|pois|já que"),
)
ITALIAN = Phrases(
    corrections=_words("correzione|anzi|in realtà"),
    contrasts=_words("ma|bensì|ma la"),
    distributives=_words("ogni|ciascuna|tutte le|per|altra|ciascun"),
    subjects=_words(
        "opzione corretta|scelta corretta|lettera corretta|la mia scelta|alternativa corretta|soluzione"
        "|migliore opzione|opzione giusta|scelta giusta|quella corretta"
    ),
    bare_subjects=_words("risposta|risposta corretta|risposta esatta|risposta giusta|risposta finale"),
    gaps=_words("corretta|esatta|giusta|finale|alla|a|per|è quindi|della|più|che|definitiva"),
    links=_words("è|e'|è la|deve essere|è l'opzione|è quindi|sembra essere|è la lettera|dovrebbe essere"),
    verbs=_words("scelgo|seleziono|opto per|direi|io scelgo|sceglierei|ho scelto|rispondo|scegliamo"),
    weak=_words("è|è la|quindi|pertanto|penso che sia|penso sia|credo sia|dunque"),
    predicates=_words(
        "è corretta|è la risposta|è quella corretta|è la corretta|è giusta|è l'opzione corretta|è corretto"
        "|è esatta|è la scelta|è quella giusta"
    ),
    fillers=_words(
        "la|il|l'|un|una|lo|uno|i|le|un'|probabilmente|chiaramente|quindi|sicuramente|certamente|senza dubbio"
        "|dunque|che sia"
    ),
    nouns=_words("opzione|lettera|alternativa|risposta|scelta|l'opzione|la lettera|la risposta|la scelta"),
    initial_conditions=("se",),
    conditions=_words("supponiamo|supponendo|qualora|ammesso"),
    denials=_words("non|mai|né|sbagliata|errata|falsa|scorretta|nessuna|nessun|senza|tranne|escludo"),
    denials_after=_words("non è|è sbagliata|è errata|è falsa|è scorretta|non può|è da escludere"),
    joins=_words("o|oppure|e|né|ed"),
    reasons=_words("perché|poiché|in quanto|dato|dal|che|come|in|con|per|ma|siccome|visto|secondo"),
    causes=_words("perché|poiché"),
)
RUSSIAN = Phrases(
    corrections=_words("исправление|точнее|поправка"),
    contrasts=_words("а|но"),
    distributives=_words("каждый|каждого|каждую|каждая|каждом|все|всех|другой|любой"),
    bare_subjects=_words(
        "ответ|правильный ответ|верный ответ|мой ответ|окончательный ответ|итоговый ответ|правильный вариант"
        "|верный вариант|правильный вариант ответа|верный вариант ответа|мой выбор|правильная буква"
        "|правильным ответом|верным ответом|решение|правильным вариантом|правильный выбор"
    ),
    gaps=_words("на|к|для|здесь|по|в|скорее всего|на этот|ответа"),
    links=_words("это|является|будет|есть|—|-|–|находится под буквой|под буквой|значит|таков"),
    verbs=_words("выбираю|я выбираю|выберу|я бы выбрал|останавливаюсь на|я выбрал|выбираем"),
    weak=_words("это|значит|следовательно|таким образом|я думаю|поэтому|думаю|выбрать|выбрал"),
    predicates=_words(
        "правильный ответ|верный ответ|является правильным|является верным|правильный|верный|верно|правильно"
        "|правильный вариант|верный вариант|является ответом|подходит|— правильный ответ|— верный ответ"
        "|это правильный"
    ),
    fillers=_words("это|—|-|–|скорее всего|вероятно|очевидно|конечно|именно|безусловно|наверное|несомненно|, конечно"),
    nouns=_words("вариант|буква|под буквой|ответ|опция|пункт|вариант ответа|номер"),
    conditions=_words("если|бы|предположим|допустим|был бы|ли"),
    denials=_words(
        "не|нет|никогда|неправильный|неверный|неправильный ответ|ни|ложный|без|кроме|исключаем|ошибочный|нельзя"
    ),
    denials_after=_words(
        "не является|неверен|неверный|неправильный|не подходит|неверно|неправильно|исключается|— неверный"
        "|— неправильный|не может"
    ),
    joins=_words("или|и|либо|ни"),
    reasons=_words("потому|так как|поскольку|ведь|из-за|который|где|в|на|но|хотя|это"),
    causes=_words("потому что|так как|поскольку"),
)
TURKISH = Phrases(
    distributives=_words("her|her bir|tüm|diğer"),
    bare_subjects=_words(
        "cevap|doğru cevap|yanıt|doğru yanıt|cevabım|yanıtım|doğru şık|doğru seçenek|cevabı|yanıtı"
        "|nihai cevap|son cevap|seçimim|sorunun cevabı|doğru cevabı|doğru olan|doğru seçim|sonuç"
    ),
    links=_words("ise|olarak|şudur|olmalı|budur"),
    weak=_words("bu|o halde|dolayısıyla|yani|bu nedenle"),
    predicates=_words(
        "doğru|doğrudur|doğru cevaptır|doğru cevap|doğru yanıt|doğru seçenektir|şıkkıdır|seçeneğidir"
        "|şıkkını seçiyorum|seçiyorum|seçeneğini seçiyorum|şıkkı doğrudur|seçeneği doğrudur|şıkkı doğru"
        "|seçeneği doğru|şıkkı|seçeneği|cevabını seçiyorum"
    ),
    after=_words("seçiyorum|şıkkını|şıkkıdır|seçeneğidir|olacaktır|şıkkı|seçeneği|olmalıdır|olarak|olur"),
    fillers=_words("muhtemelen|kesinlikle|açıkça|bir|tabii ki|elbette|büyük ihtimalle|sanırım"),
    nouns=_words("seçenek|şık|harf|cevap|şıkkı"),
    suffixes=_words(
        "şıkkı|seçeneği|'dır|'dir|'dur|'dür|'tır|'tir|şıkkıdır|seçeneğidir|şıkkı doğrudur|'yi seçiyorum|cevabı"
    ),
    conditions=_words("eğer|şayet|olsaydı|farz|varsayalım|diyelim"),
    denials=_words("değil|yanlış|hatalı|yanlış cevap|hariç"),
    denials_after=_words("değil|değildir|yanlış|yanlıştır|olsaydı|olamaz|olsa|hatalı|elenir"),
    joins=_words("veya|ya da|ve|yahut|ile"),
    reasons=_words(
        "çünkü|zira|nedeniyle|dolayı|seçeneği|şıkkı|seçeneğidir|şıkkıdır|olarak|olmalıdır|olacaktır|doğrudur"
        "|doğru|seçiyorum|olur|cevabıdır"
    ),
    causes=_words("çünkü"),
)
HINDI = Phrases(
    distributives=_words("प्रत्येक|हर|सभी|अन्य"),
    bare_subjects=_words("उत्तर|सही उत्तर|जवाब|सही जवाब|सही विकल्प|अंतिम उत्तर|मेरा उत्तर|मेरा जवाब|सही चुनाव|निष्कर्ष"),
    links=_words("है|हैं|होगा|यह है|हुआ"),
    weak=_words("यह|अतः|इसलिए|मैं|मेरी पसंद"),
    predicates=_words(
        "सही है|सही उत्तर|सही जवाब|सही विकल्प|उत्तर है|चुनता|चुनूंगा|चुनती|को चुनता|को चुनती|मेरा उत्तर|सही हैं|ठीक है|चुनूँगा"
    ),
    after=_words("है|हैं|होगा|चुनता|होना चाहिए"),
    fillers=_words("विकल्प|शायद|निश्चित रूप से|संभवतः|एक|स्पष्ट रूप से|अक्षर|केवल"),
    nouns=_words("विकल्प|अक्षर|उत्तर|जवाब"),
    suffixes=_words("है|।|विकल्प|सही है|है।|सही है।"),
    conditions=_words("यदि|अगर|मान लीजिए|मान लें"),
    denials=_words("नहीं|गलत|न|ना|मत"),
    denials_after=_words("नहीं|गलत|न हो|होता तो|होती तो|सही नहीं|उत्तर नहीं"),
    joins=_words("या|और|अथवा|एवं|तथा"),
    reasons=_words("क्योंकि"),
    causes=_words("क्योंकि"),
)
VIETNAMESE = Phrases(
    distributives=_words("mỗi|từng|các|tất cả|mọi"),
    bare_subjects=_words(
        "đáp án|đáp án đúng|câu trả lời|câu trả lời đúng|lựa chọn đúng|phương án đúng|đáp án chính xác"
        "|lựa chọn của tôi|câu trả lời cuối cùng|đáp án cuối cùng|trả lời|kết luận|lựa chọn chính xác"
        "|đáp án cần chọn|đáp án của tôi"
    ),
    gaps=_words("đúng|cuối|cho|chính|là đáp|của|đúng nhất|phù hợp|ở|cần"),
    links=_words("là|phải là|sẽ là|chính là|là phương án|nên là|chắc chắn là"),
    verbs=_words("tôi chọn|tôi sẽ chọn|mình chọn|em chọn|ta chọn|nên chọn|vậy chọn"),
    weak=_words("vậy|do đó|đó là|đây là|vì vậy|nên|tôi nghĩ là|chọn"),
    predicates=_words(
        "là đúng|là đáp án|là câu trả lời|đúng|là phương án đúng|là lựa chọn đúng|là chính xác|chính xác"
    ),
    fillers=_words("lựa chọn|phương án|đáp án|câu|chữ|chữ cái|có lẽ|chắc chắn|một|con|chiếc|cái|rõ ràng là|là"),
    nouns=_words("lựa chọn|phương án|đáp án|câu|chữ cái|chọn|ý"),
    conditions=_words("nếu|giả sử|giá mà|liệu|trong trường hợp"),
    denials=_words("không|không phải|chẳng|sai|chưa|đừng|ngoại trừ"),
    denials_after=_words("không phải|là sai|sai|không đúng|bị loại|không thể"),
    joins=_words("hoặc|hay|và"),
    reasons=_words("vì|bởi|do|cho|trong|với|nhưng|là"),
    causes=_words("vì|bởi vì"),
)
ARABIC = Phrases(
    distributives=_words("كل|جميع|أي"),
    bare_subjects=_words(
        "الإجابة|الاجابة|الإجابة الصحيحة|الاجابة الصحيحة|الجواب|الجواب الصحيح|الخيار الصحيح|الاختيار الصحيح"
        "|الإجابة النهائية|إجابتي|اجابتي|جوابي|اختياري|الحل|إجابة|جواب|الخيار الأنسب|الإجابة الأصح"
        "|الاجابة النهائية|الجواب النهائي|الإجابه"
    ),
    gaps=_words("الصحيحة|الصحيح|النهائية|النهائي|على|عن|الصحيحه|لهذا|المناسبة|الأنسب"),
    links=_words("هي|هو|تكون|يكون|ستكون|إذن هي|ستكون هي"),
    verbs=_words("أختار|اخترت|اختار|سأختار|أختار الخيار|نختار|اختر"),
    weak=_words("إنه|إنها|إذن|لذلك|إذا ف|هذا|هذه"),
    predicates=_words(
        "هي الإجابة|هو الجواب|هي الصحيحة|هو الصحيح|صحيح|صحيحة|هو الخيار الصحيح|هي الإجابة الصحيحة|هو الأنسب"
    ),
    fillers=_words("الخيار|الحرف|هي|هو|رقم|خيار|حرف|على الأرجح|بالتأكيد|بالطبع|الاختيار|بوضوح|ربما"),
    nouns=_words("الخيار|الحرف|خيار|حرف|الإجابة|الجواب|الاختيار|الإجابة هي"),
    suffixes=_words("هي الإجابة الصحيحة|هو الجواب الصحيح"),
    conditions=_words("إذا|لو|إن كانت|إن كان|لنفترض|بافتراض|افترض|هل"),
    denials=_words("ليست|ليس|لا|غير|خاطئة|لم|لن|الخاطئة|خطأ|ما|الخاطئ|باستثناء|ليسا|دون|سوى"),
    denials_after=_words("ليست|ليس|خاطئة|خاطئ|غير صحيحة|غير صحيح|خطأ|مستبعد"),
    joins=_words("أو|و|أم|وأيضا"),
    reasons=_words("لأن|لأنه|لأنها|بسبب|حيث|التي|الذي|في|كما"),
    causes=_words("لأن|لأنه|لأنها"),
)

LANGUAGES = (
    ENGLISH,
    CHINESE,
    JAPANESE,
    KOREAN,
    SPANISH,
    FRENCH,
    GERMAN,
    PORTUGUESE,
    ITALIAN,
    RUSSIAN,
    TURKISH,
    HINDI,
    VIETNAMESE,
    ARABIC,
)

ARTICLE_LETTERS = frozenset("AI")
"""Capitals that are also words. Before a word, they count only if that word shows that they are letters."""

SCRIPT_LETTERS = {
    **dict.fromkeys("أاإ", "A"),
    "ب": "B",
    "ج": "C",
    "د": "D",
    "А": "A",
    "С": "C",
    "Б": "B",
    "Г": "D",
    "Α": "A",
    "Β": "B",
}
"""Letters of other scripts that can mean only one option, by their place or by their shape. Cyrillic ``В`` is missing:
it has the shape of the second letter, but the third place.
"""

PARTICLES = frozenset(
    _words(
        "은|는|이|가|을|를|의|에|도|만|와|과|로|으로|에서|입니다|이다|예요"
        "|이에요|이며|이고|라고|이라고|인|임|다|요|네요|이네요|였다|이었다|이므로|라서|이라서|입니다만|처럼"
        "|같은|같습니다|이란|란|들|들이|들은|부터|까지|보다|에게|한테|이나|나|이라|라|군요|이군요"
    )
)
"""Korean endings that may follow an option's text without a blank."""
