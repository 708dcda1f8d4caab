"""``fastcalc caches``: prefix-cache hit rates of a trace for each tier."""

from pathlib import Path

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema.quantities import QuantityReader
from fastcalc.catalogue.units import QuantityError
from fastcalc.core.scenario import check_context
from fastcalc.core.traffic.request_class import Lengths
from fastcalc.errors import InputError
from fastcalc.features.caches.answer import SHOWN, CachesAnswer, too_large
from fastcalc.features.caches.records import COLUMNS, DeploymentTiers
from fastcalc.features.caches.request import SizeCaches
from fastcalc.grid.prefix_caches import CachedDeployment
from fastcalc.importers.workloads import AskedTraffic, read_workload
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.scenarios import check_longest, scenarios
from fastcalc.mentions import option


def run(request: SizeCaches) -> Answer:
    """Compute the hit rate for each cache size. The answer is "no" if the batch fits nowhere."""
    batches = numbers(request.batch, option("batch"), LIMITS["sequences"])
    if len(batches) > 1:
        raise InputError(f"{option('batch')} names {len(batches)}; give the one to serve")
    try:
        texts = readers.names_if_any(request.sizes, option("sizes")) or ()
        sizes = sorted({QuantityReader("size").si(text) for text in texts})
    except QuantityError as error:
        raise InputError(f"{option('sizes')}: {error.sentence}") from error
    traffic = _traffic(request)
    assert traffic.reuse is not None
    lengths, notes = Lengths.together(traffic.classes), [*traffic.reading]
    prompt, output = (
        round(lengths.mean(token_counts)) for token_counts in (lengths.prompt, lengths.output)
    )
    comparison = Evaluated.sharing(request, models=[request.model], prompt=prompt, output=output)
    longest = float((lengths.prompt + lengths.output).max())
    check_longest(request, longest)
    deployments = []
    for scenario in scenarios(comparison, notes):
        check_context(scenario.model, longest, f"prompt + output = {longest:,.0f} tokens")
        deployments.append(CachedDeployment.of(scenario, lengths, traffic.reuse))
    tiers = [
        DeploymentTiers(deployment, deployment.tiers(sizes or deployment.sizes()))
        for deployment in deployments
        if deployment.location.fits
    ]
    refused = [too_large(deployment) for deployment in deployments if not deployment.location.fits]
    if not tiers:
        keys = [column.key for column in COLUMNS]
        return NoAnswer(
            request=request, reading=notes, reasons=refused, asked_keys=keys, columns=SHOWN
        )
    return CachesAnswer(
        request=request, reading=notes, deployments=tiers, refused=refused, rate=traffic.rate
    )


def _traffic(request: SizeCaches) -> AskedTraffic:
    """Read the requests of the trace, with the prefixes that their prompts share."""
    if request.traffic is None:
        raise InputError(
            f"name a trace with hash_ids in its lines: {option('traffic', 'trace.jsonl')}"
        )
    traffic = read_workload(Path(request.traffic), tpot=1.0)  # the latency limit is not used here
    if traffic.models:
        raise InputError(f"{request.traffic}: its classes have several models; keep one model")
    if traffic.reuse is None:
        raise InputError(
            f"{request.traffic}: does not say which prompts share a prefix. Lines of a trace give "
            "a hash for each block of 512 prompt tokens (or 16 to 1,024), equal for equal "
            'prefixes: "hash_ids": [1, 2, 3]; classes give prefix_length: 2000 and prefixes: 500'
        )
    return traffic
