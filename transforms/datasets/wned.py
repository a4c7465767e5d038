"""WNED-WIKI: mentions in pages of Wikipedia of all degrees of difficulty (entity linking).

Files: https://doi.org/10.7939/DVN/10968 (wned-datasets/wikipedia: wikipedia.xml and, for each of its
documents, RawText/docName), by Guo and Barbosa. Licence: as stated there; the texts are Wikipedia's,
CC BY-SA. One annotation of the XML file::

    <wikipedia.entityAnnotation>
      <document docName="Kite_(toy)">
        <annotation>
          <mention>Lu Ban</mention><wikiName>Lu Ban</wikiName><offset>21</offset><length>6</length>
        </annotation>

and the row that ``parse`` makes of it, to which the text of the document is added::

    {"docName": "Kite_(toy)", "number": 0, "mention": "Lu Ban", "wikiName": "Lu Ban",
     "offset": "21", "length": "6", "text": "Kites were made by   Lu Ban in …"}

An id is document and number of the mention, linked mentions counted from 0. A released id has the
same after a random part, without the last letter of the document (``…_Kite_(toy:0``).
"""

from kiltetl.transforms.datasets.mentions import SHAPE
from kiltetl.transforms.datasets.spec import Dataset, Published
from kiltetl.transforms.datasets.wned_format import SOURCE, read, split_of

DATASET = Dataset(
    name="wned",
    task="entity linking",
    read=read,
    source=SOURCE,
    split_of=split_of,
    splits=("validation", "test"),
    row_example='<document docName="Kite_(toy)"><annotation><mention>Lu Ban</mention><wikiName>Lu Ban</wikiName>'
    "<offset>21</offset><length>6</length></annotation></document>",
    usage="both splits: `--source wikipedia/wikipedia.xml`, with the folder `RawText/` beside it; half of its "
    "documents are dev, half test, by a hash; no train",
    licence="as stated at the homepage; texts CC BY-SA",
    homepage="https://doi.org/10.7939/DVN/10968",
    leading_metric="accuracy",
    shape=SHAPE,
    published=Published(
        size={"validation": 3_396, "test": 3_376},
        averages=(1.0, 1.0, 1.0, 1.0),
    ),
)
