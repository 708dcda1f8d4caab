"""Lists of modules in quantization settings: full names, wildcards and regular expressions."""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable

from fastcalc.importers.huggingface.matrices import EXPERT, Matrix

_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
_ELSEWHERE = re.compile(r"vis|audio|encoder|talker|projector|mtp|draft|eagle|embed")
_EXPERT_NUMBER = re.compile(r"\bexperts\.([0-9]{1,5})(?=\.|$)")
_LONGEST = 300
_MOST_REPEATS = 5
_MOST_PATTERNS = 400


class ModulePatterns:
    """Matcher for the matrices named in a list.

    A name without wildcards matches all modules in it: ``self_attn``, ``mlp.gate`` or
    ``model.layers.0.self_attn.q_proj``. ``re:`` marks a regular expression, ``*`` a wildcard.
    ``unread`` has expressions that are too complex to evaluate.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._named: set[tuple[str, ...]] = set()
        self._experts: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._matched: list[re.Pattern[str]] = []
        self.unread: list[str] = []
        for pattern in patterns:
            self._add(pattern.strip())

    def __bool__(self) -> bool:
        return bool(self._named or self._matched or self._experts)

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            self._compile(pattern[3:], pattern)
        elif "*" in pattern or "?" in pattern or "[" in pattern:
            before, layers, after = pattern.partition("layers.")
            if layers and not set(before) & set("*?[") and not _ELSEWHERE.search(before):
                pattern = f"*{layers}{after}"
            inside = fnmatch.translate(pattern).removesuffix("\\Z")
            self._compile(inside + r"(?:\.|\Z)", pattern)
        elif pattern:
            before, layers, _ = pattern.partition("layers.")
            is_text = bool(layers) and not _ELSEWHERE.search(before)
            pieces = (pattern[len(before) :] if is_text else pattern).split(".")
            numbers = _EXPERT_NUMBER.findall(pattern)
            if numbers:
                at = pieces.index(numbers[0], pieces.index("experts"))
                self._experts[(*pieces[:at], EXPERT, *pieces[at + 1 :])].add(numbers[0])
            else:
                self._named.add(tuple(pieces))

    def _compile(self, expression: str, pattern: str) -> None:
        repeats = len(re.findall(r"[*+}]", re.sub(r"(\.\*)+", ".*", expression)))
        is_nested = re.search(r"\)[*+{]", expression.replace("\\)", ""))
        too_many = len(self._matched) >= _MOST_PATTERNS
        if len(expression) > _LONGEST or repeats > _MOST_REPEATS or is_nested or too_many:
            self.unread.append(pattern)
            return
        try:
            self._matched.append(re.compile(expression))
        except (re.error, OverflowError, RecursionError):
            self.unread.append(pattern)

    def names(self, *modules: str) -> bool:
        """Whether the list names a module outside all layers."""
        return any(self._covers(module) for module in modules)

    def share(self, matrix: Matrix) -> float:
        """Share of a matrix named in the list; below 1 if only some experts are named. [1]"""
        best = 0.0
        layers = () if matrix.layer is None else (f"layers.{matrix.layer}.",)
        if matrix.group == "mtp":
            layers = (*layers, "mtp.layers.0.", "mtp.")
        for name in (f"{layer}{name}" for name in matrix.names for layer in layers or ("",)):
            if self._covers(name):
                return 1.0
            if matrix.experts and self._experts:
                numbers = (self._experts.get(run, set()) for run in _runs(name))
                best = max(best, max(map(len, numbers)) / matrix.experts)
        return min(best, 1.0)

    def _covers(self, name: str) -> bool:
        if self._named and any(run in self._named for run in _runs(name)):
            return True
        if not self._matched:
            return False
        full = [f"{prefix}{name}" for prefix in _PREFIXES]
        return any(pattern.match(text) for pattern in self._matched for text in full)


def _runs(name: str) -> Iterable[tuple[str, ...]]:
    """All contiguous runs of components of a dotted name."""
    pieces = tuple(name.split("."))
    for start in range(len(pieces)):
        for end in range(start + 1, len(pieces) + 1):
            yield pieces[start:end]
