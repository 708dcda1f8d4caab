"""The score of a sample and its survivors, as a page."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from benchmarks.mutants.generated import Mutant
from benchmarks.mutants.running import Verdict

AIM = 0.9

_HEAD = (
    "# Mutation tests: do the tests notice?",
    "",
    "Mutation testing measures whether the tests notice a wrong line.",
    "`python -m benchmarks.mutants --page benchmarks/code-mutants.md` changes one expression at a",
    "time: a comparison, a constant, a sign, a condition, a statement. The tests that execute it",
    "run, fastest first, until one fails: the mutant is killed. Mutants that change no answer are",
    "listed with reasons in `benchmarks/mutants/equivalent.yaml`.",
    "",
)


def score(verdicts: Sequence[Verdict]) -> float:
    """Return which share of mutants the tests notice. [1]"""
    return sum(verdict.is_killed for verdict in verdicts) / len(verdicts)


def page(
    verdicts: Sequence[Verdict],
    equivalent: Collection[Mutant],
    known: Mapping[str, str],
    *,
    seed: int,
    population: int,
) -> str:
    """Score and survivors in Markdown.

    Parameters
    ----------
    verdicts, equivalent
        On the mutants tried, and those of the sample that change no answer.
    known
        Reasons why mutants survive, by their keys.
    seed, population
        Of the sample, and the number of mutants it is drawn from.
    """
    killed = sum(verdict.is_killed for verdict in verdicts)
    size = len(verdicts) + len(equivalent)
    alive = [verdict.mutant for verdict in verdicts if not verdict.is_killed]
    survivors = [
        f"{_shown(mutant)}. {known.get(mutant.key, '')}".removesuffix(". ") for mutant in alive
    ]
    lines = [
        *_HEAD,
        f"A random sample of {size} of {population:,} such mutants, seed {seed};",
        f"{len(equivalent)} of them change no answer.",
        "",
        f"**{killed} of {len(verdicts)} killed ({score(verdicts):.1%}).**",
        "",
        *_table("folder", verdicts, lambda mutant: mutant.file.split("/")[1]),
        *_table("change", verdicts, lambda mutant: mutant.kind),
        *("## Survivors", "", *_listed(survivors), ""),
    ]
    return "\n".join(lines)


def _listed(rows: Sequence[str]) -> list[str]:
    return [f"- {row}" for row in rows] or ["None."]


def _table(
    title: str, verdicts: Sequence[Verdict], group: Callable[[Mutant], str]
) -> Iterator[str]:
    count = Counter(group(verdict.mutant) for verdict in verdicts)
    killed = Counter(group(verdict.mutant) for verdict in verdicts if verdict.is_killed)
    yield from (f"| {title} | mutants | killed |", "|---|---:|---:|")
    yield from (f"| {name} | {count[name]} | {killed[name]} |" for name in sorted(count))
    yield ""


def _shown(mutant: Mutant) -> str:
    before, after = (" ".join(text.split()) for text in (mutant.before, mutant.after))
    scope = f", `{mutant.scope}`" if mutant.scope else ""
    return f"`{mutant.file}`{scope}: `{before}` becomes `{after or 'nothing'}`"
