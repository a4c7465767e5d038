"""Why something was not used.

A *skip* follows a rule of the benchmark and is only counted; a *loss* is a fact of the data (its page is
gone, its text changed); a *failure* is malformed input or an error. Losses and failures are rows of the
tables ``rejects``; ``--max-reject-share`` bounds the failures.
"""

from typing import Final

OTHER_NAMESPACE: Final = "other-namespace"
REDIRECT: Final = "redirect"
NOT_WIKITEXT: Final = "not-wikitext"
DUPLICATE_PAGE: Final = "duplicate-page"
NOT_ENOUGH_INFO: Final = "not-enough-info"
NO_SHORT_ANSWER: Final = "no-short-answer"
SHORT_ANSWER_TOO_LONG: Final = "short-answer-too-long"
NO_ANSWER: Final = "no-answer"  # a published test file, whose answers are kept back
NO_PAGE: Final = "no-page"  # triviaqa: a question to which no page is given
NO_PASSAGE: Final = "no-passage"  # wow: a dialogue whose wizard chose no sentence
NO_FACT: Final = "no-fact"  # trex: a document that states no fact between two entities
TOO_MANY_PROVENANCES: Final = "too-many-provenances"
RARE_RELATION: Final = "rare-relation"  # trex: a relation of too few facts
NEGATIVE_EXAMPLE: Final = "negative-example"
OTHER_SPLIT: Final = "other-split"  # of a dataset that is split by a rule
NO_ENTITY: Final = "no-entity"  # a mention that annotators linked to no page
SKIPS: Final = (
    OTHER_NAMESPACE,
    REDIRECT,
    NOT_WIKITEXT,
    DUPLICATE_PAGE,
    NOT_ENOUGH_INFO,
    NO_SHORT_ANSWER,
    SHORT_ANSWER_TOO_LONG,
    NO_ANSWER,
    NO_PAGE,
    NO_PASSAGE,
    NO_FACT,
    TOO_MANY_PROVENANCES,
    RARE_RELATION,
    NEGATIVE_EXAMPLE,
    NO_ENTITY,
    OTHER_SPLIT,
)

REDIRECT_CYCLE: Final = "redirect-cycle"
REDIRECT_TARGET_MISSING: Final = "redirect-target-missing"
REDIRECT_TO_OTHER_NAMESPACE: Final = "redirect-to-other-namespace"
PAGE_NOT_IN_KNOWLEDGE_SOURCE: Final = "page-not-in-knowledge-source"
PAGE_IS_DISAMBIGUATION: Final = "page-is-disambiguation"
BLEU_BELOW_THRESHOLD: Final = "bleu-below-threshold"
SOURCE_PAGE_MISSING: Final = "source-page-missing"
SOURCE_SENTENCE_MISSING: Final = "source-sentence-missing"
SPAN_NOT_IN_PAGE: Final = "span-not-in-page"  # of a released record: its page has no such paragraph or characters
NO_EVIDENCE: Final = "no-evidence"  # a record of validation or test that names none
LOSSES: Final = (
    REDIRECT_CYCLE,
    REDIRECT_TARGET_MISSING,
    REDIRECT_TO_OTHER_NAMESPACE,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    PAGE_IS_DISAMBIGUATION,
    BLEU_BELOW_THRESHOLD,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
    SPAN_NOT_IN_PAGE,
    NO_EVIDENCE,
)

# Why a row of mkqa has no provenance of Natural Questions, beside the losses of the record there:
NOT_IN_NQ: Final = "not-in-nq"  # the tables have no such record (a rule of the benchmark may have left it out)

MALFORMED_PAGE: Final = "malformed-page"
PAGE_FAILED: Final = "page-failed"
MALFORMED_RECORD: Final = "malformed-record"
RECORD_TOO_LARGE: Final = "record-too-large"  # a record or page of more bytes than --max-record-mb
RECORD_TOO_DEEP: Final = "record-too-deep"  # JSON whose lists and objects are nested deeper than any dataset's
FAILURES: Final = (MALFORMED_PAGE, PAGE_FAILED, MALFORMED_RECORD, RECORD_TOO_LARGE, RECORD_TOO_DEEP)

# What in a paragraph's text looks like a remnant of wikitext; counted, never removed
REMNANTS: Final = ("markup", "empty parentheses", "space before punctuation")

# Why a question is left out, and what is wrong with a judgement or a passage.
NO_EVIDENCE_FOUND: Final = "no-evidence-found"
NOT_JUDGED: Final = "not-judged"
UNKNOWN_QUESTION: Final = "unknown-question"
PASSAGE_NOT_FOUND: Final = "passage-not-in-knowledge-source"
JUDGED_TWICE: Final = "judged-twice"
ANNOTATOR_LEFT_OUT: Final = "annotator-left-out"
SPAN_NOT_IN_PASSAGE: Final = "span-not-in-passage"

LOW_OVERLAP: Final = "low-overlap"
SHARES_A_PARAGRAPH: Final = "shares-a-paragraph"
NO_PLACE: Final = "no-place-left"
CHOSEN: Final = "chosen"
