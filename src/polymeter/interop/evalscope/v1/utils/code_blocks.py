"""Code in a model's text: in fences, in a fence that does not end, or by its look."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel

from polymeter.metrics.bounded import bounded

IMPORT_HELPER: Mapping[str, list[str]] = {
    "python": [
        "import math",
        "import re",
        "import sys",
        "import copy",
        "import datetime",
        "import itertools",
        "import collections",
        "import heapq",
        "import statistics",
        "import functools",
        "import hashlib",
        "import numpy",
        "import numpy as np",
        "import string",
        "from typing import *",
        "from collections import *",
    ],
    "cpp": [
        "using namespace std;",
        "#include<optional>",
        "#include<cassert>",
        "#include<stdlib.h>",
        "#include<algorithm>",
        "#include<cmath>",
        "#include<math.h>",
        "#include<numeric>",
        "#include<stdio.h>",
        "#include<vector>",
        "#include<set>",
        "#include<map>",
        "#include<queue>",
        "#include<stack>",
        "#include<list>",
        "#include<deque>",
        "#include<boost/any.hpp>",
        "#include<string>",
        "#include<climits>",
        "#include<cstring>",
        "#include<iostream>",
        "#include<sstream>",
        "#include<fstream>",
    ],
    "java": [
        "import java.util.*;",
        "import java.lang.reflect.*;",
        "import org.javatuples.*;",
        "import java.security.*;",
        "import java.math.*;",
        "import java.io.*;",
        "import java.util.stream.*;",
    ],
    "csharp": [
        "using System;",
        "using System.Numerics;",
        "using System.Diagnostics;",
        "using System.Collections.Generic;",
        "using System.Linq;",
        "using System.Text;",
        "using System.Security.Cryptography;",
        "using System.Collections.Generic;",
    ],
    "go": [
        'import ("fmt")',
    ],
    "d": [
        "import std.array;",
        "import std.algorithm;",
    ],
}
"""Lines that programs of a language may need in front."""

_ENDS = {"\nend": "julia lua ruby", "\n}": "cpp csharp typescript perl r d go js php"}
END_TOKENS: Mapping[str, list[str]] = {
    language: [end] for end, languages in _ENDS.items() for language in languages.split()
}
"""Texts that end a block of a language."""

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "python": ("python", "Python", "py", "Python3", "python3", "PY"),
    "cpp": ("cpp", "c++", "C++", "Cpp", "CPP"),
    "nodejs": ("javascript", "Javascript", "JavaScript", "JS", "js"),
    "go": ("go", "Go"),
    "java": ("java", "Java"),
    "csharp": ("csharp", "c#", "C#"),
    "bash": ("bash", "Bash", "BASH", "sh", "shell"),
    "typescript": ("typescript",),
    "rust": ("rust", "Rust", "rs"),
    "sql": ("sql", "SQL", "Sql"),
    "d": ("D", "d"),
    "julia": ("julia", "Julia", "jl"),
    "lua": ("lua", "Lua"),
    "php": ("php", "PHP"),
    "perl": ("perl", "Perl", "PERL"),
    "r": ("R", "r"),
    "ruby": ("ruby", "Ruby"),
    "scala": ("scala", "Scala"),
    "kotlin": ("kotlin", "Kotlin"),
    "c": ("c", "C"),
    "html": ("html", "Html", "HTML"),
    "javascript": ("javascript", "Javascript", "JavaScript"),
    "verilog": ("verilog", "Verilog", "VERILOG"),
    "racket": ("racket",),
    "swift": ("swift",),
}
"""Names of languages at the beginning of a fence."""

_LANGUAGE_OF = {alias: language for language, aliases in _ALIASES.items() for alias in aliases}
_FENCED = re.compile(r"```([^\n]*)\n(.*?)\n\s*```", re.DOTALL)
_OPEN = re.compile(r"```([^\n]*)\n(.*)", re.DOTALL)
_PYTHON = re.compile(r"(?:^(?:import|from|#)[^\n]+\n)*^(?:def|class) [^\n]+\n(?:\s+[^\n]+\n)+", re.M)
_SQL = re.compile(r"^\s*(?:select|with\s[^\n]+as)[^;]*", re.M | re.IGNORECASE)
_MAIN = {"python": 'if __name__ == "__main__":', "cpp": "int main()"}
_EXAMPLE = "# Example usage"
_JAVA_MAIN, _JAVA_CLASS = "public class Main {\n", "class Solution {\n"


class ExtractedType(Enum):
    """Ways in which code is found."""

    Fenced = "fenced"
    IncompleteFenced = "incomplete_fenced"
    Heuristic = "heuristic"
    Empty = "empty"


class CodeBlock(BaseModel):
    """A piece of code.

    Attributes:
        priority: The larger it is, the surer it is code.
        language: Its language; empty if it is not known.
        code: The code.
    """

    priority: int
    language: str
    code: str


def extract_fenced_code(completion: str) -> list[CodeBlock]:
    """The code in fences, in its order."""
    return [_block(30, name, code) for name, code in _found("fenced", completion)]


def extract_incomplete_fenced_code(completion: str) -> list[CodeBlock]:
    """All that follows the first fence, whether that ends or not."""
    return [_block(20, name, code) for name, code in _found("open", completion)]


def extract_heuristic_code(completion: str, language: str = "") -> list[CodeBlock]:
    """Parts that look like Python or SQL; of Bash, all lines."""
    text = "\n".join(line for line in completion.split("\n") if line.strip()) + "\n"
    if language == "bash":
        return [CodeBlock(priority=10, language=language, code=text)]
    if language not in ("python", "sql"):
        return []
    return [CodeBlock(priority=10, language=language, code=code) for code in _found(language, text)]


def adjust_code_block(code_blocks: Sequence[CodeBlock], language: str) -> list[CodeBlock]:
    """The blocks, of which those with the language's name as their first line lose it."""
    for block in code_blocks if language in _ALIASES else ():
        lines = block.code.splitlines()
        if not block.language and lines and lines[0].strip() in _ALIASES[language]:
            block.language, block.code = language, "\n".join(lines[1:])
    return list(code_blocks)


