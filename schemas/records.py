"""Every record of the project, defined once.

Arrow types, nullability, the documentation inside the Parquet files and the tables of docs/formats.md
are all derived from these classes (see ``kiltetl.schemas.arrow``). One word per thing:

=================  ==========================================================================
page               one article of the knowledge source
paragraph          one row of a page: its title, a heading, a paragraph or a list item
anchor             one internal link, with its span in the paragraph's text
title              a name that leads to a page: its own, or a redirect
dataset            one of the benchmark's sets of questions, claims, mentions or dialogues
split              train, validation (KILT's dev) or test of a dataset
task               one dataset and split to map, and the table that it becomes
example            one question, claim, mention or turn of a dataset, not yet mapped
record             an example with its provenance: one row of a task's table
evidence           what a dataset's authors pointed at: a page and, mostly, a text
evidence set       the evidence that *together* supports one answer
span               where the text of an evidence was found in a page
provenance         a span as the published record carries it
reject             what could not be used, and why
reason             why it could not: a constant of kiltetl.schemas.reasons
job                what one command makes of its input, planned: files, parameters, parts
part               the share of a job's input that is worked on, and done again, as one
bucket             a part made by a hash, of what belongs together but stands apart
step               one kind of work of a job, done for each part: scan, parse, gather
mark               what a part leaves when a step is done with it: counts, sizes of files
shard              one file of a table
manifest           what a finished job leaves beside its tables, last: input, counts, files
=================  ==========================================================================

Offsets count Unicode code points, start inclusive, end exclusive.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
Float32 = Annotated[float, "float32"]


class Inline:
    """Marks a field whose own fields are spread into the columns of the record that holds it."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """One ``<namespace>`` of ``<siteinfo>``; ``names`` holds the local name first, then aliases."""

    key: int
    names: tuple[str, ...]
    first_letter: bool = True


@dataclass(frozen=True, slots=True)
class Site:
    """What a wiki says of itself in ``<siteinfo>`` (https://www.mediawiki.org/wiki/Help:Export).

    ``language`` is the wiki's language code, ``base`` the address of its main page. ``first_letter``
    is true where the first letter of a title is always upper case.

    >>> Site("ltg", "ltgwiki", "Vikipedeja", "", True, (Namespace(14, ("Kategoreja",)),)).language
    'ltg'
    """

    language: str
    dbname: str
    name: str
    base: str
    first_letter: bool
    namespaces: tuple[Namespace, ...]


@dataclass(frozen=True, slots=True)
class RawPage:
    """One ``<page>`` element with its newest revision. ``redirect`` is None for an article.

    ``ordinal`` is the element's position within its part of the input, from 0.
    """

    ordinal: int
    page_id: int
    title: str
    namespace: int
    redirect: str | None
    revision_id: int
    parent_id: int | None
    timestamp: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """One internal link of a paragraph; ``text == paragraph.text[start:end]`` always."""

    text: Annotated[str, "The link's visible text, trail letters included."]
    href: Annotated[str, "The target as written, entities decoded, without its fragment."]
    fragment: Annotated[str | None, "The part after #, null where there is none."]
    start: Annotated[Int32, "First code point in the paragraph's text."]
    end: Annotated[Int32, "One past the last code point."]
    wikipedia_title: Annotated[str, "Title of the page it leads to, redirects followed; a red link's own, normalised."]
    wikipedia_id: Annotated[str | None, "Id of the page it leads to; null for a red link."] = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One row of a page, in page order. Row 0 is the title."""

    paragraph_id: Annotated[Int32, "Position in the page, 0 = the title row."]
    kind: Annotated[str, "title, section, paragraph or list_item."]
    list_marker: Annotated[str | None, "'-' for a bulleted item, '1.', '2.', … for a numbered one, else null."]
    section: Annotated[tuple[str, ...], "Headings from the top, a heading's own included; empty in the lead."]
    text: Annotated[str, "Clean text, without prefix or line break."]
    anchors: Annotated[tuple[Anchor, ...], "Internal links, in text order."] = ()


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What ``parse_page`` returns. ``unknown_templates`` counts the names that left nothing."""

    paragraphs: tuple[Paragraph, ...]
    categories: tuple[str, ...]
    is_disambiguation: bool
    unknown_templates: Mapping[str, int] = field(default_factory=dict)
    guards: int = 0  # how often a bound on size or nesting took effect


@dataclass(frozen=True, slots=True)
class ParagraphRow:
    """Table ``paragraphs``: the paragraphs of a page are contiguous, in page order, in one file."""

    wikipedia_id: Annotated[str, "Id of the page, decimal."]
    wikipedia_title: Annotated[str, "Title of the page."]
    paragraph: Annotated[Paragraph, Inline()]


@dataclass(frozen=True, slots=True)
class History:
    """The revision that was read."""

    pageid: Annotated[Int64, "Id of the page."]
    parentid: Annotated[Int64 | None, "Id of the revision before, null for a first one."]
    revid: Annotated[Int64, "Id of the revision."]
    pre_dump: Annotated[bool | None, "Whether the revision is no later than the dump's date; null if that is unknown."]
    timestamp: Annotated[str, "ISO 8601, UTC; empty where the dump has none."]
    url: Annotated[str, "Address of the revision; empty where the dump does not name its wiki."]


@dataclass(frozen=True, slots=True)
class PageRow:
    """Table ``pages``: one row an article."""

    wikipedia_id: Annotated[str, "Id of the page, decimal; unique."]
    wikipedia_title: Annotated[str, "Title of the page; unique."]
    categories: Annotated[tuple[str, ...], "Names of its categories, without prefix and sort key, in page order."]
    is_disambiguation: Annotated[bool, "Whether the page carries a disambiguation template or __DISAMBIG__."]
    paragraph_count: Annotated[Int32, "Number of its rows in paragraphs, the title row included."]
    history: Annotated[History, "The revision that was read."]


@dataclass(frozen=True, slots=True)
class TitleRow:
    """Table ``titles``: every title that leads to a page."""

    title: Annotated[str, "The title; unique."]
    wikipedia_id: Annotated[str, "Id of the page it leads to."]
    wikipedia_title: Annotated[str, "Title of the page it leads to."]
    fragment: Annotated[str | None, "Section that the redirect names, null where none."]
    is_redirect: Annotated[bool, "False for a page's own title."]
    hops: Annotated[Int32, "Redirects followed: 0 for a page's own title."]


@dataclass(frozen=True, slots=True)
class Reject:
    """Table ``rejects``: what could not be used."""

    stage: Annotated[str, "Where it happened: titles, pages, or a dataset and its split."]
    source_id: Annotated[str, "What it happened to: a title, an example id, or file and record number."]
    reason: Annotated[str, "One of the constants of kiltetl.schemas.records."]
    detail: Annotated[str, "What was found, for a person."]


@dataclass(frozen=True, slots=True)
class ScannedTitle:
    """What the first pass keeps of a page of namespace 0; never published."""

    page_id: Annotated[Int64, "Id of the page."]
    revision_id: Annotated[Int64, "Id of the revision."]
    ordinal: Annotated[Int32, "Position of the page in its part."]
    title: Annotated[str, "Title in normal form."]
    title_hash: Annotated[Int64, "title_hash(title)."]
    target: Annotated[str | None, "Where a redirect leads, in normal form; null for an article."]
    target_hash: Annotated[Int64, "title_hash(target), 0 for an article."]
    fragment: Annotated[str | None, "The section that a redirect names."]


@dataclass(frozen=True, slots=True)
class ProvenanceMeta:
    """What a dataset says of one evidence."""

    fever_page_id: Annotated[str | None, "fever: page id as FEVER spells it."] = None
    fever_sentence_id: Annotated[Int32 | None, "fever: sentence number on that page."] = None
    annotation_id: Annotated[str | None, "nq: id of the annotation (exceeds 64 signed bits)."] = None
    yes_no_answer: Annotated[str | None, "nq: NONE, YES or NO."] = None
    evidence_span: Annotated[tuple[str, ...] | None, "nq, eli5: what annotators highlighted."] = None
    original_title: Annotated[str | None, "The title the dataset names, where it is not the page's."] = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a released record says that its evidence stands. Characters are None where paragraphs are meant."""

    start_paragraph_id: int
    start_character: int | None
    end_paragraph_id: int
    end_character: int | None
    bleu_score: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing a dataset points at.

    ``title`` is the page's title as the dataset means it (decoded, not yet resolved). Exactly one
    of four holds: ``text`` is the evidence's text; or ``sentence`` numbers a sentence of the page
    ``source_page`` in the dataset's own evidence files, where its text is looked up; or ``place`` is
    where a released record puts it, which is only checked; or all are None and the whole page is the
    evidence (entity linking). ``wikipedia_id`` is the page's id on the English Wikipedia, of released
    records alone: it is looked for first where that wiki is the knowledge source.

    >>> Evidence("Kite", text="A kite is a tethered craft.").title
    'Kite'
    """

    title: str
    text: str | None = None
    source_page: str | None = None
    sentence: int | None = None
    meta: ProvenanceMeta = ProvenanceMeta()
    wikipedia_id: str | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page of a dataset's own evidence files: its key and sentences (index = sentence number)."""

    key: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutputMeta:
    """What is known of one output."""

    score: Annotated[Int32 | None, "eli5: votes of the answer."] = None
    answer_type: Annotated[str | None, "mkqa: entity, date, number, …, unanswerable, long_answer."] = None
    entity: Annotated[str | None, "mkqa, trex: Wikidata id of the answer."] = None
    is_primary: Annotated[bool | None, "triviaqa, mkqa: whether the dataset gives this answer first."] = None
    unmapped_reason: Annotated[str | None, "Why the answer lost its provenance; null where it did not."] = None


@dataclass(frozen=True, slots=True)
class ExampleOutput:
    """One answer with the evidence set that supports it; ``evidence`` None = none is given.

    >>> ExampleOutput("yes").evidence is None
    True
    """

    answer: str | None
    evidence: tuple[Evidence, ...] | None = None
    meta: OutputMeta = OutputMeta()


@dataclass(frozen=True, slots=True)
class PartialEvidence:
    """A passage that some, but too few, annotators accepted (§5 of the KILT paper's appendix)."""

    start_paragraph_id: Annotated[Int32, "First paragraph."]
    end_paragraph_id: Annotated[Int32, "Last paragraph."]
    title: Annotated[str, "Title of the page."]
    section: Annotated[str, "Heading path, Section::::A.:B."]
    wikipedia_id: Annotated[str, "Id of the page."]
    meta: Annotated["PartialEvidenceMeta", "What annotators said."]


@dataclass(frozen=True, slots=True)
class PartialEvidenceMeta:
    """What annotators said of a passage."""

    evidence_span: Annotated[tuple[str, ...] | None, "What annotators highlighted."] = None


@dataclass(frozen=True, slots=True)
class TaskMeta:
    """What a dataset says of one example."""

    left_context: Annotated[str | None, "Entity linking: text before the mention."] = None
    mention: Annotated[str | None, "Entity linking: the mention."] = None
    right_context: Annotated[str | None, "Entity linking: text after the mention."] = None
    partial_evidence: Annotated[tuple[PartialEvidence, ...] | None, "nq, eli5: passages with too few votes."] = None
    obj_surface: Annotated[tuple[str, ...] | None, "trex: surface forms of the object."] = None
    sub_surface: Annotated[tuple[str, ...] | None, "trex, structured_zeroshot: surface forms of the subject."] = None
    subj_aliases: Annotated[tuple[str, ...] | None, "trex, structured_zeroshot: aliases of the subject."] = None
    template_questions: Annotated[tuple[str, ...] | None, "structured_zeroshot: the questions asked."] = None
    level: Annotated[str | None, "hotpotqa: easy, medium or hard."] = None
    type: Annotated[str | None, "hotpotqa: bridge or comparison."] = None
    language: Annotated[str | None, "mkqa: language of the query, as MKQA spells it."] = None


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a dataset in KILT's terms, its evidence not yet mapped.

    >>> answer = ExampleOutput("the wind", (Evidence("Kite", text="A kite is held up by the wind."),))
    >>> Example("1", "What holds up a kite?", (answer,)).outputs[0].answer
    'the wind'
    """

    id: str
    input: str
    outputs: tuple[ExampleOutput, ...]
    meta: TaskMeta = TaskMeta()
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a text was found in a page: the best-BLEU token span (KILT, section 3.2).

    ``end_character`` counts in the paragraph ``end_paragraph_id``; None there means the same one.
    """

    paragraph_id: int
    start_character: int
    end_character: int
    bleu_score: float
    end_paragraph_id: int | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """One span of an evidence set, in the snapshot. Offsets are null where the page is meant."""

    bleu_score: Annotated[Float32 | None, "BLEU of the span against the original text, 0 to 1."]
    start_character: Annotated[Int32 | None, "First code point in the paragraph's text."]
    start_paragraph_id: Annotated[Int32 | None, "Paragraph in which the span starts."]
    end_character: Annotated[Int32 | None, "One past the last code point."]
    end_paragraph_id: Annotated[Int32 | None, "Paragraph in which the span ends."]
    meta: Annotated[ProvenanceMeta, "What the dataset says of the evidence."]
    section: Annotated[str | None, "Heading path: Section::::Abstract. in the lead, Section::::A.:B. below."]
    title: Annotated[str, "Title of the page in the knowledge source."]
    wikipedia_id: Annotated[str, "Id of the page in the knowledge source."]


@dataclass(frozen=True, slots=True)
class Output:
    """One valid output. A provenance list is one evidence set; null where the output has none."""

    answer: Annotated[str | None, "The answer; null where only the evidence is given, or for MKQA's No Answer."]
    meta: Annotated[OutputMeta, "What is known of the output."]
    provenance: Annotated[tuple[Provenance, ...] | None, "One evidence set, null where there is none."]


@dataclass(frozen=True, slots=True)
class Task:
    """Table of a dataset: one row an example (mkqa: an example and language)."""

    id: Annotated[str, "Id of the example in its dataset."]
    input: Annotated[str, "Claim, question, text with a mention, or conversation."]
    meta: Annotated[TaskMeta, "What the dataset says of the example."]
    output: Annotated[tuple[Output, ...], "Equally valid outputs."]
    dataset: Annotated[str, "Name of the dataset."]
    split: Annotated[str, "train, validation or test."]
    language: Annotated[str, "Language of the input."]


@dataclass(frozen=True, slots=True)
class KiltScore:
    """What one prediction scores under KILT's protocol; in the file each score is a column of its own."""

    id: Annotated[str, "Id of the example."]
    prediction: Annotated[str, "The predicted answer as it was compared."]
    answer_words: Annotated[Int32 | None, "Words of the shortest gold answer; null without one."]
    evidence_pages: Annotated[Int32 | None, "Distinct pages of the smallest evidence set; null without one."]
    predicted_pages: Annotated[Int32, "Distinct pages predicted."]
    position: Annotated[Int64, "Position of the gold record, from 0."]
    scores: Annotated[tuple[float, ...], "The figures, 0 to 1, in the order of the protocol's names."]


@dataclass(slots=True)  # not frozen: MKQA makes 260,000, and a frozen one takes three times as long
class MkqaScore:
    """What one prediction scores under MKQA's protocol."""

    example_id: Annotated[str, "Id of the example, decimal."]
    language: Annotated[str, "Language, as MKQA spells it."]
    prediction: Annotated[str, "The predicted text; empty for No Answer."]
    no_answer_prob: Annotated[float, "What the system gave for No Answer, any number."]
    is_answerable: Annotated[bool, "Whether a gold answer is a text."]
    em: Annotated[float, "Exact match, 0 or 1, without a threshold."]
    f1: Annotated[float, "F1, 0 to 1, without a threshold."]
    best_em: Annotated[float, "Exact match at the best threshold."]
    best_f1: Annotated[float, "F1 at the best threshold."]
    position: Annotated[Int64, "Position of the prediction in its file, from 0."]
