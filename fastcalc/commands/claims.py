"""``fastcalc claims``: what articles say, and what the numbers say of it."""

from fastcalc.catalogue.names import nearest
from fastcalc.commands import loading, output
from fastcalc.commands.answer import CommandAnswer
from fastcalc.errors import InputError
from fastcalc.evidence.claims.claim_file import read_claims
from fastcalc.evidence.claims.judge import MEANING, judge
from fastcalc.report import claims as report
from fastcalc.report import console
from fastcalc.requests import readers
from fastcalc.requests.measurements import JudgeClaims
from fastcalc.written import shown


def run(request: JudgeClaims) -> CommandAnswer | None:
    """Return the verdict of each claim of a file, or write how one of them is computed."""
    only = [] if request.only is None else readers.names(request.only, "--only")
    verdicts = [readers.choice(word, "--only", tuple(MEANING)) for word in only]
    book, document = read_claims(request.path)
    claims = book.claims
    if request.explain is not None:
        by_id = {claim.id: claim for claim in claims}
        if request.explain not in by_id:
            near = nearest(request.explain, by_id)
            hint = f"did you mean {' or '.join(near)}?" if near else "'fastcalc claims' lists them"
            raise InputError(f"no claim is called '{shown(request.explain)}'; {hint}")
        claims = [by_id[request.explain]]
    all_judged = judge(loading.catalogue(request), claims, document)
    judged = [claim for claim in all_judged if not verdicts or claim.verdict in verdicts]
    if not judged:
        raise InputError(f"no claim is {' or '.join(verdicts)}")
    if request.written_as == "table" and request.explain is not None:
        output.write(report.explain(judged[0], book, min(console.output_width(), 100)), request.out)
        return None
    return CommandAnswer(
        lambda screen: report.parts(judged, screen.width),
        lambda: [report.claim_record(claim, book) for claim in judged],
        lambda: (report.COLUMNS, judged),
        lambda: {"verdicts": dict(MEANING)},
        cells=report.flat,
    )
