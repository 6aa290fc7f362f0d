"""Hooks of the made tasks."""


def question(doc):
    return f"{doc['question']} ({doc['keeper']} asks)"


def habit(doc):
    return int(doc["eggs"]) % 2


def without_short_songs(songs):
    return songs.filter(lambda song: len(song["song"]) > 10)


def named(doc, results):
    said = results[0].lower()
    return {"named": float(any(name.lower() in said for name in doc["names"])), "length": len(said)}


def share(values):
    return 100 * sum(values) / len(values)
