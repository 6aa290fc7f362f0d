"""The text of the pages: one for each benchmark, and the index. Knows the files' names but neither reads nor writes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from polymeter.api.catalog.facts import Facts, Unknown, Value
from polymeter.api.catalog.markdown import code, escape, fence, heading, link, paragraphs, table
from polymeter.api.catalog.samples import ShownSample
from polymeter.api.catalog.words import CHROME, Words
from polymeter.core.catalog import Problem
from polymeter.core.records import dataclass
from polymeter.core.registries import FORMATS, stored_format
from polymeter.data.source import BUILDERS
from polymeter.report.formatting import DASH

INDEX = "index.md"
SAMPLE = "sample"
"""The anchor of a page's sample."""
_PROMPT = "prompt"
_PROBLEMS = "problems"
_LONGEST = 6000


@dataclass(frozen=True, slots=True)
class Page:
    """The content of one page.

    Attributes:
        facts: The facts about the benchmark.
        sample: Its first sample; ``None`` if none was requested.
        reason: Why there is no sample, without the folders of this machine.
        problem: Why the benchmark cannot be used; empty if it can.
        members: The direct members of a group.
    """

    facts: Facts
    sample: ShownSample | None = None
    reason: str = ""
    problem: str = ""
    members: tuple[str, ...] = ()

    @property
    def has_sample(self) -> bool:
        """Whether the page shows a sample."""
        return self.sample is not None and bool(self.sample.requests)


@dataclass(frozen=True, slots=True)
class Links:
    """The files of all pages.

    Attributes:
        files: The file name of a benchmark's page, by the benchmark's name.
        languages: The languages in which pages are written.
    """

    files: Mapping[str, str]
    languages: Sequence[str] = field(default=("en",))


def benchmark_page(page: Page, links: Links, language: str) -> str:
    """The page of one benchmark as Markdown."""
    words, facts = CHROME[language], page.facts
    file = links.files[facts.entry.name]
    blocks = [heading(facts.title, 1), code(facts.entry.name), _navigation(links, language, file)]
    if page.problem:
        blocks += [heading(words["problems"], 2, _PROBLEMS), escape(words["broken"]), fence(page.problem)]
    blocks += [_words_of(facts.description, words), table((words["property"], words["value"]), _rows(page, words))]
    if facts.entry.kind == "group":
        blocks += [heading(words["members"], 2, "members"), _members(page.members, links)]
    if facts.prompts:
        blocks.append(heading(words["prompt"], 2, _PROMPT))
        for key, text in facts.prompts:
            blocks += [code(key), _block(text, words)]
    if facts.entry.kind == "task" and not page.problem:
        blocks += [heading(words["one_sample"], 2, SAMPLE), *_sample(page, words)]
        blocks += [heading(words["run"], 2, "run"), fence(_run_command(page), "console")]
    return "\n\n".join(block for block in blocks if block) + "\n"


def index_page(pages: Sequence[Page], problems: Iterable[Problem], links: Links, language: str) -> str:
    """The index as Markdown: a row for each page in the given order, then everything that cannot be used.

    Args:
        pages: The pages.
        problems: Files that could not be read as benchmarks.
        links: The files of the pages.
        language: The language of the index.
    """
    words = CHROME[language]
    head = [words[key] for key in ("name", "pretty_name", "kind", "tags", "judge", "sample")]
    blocks = [
        heading(words["title"], 1),
        _navigation(links, language, INDEX),
        words["about"].format(n=sum(page.facts.entry.kind == "task" for page in pages)),
        table(head, (_index_row(page, links, words) for page in pages)),
    ]
    broken = [f"- {_link_to(page.facts.entry.name, links)}: {code(page.problem)}" for page in pages if page.problem]
    broken += [f"- {code(problem.where)}: {escape(problem.message)}" for problem in problems]
    if broken:
        blocks += [heading(words["problems"], 2, _PROBLEMS), "\n".join(broken)]
    return "\n\n".join(blocks) + "\n"


def _index_row(page: Page, links: Links, words: Words) -> list[str]:
    facts = page.facts
    name = code(facts.entry.name, in_table=True)
    target = links.files[facts.entry.name]
    return [
        link(name, target),
        escape(facts.title),
        escape(_kind(facts, words)),
        _codes(facts.tags, words),
        DASH if page.problem or facts.entry.kind == "group" else escape(words[f"judge_{_judge(page)}"]),
        link("✓", target, SAMPLE) if page.has_sample else link("✗", target, _PROBLEMS) if page.problem else DASH,
    ]


def _navigation(links: Links, language: str, file: str) -> str:
    others = [link(CHROME[other]["language"], f"../{other}/{file}") for other in links.languages if other != language]
    up = [] if file == INDEX else [link(CHROME[language]["index"], INDEX)]
    return " · ".join([*up, *others])


