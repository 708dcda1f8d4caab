"""Count the private dialect of the text: phrases and names for which the field has better words.

And sentences that are too long to be read once.

    python -m benchmarks.prose --since HEAD^     changed files whose counts rose
    python -m benchmarks.prose fastcalc docs     counts of files and folders

A warning, never a gate: a word may be right where it stands. Each hit is a place to ask what a
performance engineer would write.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PHRASES = {
    "carry (throughput, sustain, hold)": r"\bcarr(?:y|ies|ied|ying)\b",
    "apart (disaggregated)": r"\bapart\b",
    "take in (prefill)": r"\b(?:takes?|taken|taking|took) in\b|\btakes? prompts\b",
    "lives in, has no place (placement, fits)": r"\blives? in\b|\bhas no place\b",
    "is of, are of": r"\b(?:is|are|was|were) of\b",
    "rests on (depends on)": r"\brests? on\b|\bhangs? on\b",
    "so many, as many": r"\bso many\b|\bas many\b|\bso much\b",
    "a for per (tokens/s per user)": (
        r"(?:tok(?:en)?s?/s|requests/s|\$|\$/Mtok|MB|GB|bytes|us|ms|seconds|tokens|dollars) an? "
        r"(?:user|month|chip|chip-hour|token|sequence|million|layer|request|second|replica|pass"
        r"|step|rank|kilowatt)\b"
    ),
    "fewer bits (quantized)": r"\bfewer bits\b|\bfull(?:er)? bits\b",
    "at the edge, for certain (tight, fits)": r"\bat the edge\b|\bfor certain\b",
    "people (users)": r"\bpeople\b",
    "trick (technique)": r"\btricks?\b",
    "what is not known (not published)": (
        r"\bnot known\b|\bwhat is not\b|\bnothing (?:published )?(?:says|tells|determines)\b"
    ),
    "left out, set aside (held out, skipped)": r"\bleft out\b|\bset aside\b|\bleft aside\b",
    "foretell, alike, besides, alongside": r"\bforetells?\b|\balike\b|\bbesides\b|\balongside\b",
    "Shipped are, Closest is (subject first)": (
        r"^(?:Shipped|Closest|Furthest|Weak|Left out|Set aside|Not known)\b"
    ),
}
"""Phrases by what they stand for, as regular expressions."""

VAGUE = frozenset(
    [
        "place",
        "places",
        "kind",
        "kinds",
        "part",
        "parts",
        "share",
        "shares",
        "each",
        "every",
        "least",
        "most",
        "way",
        "ways",
        "turn",
        "turns",
        "taking",
        "typed",
        "phrase",
        "told",
        "settled",
        "started",
        "added",
        "again",
    ]
)
"""Names that do not say what a value is."""


MOST_WORDS = 35
"""Words of a sentence at most, code in backticks counted as one. [1]"""

_END = re.compile(r"(?<=[.!?:;])\s+")
_NOT_PROSE = re.compile(r"\s*(?:[|#<!]|    )")


def texts(source: str, *, is_python: bool) -> Iterator[str]:
    """Docstrings and sentences of a module, or the lines of a page."""
    if not is_python:
        yield from source.splitlines()
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def names(source: str) -> Iterator[str]:
    """Names of variables and parameters of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def docstrings(source: str) -> Iterator[str]:
    """Docstrings of the functions of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from filter(None, [ast.get_docstring(node)])


def paragraphs(source: str) -> Iterator[str]:
    """Paragraphs and list items of a page, without tables, headings and code."""
    block, is_code = list[str](), False
    for line in [*source.splitlines(), ""]:
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line) is not None
        is_end = is_fence or is_code or is_item or not line.strip()
        if (is_end or _NOT_PROSE.match(line)) and block:
            yield " ".join(block)
            block = []
        if line.strip() and not is_fence and not is_code and not _NOT_PROSE.match(line):
            block.append(line.strip())


def long_sentences(source: str) -> Iterator[str]:
    """Sentences of a page with more than `MOST_WORDS` words; code in backticks is one word."""
    for paragraph in paragraphs(source):
        for sentence in _END.split(re.sub(r"`[^`]*`", "code", paragraph)):
            if len(re.findall(r"\w\S*", sentence)) > MOST_WORDS:
                yield sentence


def count(source: str, *, is_python: bool) -> Counter[str]:
    """Phrases, vague names and docstrings that open with "Return", with the totals of each."""
    counts: Counter[str] = Counter()
    for text in texts(source, is_python=is_python):
        counts["words"] += len(text.split())
        for name, pattern in PHRASES.items():
            counts[name] += len(re.findall(pattern, text, re.MULTILINE))
    if not is_python:
        counts["long sentences"] = sum(1 for _ in long_sentences(source))
    if is_python:
        for name in names(source):
            counts["names"] += 1
            counts["vague names"] += name.strip("_") in VAGUE
        for text in docstrings(source):
            counts["docstrings"] += 1
            counts['docstrings that open with "Return"'] += text.startswith("Return")
    return counts


_TOTALS = ("words", "names", "docstrings")


def risen(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    """Counts of a file that are higher than they were, each with the increase."""
    return {
        name: after[name] - before[name]
        for name in after
        if name not in _TOTALS and after[name] > before[name]
    }


def _git(*words: str) -> str:
    ran = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else ""


def warnings_since(revision: str) -> Iterator[str]:
    """A line for each changed file whose counts rose since a revision."""
    for name in _git("diff", "--name-only", revision, "--", "*.py", "*.md").splitlines():
        path = Path(name)
        if not path.exists() or path.parts[0] in ("tests", "benchmarks"):
            continue
        is_python = path.suffix == ".py"
        before = count(_git("show", f"{revision}:{name}"), is_python=is_python)
        more = risen(before, count(path.read_text(encoding="utf-8"), is_python=is_python))
        if more:
            listed = ", ".join(f"{number:+} {phrase}" for phrase, number in more.items())
            yield f"warning: {name}: {listed}"


def summary(paths: list[Path]) -> Iterator[str]:
    """Counts of files and folders, and their rates."""
    files = [
        file
        for path in paths
        for file in ([path] if path.is_file() else sorted(path.rglob("*")))
        if file.suffix in (".py", ".md")
    ]
    total: Counter[str] = Counter()
    for file in files:
        total += count(file.read_text(encoding="utf-8"), is_python=file.suffix == ".py")
    for name in sorted(PHRASES, key=lambda name: -total[name]):
        yield f"{total[name]:6,}  {name}"
    phrases = sum(total[name] for name in PHRASES)
    yield f"{1000 * phrases / max(total['words'], 1):.1f} phrases per thousand words"
    vague, returns = total["vague names"], total['docstrings that open with "Return"']
    yield f"{100 * vague / max(total['names'], 1):.1f}% vague names"
    yield f'{100 * returns / max(total["docstrings"], 1):.0f}% of docstrings open with "Return"'
    yield f"{total['long sentences']} sentences of pages above {MOST_WORDS} words"


def main(words: list[str]) -> None:
    """Print the warnings since a revision, or the counts of paths."""
    if words[:1] == ["--since"]:
        print(*warnings_since((words[1:] or ["HEAD"])[0]), sep="\n", end="\n" if words else "")
    else:
        print(
            *summary([Path(word) for word in words or ["fastcalc", "docs", "README.md"]]), sep="\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
