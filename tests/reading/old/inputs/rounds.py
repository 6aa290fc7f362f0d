def show(doc):
    return []


def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
    if previous_output is None:
        return doc["q"]
    if round_idx == 2:
        return [], "", True, [previous_output[-1]], None
    return [], f"You said {previous_output[-1]!r}. {doc['q']}", False, previous_output, None
