"""WNED-CWEB: mentions in pages of ClueWeb12, linked by FACC1 (entity linking).

Files: https://doi.org/10.7939/DVN/10968 (wned-datasets/clueweb: clueweb.xml and, for each of its
documents, RawText/docName), by Guo and Barbosa. Licence: as stated there; the texts are of ClueWeb12.
The format is that of WNED-WIKI. One row that ``parse`` makes of an annotation, with the text added::

    {"docName": "clueweb12-0000tw-00-00001", "number": 0, "mention": "Lu Ban", "wikiName": "Lu Ban",
     "offset": "21", "length": "6", "text": "Kites were made by   Lu Ban in …"}
"""

from kiltetl.transforms.datasets.mentions import SHAPE
from kiltetl.transforms.datasets.spec import Dataset, Published
from kiltetl.transforms.datasets.wned_format import SOURCE, read, split_of

DATASET = Dataset(
    name="cweb",
    task="entity linking",
    read=read,
    source=SOURCE,
    split_of=split_of,
    splits=("validation", "test"),
    row_example='<document docName="clueweb12-0000tw-00-00001"><annotation><mention>Lu Ban</mention>'
    "<wikiName>Lu Ban</wikiName><offset>21</offset><length>6</length></annotation></document>",
    usage="both splits: `--source clueweb/clueweb.xml`, with the folder `RawText/` beside it; half of its "
    "documents are dev, half test, by a hash; no train",
    licence="as stated at the homepage",
    homepage="https://doi.org/10.7939/DVN/10968",
    leading_metric="accuracy",
    shape=SHAPE,
    published=Published(
        size={"validation": 5_599, "test": 5_543},
        averages=(1.0, 1.0, 1.0, 1.0),
    ),
)
