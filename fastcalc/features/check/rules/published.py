"""MD: consistency of a model with its names and dates, and with formats and caches in sources."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from math import prod

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.reader import Path_
from fastcalc.catalogue.schema import Model
from fastcalc.features.check.document import Sheet
from fastcalc.features.check.printed import plain_numbers
from fastcalc.features.check.rule import Findings, RuleContext, day, rule
from fastcalc.features.check.words import amount, near
from fastcalc.written import shown

_FIRST_TRANSFORMER = date(2017, 6, 1)
_SIZE = re.compile(r"(?<![a-z0-9.])([0-9]+(?:\.[0-9]+)?)(b|t)(?![a-z0-9])")
_FORMAT_KEYS = ("weight_format", "expert_format", "kv_format")
_BITS = (
    (32, r"float32|fp32"),
    (16, r"float16|bf16|fp16|16-bit"),
    (8, r"float8|fp8|int8|8-bit|e4m3|bits?\W+8\b|w8a|load_in_8bit"),
    (4, r"fp4|int4|4-bit|bits?\W+4\b|w4a|load_in_4bit"),
)


@rule("MD015")
def released_after_transformers(sheet: Sheet, setting: RuleContext) -> Findings:
    """A release date before transformers existed, or after the configuration was read."""
    released = day(str(sheet.at("released") or ""))
    if released is None:
        return
    read = day(str(sheet.at("sources", sheet.word("shape_source"), "accessed") or ""))
    latest = read or setting.today + timedelta(days=366)
    if sheet.at("hypothetical") is True:
        latest = setting.today + timedelta(days=15 * 366)
    if not _FIRST_TRANSFORMER <= released <= latest:
        yield ("released",), f"{released} is outside {_FIRST_TRANSFORMER} to {latest}"


@rule("MD016")
def names_say_the_size(sheet: Sheet, _: RuleContext) -> Findings:
    """A name with a size that differs from the model's."""
    if not isinstance(sheet.entry, Model):
        return
    from fastcalc.core.model.workload import workload

    counted = workload(sheet.entry)  # as counted and as published
    names = ("published.checkpoint", "published.total", "published.active")
    published = [number for number in map(sheet.si, names) if number]
    counts = {counted.total_parameters, counted.active_parameters, *published}
    aliases = (("aliases", index) for index in range(len(sheet.items("aliases"))))
    for path in (("id",), ("name",), *aliases):
        for match in _SIZE.finditer(str(sheet.at(*path) or "").lower()):
            size = float(match[1]) * (1e12 if match[2] == "t" else 1e9)
            digits = len(match[1].partition(".")[2])
            room = max(0.25 * size, 0.5 * size / float(match[1]) / 10**digits)
            if not any(abs(size - parameters) <= room for parameters in counts):
                has = " or ".join(
                    f"{parameters / 1e9:.4g}B" for parameters in sorted(counts, reverse=True)
                )
                name = shown(sheet.at(*path))
                yield path, f"'{name}' says {match[0].upper()}; the model has {has}"


def _quotation(sheet: Sheet, key: str) -> str:
    """Return the source text that this file itself quotes for a key. May be empty."""
    if not sheet.states(("printed", key)):
        return ""  # the quotation is the parent's, whose model may differ from this one
    quoted = sheet.at("printed", key)
    text = quoted.get("text") if isinstance(quoted, dict) else quoted
    return text if isinstance(text, str) else ""


def _bits_printed(text: str) -> set[int]:
    """Return the possible bits per element according to the text of a configuration.

    >>> sorted(_bits_printed("torch_dtype: bfloat16")), _bits_printed("num_bits: 4")
    ([16], {4})
    """
    return {bits for bits, words in _BITS if re.search(words, text.lower())}


@rule("MD017")
def formats_are_printed(sheet: Sheet, _: RuleContext) -> Findings:
    """A format that differs from the one that the source prints."""
    for key in _FORMAT_KEYS:
        text = _quotation(sheet, key)
        bits = _bits_printed(text)
        name = sheet.word(key) or (sheet.word("weight_format") if key == "expert_format" else "")
        form = FORMATS.get(name)
        if form is None or not bits:
            continue
        stored = form.cache_bits if key == "kv_format" and form.cache_bits else form.bits
        is_other = any(
            alternative in text.lower() for alternative in ("mxfp4", "nvfp4") if alternative != name
        )
        if int(stored) not in bits or ("fp4" in name and is_other):
            path = (key,) if sheet.at(key) else ("printed", key)
            yield path, f"{key} is {name}, but the source prints '{shown(text)}'"


@rule("MD018", strict=True)
def narrow_formats_cite(sheet: Sheet, _: RuleContext) -> Findings:
    """A format other than 16 bits without a quotation from a source."""
    if sheet.at("hypothetical") is True or not sheet.at("blocks"):
        return
    for key in _FORMAT_KEYS:
        name = sheet.word(key)
        is_common = name in ("", "bf16", "fp16")
        if sheet.states((key,)) and not is_common and not _bits_printed(_quotation(sheet, key)):
            yield (key,), f"no text in 'printed' shows that {key} is {name}: quote the source"


def _numbers_at(sheet: Sheet, key: str) -> Iterator[tuple[Path_, int]]:
    """Yield the integers under a key with their paths, of the model and of its blocks."""
    paths: list[Path_] = [(key,)]
    for index in range(len(sheet.items("blocks"))):
        attention: Path_ = ("blocks", index, "attention")
        paths += [(*attention, key), (*attention, "indexer", key)]
    for path in paths:
        number = sheet.at(*path)
        if isinstance(number, int) and not isinstance(number, bool):
            yield path, number


@rule("MD019")
def cache_reads_are_printed(sheet: Sheet, _: RuleContext) -> Findings:
    """A window, a top-k or a context that differs from the text of the source."""
    for key in ("max_context", "window", "top_k", "pool"):
        text = _quotation(sheet, key)
        quoted = plain_numbers(text)
        if not quoted:
            continue
        allowed = {*quoted, prod(quoted)}  # '16 blocks of 128'
        numbers = list(_numbers_at(sheet, key))
        if not numbers:
            yield ("printed", key), f"the source prints '{shown(text)}', but no layer has a {key}"
        for path, number in numbers:
            if number not in allowed:
                yield path, f"{key} is {number:,}, but the source prints '{shown(text)}'"


@rule("MD020")
def bytes_are_published(sheet: Sheet, _: RuleContext) -> Findings:
    """The weight bytes differ from the checkpoint's."""
    size = sheet.numbers.get("published.checkpoint_bytes")
    if (model := sheet.shaped) is None or not size:
        return
    from fastcalc.core.model.workload import checkpoint_bytes

    ours = checkpoint_bytes(model)
    if not near(ours, size.si, 0.02):
        percent = 100 * (ours / size.si - 1)
        message = f"shape and formats give {amount(ours, 'size')}, the checkpoint has {size.text}"
        yield size, f"{message}: {percent:+.2g}%"


_BANDS = {"window": (64, 262_144), "top_k": (128, 16_384), "pool": (1, 256)}


@rule("MD021")
def cache_reads_are_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A window or top-k outside the range of known models."""
    for key, (low, high) in _BANDS.items():
        for path, number in _numbers_at(sheet, key):
            if not low <= number <= high:
                yield path, f"{key} {number:,} is outside {low:,} to {high:,}"
