"""``fastcalc claims``: what articles say, and what the numbers say of it."""

from fastcalc.catalogue.names import nearest
from fastcalc.commands import loading
from fastcalc.commands.answer import CommandAnswer
from fastcalc.errors import InputError
from fastcalc.evidence.claims.claim_file import read_claims
from fastcalc.evidence.claims.judge import MEANING, judge
from fastcalc.mentions import option
from fastcalc.report import claims as report
from fastcalc.requests import readers
from fastcalc.requests.measurements import JudgeClaims
from fastcalc.written import shown


def run(request: JudgeClaims) -> CommandAnswer:
    """Return the verdict of each claim of a file, or write how one of them is computed."""
    only = [] if request.only is None else readers.names(request.only, option("only"))
    verdicts = [readers.choice(word, option("only"), tuple(MEANING)) for word in only]
    book, document = read_claims(request.path)
    claims = book.claims
    if request.explain is not None:
        by_id = {claim.id: claim for claim in claims}
        id_ = readers.as_text(request.explain)
        if id_ not in by_id:
            near = nearest(id_, by_id)
            hint = f"did you mean {' or '.join(near)}?" if near else "'fastcalc claims' lists them"
            raise InputError(f"no claim is called '{shown(id_)}'; {hint}")
        claims = [by_id[id_]]
    all_judged = judge(loading.catalogue(request), claims, document)
    judged = [claim for claim in all_judged if not verdicts or claim.verdict in verdicts]
    if not judged:
        raise InputError(f"no claim is {' or '.join(verdicts)}")
    is_one = request.explain is not None
    return CommandAnswer(
        None if is_one else lambda screen: report.parts(judged, screen.width),
        lambda: [report.claim_record(claim, book) for claim in judged],
        lambda: (report.COLUMNS, judged),
        lambda: {"verdicts": dict(MEANING)},
        cells=report.flat,
        as_text=(lambda screen: report.explain(judged[0], book, min(screen.width, 100)))
        if is_one
        else None,
    )