def _rows(page: Page, words: Words) -> Iterator[tuple[str, str]]:
    facts = page.facts
    requests = "; ".join(words[kind] for kind in facts.requests)
    yield words["name"], code(facts.entry.name, in_table=True)
    yield words["pretty_name"], escape(facts.title)
    yield words["kind"], escape(_kind(facts, words))
    yield words["file"], code(facts.place, in_table=True)
    yield words["tags"], _codes(facts.tags, words)
    if facts.entry.kind == "group" or (page.problem and not facts.dataset):
        return
    yield words["dataset"], _codes([facts.dataset], words)
    yield words["subsets"], _codes(facts.subsets, words)
    yield words["splits"], _pairs(facts.splits, words)
    yield words["outputs"], _codes(facts.outputs, words)
    yield words["asks"], escape(requests) or DASH
    yield words["metrics"], _codes(facts.metrics, words)
    yield words["few_shot"], _codes([facts.few_shot], words)
    yield words["judge"], escape(words[f"judge_{_judge(page)}"])
    yield words["packages"], _codes(facts.entry.packages, words)
    if facts.settings:
        yield words["settings"], _pairs(facts.settings, words)


def _kind(facts: Facts, words: Words) -> str:
    name = facts.entry.format
    label = FORMATS.get(name).labels.get(words["code"]) or stored_format(name)
    return f"{label}, {words['group']}" if facts.entry.kind == "group" else label


def _judge(page: Page) -> str:
    is_used = page.sample is not None and page.sample.needs_judge
    return "yes" if is_used else page.facts.judge


def _members(names: Sequence[str], links: Links) -> str:
    return "\n".join(f"- {_link_to(name, links)}" for name in names)


def _link_to(name: str, links: Links) -> str:
    target = links.files.get(name)
    return link(code(name), target) if target else code(name)


def _codes(values: Iterable[Value], words: Words) -> str:
    """Values as code for a cell of a table."""
    return ", ".join(_cell(value, words) for value in values if value != "") or DASH


def _cell(value: Value, words: Words) -> str:
    if isinstance(value, Unknown):
        return words["unknown"].format(source=code(value.source, in_table=True))
    return code(value, in_table=True)


def _pairs(pairs: Iterable[tuple[str, Value]], words: Words) -> str:
    return "<br>".join(f"{code(key, in_table=True)}: {_cell(value, words)}" for key, value in pairs) or DASH


def _words_of(text: Value, words: Words) -> str:
    if isinstance(text, Unknown):
        return words["unknown"].format(source=code(text.source))
    return paragraphs(text)


def _block(text: Value, words: Words) -> str:
    if isinstance(text, Unknown):
        return words["unknown"].format(source=code(text.source))
    return fence(_cut(text, words))


def _cut(text: str, words: Words) -> str:
    n_more = len(text) - _LONGEST
    return text if n_more <= 0 else f"{text[:_LONGEST]}\n{words['cut'].format(n=n_more)}"


def _sample(page: Page, words: Words) -> Iterator[str]:
    sample = page.sample
    if sample is None:
        yield escape(words["not_asked"])
        yield words["get_sample"]
        yield fence(_docs_command(page), "console")
        return
    if not sample.requests:
        yield escape(words["no_data"])
        yield fence(page.reason)
        if isinstance(page.facts.dataset, str) and _is_id(page.facts.dataset):
            yield words["get_data"]
            yield fence(f"{_docs_command(page)} --data {page.facts.dataset}=FOLDER", "console")
        return
    yield words["sample_of"].format(id=code(sample.id), n=f"{sample.n_samples:,}")
    for number, request in enumerate(sample.requests, 1):
        if len(sample.requests) > 1:
            yield escape(words["asked_together"].format(i=number, n=len(sample.requests)))
        for role, text in request.messages:
            yield words["role"].format(role=code(role))
            yield fence(_cut(text, words))
        yield f"→ {code(request.parameters)}"


def _is_id(dataset: str) -> bool:
    return bool(dataset) and dataset not in BUILDERS and not any(char in dataset for char in " …\n")


def _docs_command(page: Page) -> str:
    entry = page.facts.entry
    include = " --include-path FOLDER" if entry.is_user else ""
    return f"polymeter docs {shlex.quote(entry.name)}{include}"


def _run_command(page: Page) -> str:
    entry = page.facts.entry
    include = " --include-path FOLDER" if entry.is_user else ""
    judge = " --judge JUDGE" if _judge(page) == "yes" else ""
    return f"polymeter run --model MODEL --tasks {shlex.quote(entry.name)}{include}{judge}"
