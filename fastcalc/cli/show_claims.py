"""``fastcalc claims``: what articles say, and what the numbers say of it."""

from fastcalc.articles.claim_file import read_claims
from fastcalc.articles.judge import MEANING, judge
from fastcalc.catalogue.store import nearest
from fastcalc.cli import options, output, requests
from fastcalc.cli.answers import Found
from fastcalc.cli.commands.measurements import JudgeClaims
from fastcalc.errors import InputError
from fastcalc.report import claims as report
from fastcalc.report import console
from fastcalc.written import shown


def run(asked: JudgeClaims) -> Found | None:
    """Judge the claims of a file, or one of them, and write them in a format."""
    only = [] if asked.only is None else options.names(asked.only, "--only")
    wanted = [options.choice(one, "--only", tuple(MEANING)) for one in only]
    book, document = read_claims(asked.path)
    claims = book.claims
    if asked.explain is not None:
        known = {claim.id: claim for claim in claims}
        if asked.explain not in known:
            near = nearest(asked.explain, known)
            hint = f"did you mean {' or '.join(near)}?" if near else "'fastcalc claims' lists them"
            raise InputError(f"no claim is called '{shown(asked.explain)}'; {hint}")
        claims = [known[asked.explain]]
    found = judge(requests.catalogue(asked), claims, document)
    judged = [one for one in found if not wanted or one.verdict in wanted]
    if not judged:
        raise InputError(f"no claim is {' or '.join(wanted)}")
    if asked.written_as == "table" and asked.explain is not None:
        output.write(report.explain(judged[0], book, min(console.output_width(), 100)), asked.out)
        return None
    return Found(
        lambda screen: report.parts(judged, screen.width),
        lambda: [report.claim_record(one, book) for one in judged],
        lambda: (report.COLUMNS, judged),
        lambda: {"verdicts": dict(MEANING)},
        cells=report.flat,
    )
