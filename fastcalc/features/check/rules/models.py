"""MD: consistency of model shapes, including published parameter counts."""

import re
from collections.abc import Iterator

from fastcalc.catalogue.reader import Path_
from fastcalc.features.check.document import Sheet, WrittenNumber
from fastcalc.features.check.printed import plain_numbers
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.words import near
from fastcalc.written import shown


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _of_blocks(sheet: Sheet, *steps: str) -> Iterator[tuple[Path_, int]]:
    """Yield the integers under a key of every block, with their paths."""
    for index in range(len(sheet.items("blocks"))):
        path: Path_ = ("blocks", index, *steps)
        value = _whole(sheet.at(*path))
        if value:
            yield path, value


_UNDERSTOOD = 1e-4  # of a checkpoint's parameters: explained by scales, buffers and biases


@rule("MD005", "error")
def shape_gives_checkpoint(sheet: Sheet, _: RuleContext) -> Findings:
    """The parameter count of the shape differs from the checkpoint's."""
    for number, ours in _counted(sheet):
        if not near(ours, number.si, _UNDERSTOOD):
            share = 100 * (ours / number.si - 1)
            message = f"the shape has {ours:,.0f} parameters, the checkpoint has {number.si:,.0f}: "
            yield number, f"{message}{share:+.2g}%"


def _counted(sheet: Sheet) -> Iterator[tuple[WrittenNumber, float]]:
    """Yield the parameter counts of the checkpoint and of the shape, if both are known. [1]"""
    number = sheet.numbers.get("published.checkpoint")
    if (model := sheet.shaped) is None or not number:
        return
    # Imported here because counting needs numpy, and a check of hardware alone does not.
    from fastcalc.core.model.workload import checkpoint_parameters

    if ours := float(checkpoint_parameters(model)):
        yield number, ours


@rule("MD022")
def small_differences_are_noted(sheet: Sheet, _: RuleContext) -> Findings:
    """A small difference from the checkpoint's parameter count that no note explains."""
    notes = plain_numbers(_notes(sheet), 4000)
    for number, ours in _counted(sheet):
        missing = number.si - ours
        if missing and near(ours, number.si, _UNDERSTOOD) and abs(missing) not in notes:
            how = "more" if missing > 0 else "fewer"
            yield (number, f"{abs(missing):,.0f} parameters {how} than the shape has, unexplained")


_LABEL = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([BMT])(?:-A([0-9]+(?:\.[0-9]+)?)\s*([BMT]))?", re.I)
_MANY = {"M": 1e6, "B": 1e9, "T": 1e12}
_EXPLAINED = 0.06  # of the label: largest difference that a note can explain


@rule("MD006")
def shape_gives_label(sheet: Sheet, _: RuleContext) -> Findings:
    """The parameter count of the shape differs from the label."""
    label, total = sheet.at("published", "label"), sheet.numbers.get("published.total")
    match = _LABEL.search(label) if isinstance(label, str) else None
    if (model := sheet.shaped) is None or not (total or match):
        return
    from fastcalc.core.model.workload import checkpoint_parameters, workload

    core, checkpoint = workload(model).total_parameters, sheet.si("published.checkpoint")
    tower = sheet.si("vision_parameters") or 0.0
    checkpoint_count = float(checkpoint_parameters(model))
    counts = [float(core), core + tower, checkpoint_count - tower, checkpoint_count]
    counts += [checkpoint] if checkpoint else []
    explained = re.search(r"label|card|rounds|rounded|vision|counts|published", _notes(sheet))
    share = _EXPLAINED if explained else 0.01
    if match:
        stated, step = _stated(match[1], match[2])
        yield from _off(("published", "label"), stated, max(share * stated, step), counts)
    if total:
        yield from _off((*total.path, "value"), total.si, share * total.si, counts)
    active = sheet.si("published.active")
    if match and match[3] and active:
        stated, step = _stated(match[3], match[4])
        yield from _off(
            ("published", "label"), stated, max(0.01 * stated, step), [active], " active"
        )


def _stated(number: str, unit: str) -> tuple[float, float]:
    """Return the parameter count in a label, and half a unit of its last digit. [1]"""
    scale = _MANY[unit.upper()]
    return float(number) * scale, 0.5 * 10.0 ** -len(number.partition(".")[2]) * scale


def _off(path: Path_, stated: float, room: float, counts: list[float], label: str = "") -> Findings:
    nearest = min(counts, key=lambda count: abs(count - stated))
    if abs(nearest - stated) > room:
        off = f": {100 * (nearest / stated - 1):+.2g}%" if stated else ""
        message = f"the shape has {nearest / 1e9:.4g}B{label} parameters, the published number is "
        yield path, f"{message}{stated / 1e9:.4g}B{off}; a note may explain it"


@rule("MD007")
def active_is_published(sheet: Sheet, _: RuleContext) -> Findings:
    """The active parameter count of the shape differs from the published one."""
    published = sheet.numbers.get("published.active")
    if (model := sheet.shaped) is None or not published:
        return
    from fastcalc.core.model.workload import workload

    ours = float(workload(model).active_parameters)
    table = float(model.hidden_size or 0) * float(model.vocabulary or 0)
    counts = (ours, ours - table, ours - 2 * table)
    # A label such as A3B has one digit, so half a unit is a sixth of it.
    room = 0.5e9 if published.si < 10e9 and published.si % 1e9 == 0 else 0.0
    if not any(abs(count - published.si) <= max(0.06 * published.si, room) for count in counts):
        shown = " / ".join(f"{count / 1e9:.4g}B" for count in counts)
        message = f"{published.si / 1e9:.4g}B active are published; the shape has {shown} "
        yield published, f"{message}(all, without the input embedding, without both)"


