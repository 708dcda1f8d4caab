"""``fastcalc claims``: check claims of articles against computed numbers."""

import re
from collections.abc import Sequence

from fastcalc.catalogue.names import nearest
from fastcalc.catalogue.schema.claims import Claim, Claims
from fastcalc.errors import InputError
from fastcalc.features.claims.answer import ClaimsAnswer, ExplainedClaim
from fastcalc.features.claims.claim_file import read_claims
from fastcalc.features.claims.judge import MEANING, judge
from fastcalc.features.claims.request import JudgeClaims
from fastcalc.kit.request import loading, readers
from fastcalc.mentions import option
from fastcalc.written import instead_of, shown


def run(request: JudgeClaims) -> ClaimsAnswer:
    """Verdicts on the claims of a file, or one claim explained in full."""
    only = [] if request.only is None else readers.names(request.only, option("only"))
    if request.path is not None and not request.path.exists():
        id_ = str(request.path)
        if id_ in {claim.id for claim in read_claims()[0].claims}:
            hint = f"explain it with {option('explain', id_)}"
            raise InputError(f"'{id_}' is a claim, not a file; {hint}")
    book, document = read_claims(request.path)
    claims = book.claims
    if request.explain is not None:
        by_id = {claim.id: claim for claim in claims}
        id_ = readers.as_text(request.explain)
        if id_ not in by_id:
            hint = instead_of(nearest(id_, by_id), "'fastcalc claims' lists them")
            raise InputError(f"no claim is called '{shown(id_)}'; {hint}")
        claims = [by_id[id_]]
    verdicts = {word for word in map(str.casefold, only) if word in MEANING}
    chosen = _chosen(claims, [word for word in only if word.casefold() not in verdicts], book)
    all_judged = judge(loading.catalogue(request), chosen, document)
    judged = [claim for claim in all_judged if not verdicts or claim.verdict in verdicts]
    if not judged:
        raise InputError(f"no claim matches all of: {shown(', '.join(only))}")
    answer = ClaimsAnswer if request.explain is None else ExplainedClaim
    return answer(request=request, judged=judged, book=book)


def _chosen(claims: Sequence[Claim], words: Sequence[str], book: Claims) -> list[Claim]:
    """Claims selected by words: by article, by topic, or by a word in the claim.

    Words of the same group (authors, topics, words) are alternatives; different groups are combined
    with 'and'.
    """
    chosen: dict[int, set[str]] = {}
    topics = {word: ids for name, ids in book.topics.items() for word in name.split()}
    for word in map(str.casefold, words):
        starts = re.compile(rf"(?<!\w){re.escape(word)}")
        authors = {
            key
            for key, article in book.articles.items()
            if word in (key.casefold(), *(article.author or "").casefold().split())
        }
        groups = (
            {claim.id for claim in claims if authors.intersection(claim.articles)},
            set(topics.get(word, ())),
            {claim.id for claim in claims if starts.search(claim.claim.casefold())},
        )
        group = next((number for number, ids in enumerate(groups) if ids), None)
        if group is None:
            near = nearest(word, [*MEANING, *book.articles, *topics])
            hint = instead_of(near, "and no claim contains it")
            if word in {claim.id for claim in claims}:
                hint = f"{option('explain', word)} prints that claim"
            raise InputError(
                f"{option('only')} '{shown(word)}' is not a verdict, article or topic; {hint}"
            )
        chosen.setdefault(group, set()).update(groups[group])
    return [claim for claim in claims if all(claim.id in ids for ids in chosen.values())]
