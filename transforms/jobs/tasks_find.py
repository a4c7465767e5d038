"""What a task's examples point at, found in the pages of a knowledge source."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kiltetl.schemas.reasons import (
    BLEU_BELOW_THRESHOLD,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
)
from kiltetl.schemas.records import Evidence, Span
from kiltetl.transforms.alignment.bleu import THRESHOLD, Bleu
from kiltetl.transforms.alignment.histogram import NEAR
from kiltetl.transforms.alignment.mapping import Unmapped, checked, provenance
from kiltetl.transforms.alignment.search import best_spans
from kiltetl.transforms.alignment.tokens import joined, tokenize_page
from kiltetl.transforms.files.shards import read_table
from kiltetl.transforms.jobs.reader import KnowledgeSource, page_rows
from kiltetl.transforms.jobs.tasks_job import Found, Request
from kiltetl.transforms.wiki.redirects import Located, TitleIndex
from kiltetl.transforms.wiki.titles import normal_title


def look_up(request: Request, pages: Iterable[tuple[str, ...]]) -> Request | Found:
    """The request with the text of its sentence, out of the pages of that key (one, as a rule)."""
    evidence = request.evidence
    candidates = sorted(pages)
    if not candidates:
        return Found(request.ref, Unmapped(SOURCE_PAGE_MISSING, "not among the pages of --evidence"))
    number = evidence.sentence if evidence.sentence is not None else -1
    for sentences in candidates:
        if 0 <= number < len(sentences) and sentences[number].strip():
            return Request(request.ref, _with_text(evidence, sentences[number]))
    longest = max(len(sentences) for sentences in candidates)
    return Found(
        request.ref, Unmapped(SOURCE_SENTENCE_MISSING, f"the page has {longest} sentences, or this one is empty")
    )


def _with_text(evidence: Evidence, text: str) -> Evidence:
    return Evidence(evidence.title, text, evidence.source_page, evidence.sentence, evidence.meta)


def locate(source: KnowledgeSource, index: TitleIndex, request: Request) -> tuple[Request, Located] | Found:
    """The request with its page: by the id that released records have, else by the title."""
    evidence, site = request.evidence, source.site
    located = None
    if evidence.wikipedia_id is not None and site.dbname == "enwiki":  # whose ids released records have
        located = index.with_id(evidence.wikipedia_id)
    if located is None:
        title = normal_title(evidence.title, site)
        located = index.find([title]).get(title)
    return Found(request.ref, Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE)) if located is None else (request, located)


def align_shard(
    source: KnowledgeSource, part: int, wanted: Iterable[tuple[Request, Located]], bleu: Bleu, span_rows: int = 1
) -> Iterator[Found]:
    """What becomes of the requests whose pages lie in one shard; each page is tokenised once."""
    by_page: dict[str, list[tuple[Request, Located]]] = {}
    placed: dict[str, list[tuple[Request, Located]]] = {}
    for request, located in wanted:
        pile = by_page if request.evidence.place is None else placed
        pile.setdefault(located.wikipedia_id, []).append((request, located))
    if placed:
        yield from check_shard(source, part, placed)
    pages = read_table(source.path("pages", part), ["wikipedia_id", "is_disambiguation"])
    ambiguous = set(pages.filter(pages.column("is_disambiguation")).column("wikipedia_id").to_pylist())
    there = set(pages.column("wikipedia_id").to_pylist())
    for page in set(by_page) - there:  # its title is known, but it failed to be parsed
        gone = Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE, "the page is among the rejects of the knowledge source")
        yield from (Found(request.ref, gone) for request, _ in by_page.pop(page))
    texts_wanted = {page for page, asked in by_page.items() if any(r.evidence.text is not None for r, _ in asked)}
    for page, asked in by_page.items():
        for request, located in asked:
            if request.evidence.text is None and page in ambiguous:
                yield Found(request.ref, Unmapped(PAGE_IS_DISAMBIGUATION))
            elif request.evidence.text is None:
                yield Found(request.ref, provenance(request.evidence, page, located.wikipedia_title))
    for page, texts, sections in page_rows(source.path("paragraphs", part), texts_wanted):
        asked = [(request, located) for request, located in by_page[page] if request.evidence.text is not None]
        evidences = list(dict.fromkeys(request.evidence.text or "" for request, _ in asked))
        tokens = joined(tokenize_page(texts, source.site.language), span_rows)
        spans = dict(zip(evidences, best_spans(tokens, evidences, bleu), strict=True))
        for request, located in asked:
            text = request.evidence.text or ""
            span = spans[text]
            score = 0.0 if span is None else span.bleu_score
            shown = (text, _text_of(span, texts)) if span and abs(score - THRESHOLD) <= NEAR else None
            if page in ambiguous and score < THRESHOLD:
                detail = f"best span scores {score:.6g}"
                yield Found(request.ref, Unmapped(PAGE_IS_DISAMBIGUATION, detail), score, shown)
            elif span is None:
                yield Found(request.ref, Unmapped(BLEU_BELOW_THRESHOLD, "no word in common"), score)
            else:
                section = sections[span.paragraph_id]
                found = provenance(request.evidence, page, located.wikipedia_title, span, section)
                yield Found(request.ref, found, score, shown)


def check_shard(
    source: KnowledgeSource, part: int, placed: Mapping[str, Sequence[tuple[Request, Located]]]
) -> Iterator[Found]:
    """What becomes of released evidence, of which only the place is known, on the pages of one shard."""
    for page, texts, sections in page_rows(source.path("paragraphs", part), placed):
        for request, located in placed[page]:
            yield Found(request.ref, checked(request.evidence, page, located.wikipedia_title, texts, sections))


def _text_of(span: Span, texts: Sequence[str]) -> str:
    last = span.paragraph_id if span.end_paragraph_id is None else span.end_paragraph_id
    if last == span.paragraph_id:
        return texts[last][span.start_character : span.end_character]
    middle = texts[span.paragraph_id + 1 : last]
    return "\n".join([texts[span.paragraph_id][span.start_character :], *middle, texts[last][: span.end_character]])