@rule("MD008")
def window_inside_context(sheet: Sheet, _: RuleContext) -> Findings:
    """A window longer than the context."""
    context = _whole(sheet.at("max_context"))
    for path, window in _of_blocks(sheet, "attention", "window"):
        if context and window > context:
            yield path, f"a window of {window} exceeds max_context {context}"


@rule("MD009")
def widths_are_multiples(sheet: Sheet, _: RuleContext) -> Findings:
    """Widths that are not multiples of a power of two."""
    widths: list[tuple[Path_, int]] = [(("hidden_size",), _whole(sheet.at("hidden_size")) or 0)]
    for key in ("width", "shared_width"):
        widths += _of_blocks(sheet, "ffn", key)
    for key in ("head_dim", "kv_rank", "q_rank"):
        widths += _of_blocks(sheet, "attention", key)
    for path, value in widths:
        step = 32 if value >= 1024 else 8
        if value % step:
            yield path, f"{path[-1]} {value} is not a multiple of {step}"


@rule("MD010")
def ffn_fits_hidden(sheet: Sheet, _: RuleContext) -> Findings:
    """A feed-forward width far from the hidden size."""
    hidden = _whole(sheet.at("hidden_size"))
    for path, width in _of_blocks(sheet, "ffn", "width"):
        label = sheet.at(*path[:-1], "kind")
        low, high = (0.04, 6.0) if label == "moe" else (0.25, 26.0)
        if hidden and not low <= width / hidden <= high:
            message = f"width {width} is {width / hidden:.2g} of hidden_size {hidden}"
            yield path, f"{message}; {label} layers have {low} to {high}"


@rule("MD011")
def head_dim_is_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """An unusual head size."""
    for key in ("head_dim", "nope_dim", "value_dim"):
        for path, value in _of_blocks(sheet, "attention", key):
            has_heads = sheet.at(*path[:-1], "kind") != "short-conv"
            if has_heads and not 24 <= value <= 640:
                yield path, f"{key} {value} is outside 24 to 640"


@rule("MD012")
def vocabulary_is_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A vocabulary or context size outside the range of known models."""
    for key, low, high in (("vocabulary", 1000, 1_100_000), ("max_context", 512, 20_000_000)):
        value = _whole(sheet.at(key))
        if value and not low <= value <= high:
            yield (key,), f"{key} {value:,} is outside {low:,} to {high:,}"


@rule("MD013")
def layers_are_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A number of layers outside the range of known models."""
    layers = sum(count for _, count in _of_blocks(sheet, "count"))
    if layers > 300:
        yield ("blocks",), f"{layers} layers; models have up to 300"


@rule("MD014", strict=True, at_key=True)
def shape_cites(sheet: Sheet, _: RuleContext) -> Findings:
    """A shape without a source."""
    if sheet.at("blocks") and not sheet.at("shape_source"):
        yield ("blocks",), "the shape has no shape_source"


def _notes(sheet: Sheet) -> str:
    return " ".join(map(str, sheet.items("notes"))).lower()


def _is_public(sheet: Sheet) -> bool:
    """Return whether the file cites a public source. A private model has no label."""
    listed = sheet.document.mapping("sources").values()
    is_cited = any(isinstance(source, dict) and source.get("url") for source in listed)
    return is_cited and not sheet.at("hypothetical")


@rule("MD023", strict=True, at_key=True)
def shape_says_how_sure(sheet: Sheet, _: RuleContext) -> Findings:
    """A published shape without a confidence level."""
    if _is_public(sheet) and sheet.at("confidence") is None:
        yield ("id",), "the file states no confidence in its shape"


@rule("MD024", strict=True)
def assumed_shapes_say_what_is_assumed(sheet: Sheet, _: RuleContext) -> Findings:
    """A low-confidence shape without a note on its assumptions."""
    is_unsure = sheet.word("confidence") in ("low", "memory")
    if is_unsure and not re.search(r"assum|class defaults|no copy", _notes(sheet)):
        yield ("confidence",), f"'{sheet.at('confidence')}', and no note says what was assumed"


@rule("MD025", strict=True, at_key=True)
def counts_are_published(sheet: Sheet, _: RuleContext) -> Findings:
    """A published shape without published parameter counts."""
    if not _is_public(sheet):
        return
    if not sheet.at("published", "label"):
        yield ("published",), "no label such as 8B is given under 'published'"
    if not sheet.at("published", "checkpoint") and "no checkpoint" not in _notes(sheet):
        yield ("published",), "no checkpoint is given under 'published', and no note says why"


@rule("MD026", strict=True)
def label_is_of_the_text_core(sheet: Sheet, _: RuleContext) -> Findings:
    """A label that includes more or less than the text model, without a note."""
    label = sheet.at("published", "label")
    match = _LABEL.search(label) if isinstance(label, str) else None
    is_explained = re.search(r"the label|card rounds", _notes(sheet))
    if not match or is_explained or (model := sheet.shaped) is None:
        return
    from fastcalc.core.model.workload import workload

    stated = _stated(match[1], match[2])[0]
    core = float(workload(model).total_parameters)
    if not near(core, stated, 0.01):
        message = f"the label says {shown(match[0])}, the text core has {core / 1e9:.4g}B"
        yield ("published", "label"), f"{message}; no note says what the label counts"