def filter_language(blocks: Sequence[CodeBlock], language: str) -> list[CodeBlock]:
    """The blocks of a language."""
    return [block for block in blocks if block.language == language]


def default_extract_helper(completion: str, language: str = "") -> str:
    """The first of the surest blocks, those of the language first; empty without code."""
    blocks = [
        *extract_fenced_code(completion),
        *extract_heuristic_code(completion, language),
        *extract_incomplete_fenced_code(completion),
    ]
    best = max((block.priority for block in blocks), default=0)
    surest = [block for block in blocks if block.priority == best]
    chosen = filter_language(surest, language) or surest
    return chosen[0].code if chosen else ""


def remove_entripoints(code: str, language: str = "") -> str:
    """The code up to what runs it."""
    mark = _MAIN.get(language)
    if mark and mark in code:
        code = code[: code.index(mark)].strip()
    if language == "go":
        code = code.replace("package main", "")
    return code[: code.index(_EXAMPLE)].strip() if _EXAMPLE in code else code


def extract_code_from_freeform_completion(
    completion: str, language: str = "", first_block_only: bool = False, **kwargs: Any
) -> tuple[str, str]:
    """The code of a text, and how it was found: in fences, else in one that does not end, else by its look.

    Args:
        completion: The text.
        language: The language.
        first_block_only: The first block alone; else all, with empty lines between them.
        **kwargs: ``is_fewshot_task``: nothing after the first block of the language; ``exactly_match``: no blocks of
            other languages; ``code_block_idx``: the number of the only block; ``remove_asserts``; for Java
            ``entry_point`` and ``declaration``.
    """
    blocks, kind = extract_fenced_code(completion), ExtractedType.Fenced
    if kwargs.get("is_fewshot_task") is True:
        blocks = _up_to_the_first(blocks, language)
    if kwargs.get("exactly_match") is True and language:
        others = {alias for name, aliases in _ALIASES.items() if name != language for alias in aliases}
        blocks = [block for block in blocks if block.language not in others]
    if not blocks:
        blocks, kind = extract_incomplete_fenced_code(completion), ExtractedType.IncompleteFenced
    if not blocks:
        blocks, kind = extract_heuristic_code(completion, language), ExtractedType.Heuristic
    if not blocks:
        kind = ExtractedType.Empty
    at = kwargs.get("code_block_idx")
    if at is not None:
        blocks = blocks[at:][:1] if at >= -len(blocks) else []
    elif first_block_only:
        blocks = blocks[:1]
    code = "\n\n".join(block.code for block in blocks).replace("\r", "")
    if language == "python" and kwargs.get("remove_asserts") is True:
        code = "\n".join(line for line in code.split("\n") if not line.startswith("assert "))
    if language == "java":
        code = _java(code, str(kwargs.get("entry_point") or ""), kwargs.get("declaration", ""))
    return remove_entripoints(code, language), kind.value


def _block(priority: int, name: str, code: str) -> CodeBlock:
    return CodeBlock(priority=priority, language=_LANGUAGE_OF.get(name.strip(), ""), code=code)


@bounded
def _found(kind: str, text: str) -> list[Any]:
    return {"fenced": _FENCED, "open": _OPEN, "python": _PYTHON, "sql": _SQL}[kind].findall(text)


def _up_to_the_first(blocks: list[CodeBlock], language: str) -> list[CodeBlock]:
    """The blocks up to the first of the language, else up to the first without one."""
    names = [block.language for block in blocks]
    first = next((names.index(name) for name in (language, "") if name in names), None)
    return blocks if first is None else blocks[: first + 1]


def _java(code: str, entry_point: str, declaration: str) -> str:
    """Code as the class ``Solution``, with the imports of the declaration."""
    if _JAVA_MAIN in code:
        code = code.replace(_JAVA_MAIN, _JAVA_CLASS).replace("public static void main(String[] args)", "")
    if "class Solution" not in code and entry_point:
        line = next((line for line in code.split("\n") if entry_point in line), None)
        if line is not None:
            code = code.replace(line, _JAVA_CLASS + line) + "\n}"
    for line in declaration.split("\n"):
        if "import" in line:
            code = f"{line}\n{code}"
    return code
