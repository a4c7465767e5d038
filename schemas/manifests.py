"""What a finished job leaves beside its tables."""

from typing import Final

from kiltetl.schemas.records import PageRow, ParagraphRow, Reject, TitleRow

TABLES: Final[dict[str, type]] = {
    "paragraphs": ParagraphRow,
    "pages": PageRow,
    "titles": TitleRow,
    "rejects": Reject,
}
INDEX: Final = "titles.arrow"  # the look-up made of the titles, beside the tables
MANIFEST: Final = "manifest.json"
