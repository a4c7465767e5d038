"""What the templates of the English Wikipedia show in a sentence: the table (pure data).

``FORMS`` has a line for each form: the names that share it, an arrow, the form in the little language of
templates.py. What a form cannot say is computed, see renderers.py. ``NO_TEXT`` lists names that are known
to be no running text. Any other name is unknown: it shows nothing and is counted. Sources: the
documentation of each template on en.wikipedia.org, and of a few that fr, ru and zh put into sentences.
"""

from typing import Final

_FORMS: Final = """
# The argument itself, set in another type or given a meaning
nowrap | nobr | j | no wrap | nowraplinks | nowrap begin | small | smaller | smalldiv | big | large → {1}
larger | midsize → {1}
sc | sc2 | smallcaps | small caps | smallcaps all | allcaps | em | strong | strongbad | noitalic | nobold → {1}
normal → {1}
mvar | math | bigmath | var | var serif | code | mono | monospace | tt | samp | kbd | key | keypress → {1}
button → {1}
unicode | polytonic | hebrew | nq | script/hebrew | script/arabic | script/nastaliq | script/slavonic → {1}
nastaliq → {1}
not a typo | notatypo | typo | proper name | chem name | chemical name | dfn | serif | sans-serif → {1}
strikethrough → {1}
visible anchor | vanchor | vanc | vr | ipalink | ipa link | ipaslink | ipablink | ipa2 | sup | sub | underline → {1}
overline → {1}
highlight | citequote | tq | talkquote | inline quote | cuneiform | script/cuneiform | gothic | pinyin → {1}
zh-p → {1}
nihongo2 | self-link | greek | align center | fs | block | date- | start-date | end-date | flagu | lira → {1}
lbb → {1}
vertical-align | large text | smallsup | stack text | nobreak | literal text | ship name | tag name → {1}
overbar → {1}
lang | langnf | lang-nf | rtl-lang | script | color | colour | font color | fontcolor → {text|2|1}
background color → {text|2|1}
bgcolor | text color | hover title | lang2 | unicode lang | resize | font → {text|2|1}
transl | transliteration | tlit | ISOtranslit → {3|2|1}
wikt-lang | wt | lcdef → {3|2|1}
abbr | abbrlink | abbreviation | abbrv | tooltip | hover | explain | define → {1}
angbr | angle bracket | angbr ipa | grapheme | orthography → ⟨{1}⟩
langle → ⟨
rangle → ⟩
ruby | ruby-ja | ruby-zh-p | rubi → {1}< ({2})>

# Links
ill | illm | interlanguage link | interlanguage link multi | ill-wd → [[{1}<|{lt}>]]
link-interwiki → [[{en|1}<|{lt|text}>]]
ill-wd2 → {lt|label|1}
red link | redlink → [[{1}]]
no redirect | noredirect | annotated link → [[{1}<|{2}>]]
section link | slink → <{1} >§ {2}
wikt → {2|1}
flag | flagicon2 → [[{1}<|{name}>]]
flagcountry | flagd | flag country | flaglink → [[{1}]]
station | stn → [[{1} station|{1}]]
rws → [[{1} railway station|{1}]]
us patent → U.S. Patent {1}
city-state | city-region → [[{1}, {2}|{1}]], {2}
sort → {2|1}

# Time
floruit | fl. | fl → fl. {1}<–{2}>
reign | r. → r. {1}<–{2}>
born-in → born in {1}
birth-date | death-date | birth-date and age → {2|1}
death-date and age → {3|1}
birth year and age | death year and age → {1}
old style date | oldstyledate | osdate → {1} [O.S. {3}] {2}
oldstyledatedy → {1} {2} [O.S. {3}]
oldstyledatenoyear → {1} [O.S. {2}]

# Numbers and amounts
10^ → 10^{1}
su → <{1}><{p}><{b}>
± → ±{1}<–{2}>
ordinal → {1}
us$ | usd | us dollar → US${1}
a$ | aud → A${1}
ca$ | cad | c$ → C${1}
nz$ | nzd → NZ${1}
hk$ | hkd → HK${1}
nt$ | twd → NT${1}
s$ | sgd → S${1}
r$ | brl → R${1}
£ | gbp | pound sterling → £{1}
€ | euro | eur → €{1}
¥ | yen | jpy | jp¥ | cny | rmb | cn¥ → ¥{1}
inr | indian rupee | indian rupees | rupee | ₹ → ₹{1}
inrconvert → ₹{1}< {2}>
krw | south korean won → ₩{1}
₱ | php → ₱{1}
₽ | russian ruble → ₽{1}
₪ | ils | nis → ₪{1}
bdt → ৳{1}
pkr → Rs. {1}
chf → CHF {1}

# Phrases
lit | lit. | literal translation | literally → lit. '{1}'<, '{2}'>
gloss | trans → '{1}'
translation → transl. {1}
nihongo3 → <{3} >(<{2}, >{1})
unichar → U+{1}< {2|name}>

# Punctuation. The space before a spaced dash or dot is written, the one after it stands in the page or is written
ndash | – | en dash | endash | n-dash | nbndash | ndashb | -b → –
mdash | — | em dash | emdash | m-dash | mdashb → —
snd | spnd | sndash | spndash | spaced ndash | spaced en dash | spaced en dash space | snds → &#32;–&#32;
spacedndash → &#32;–&#32;
dash | spaced en-dash | spaced n-dash | nbspndash | ndash spaced → &#32;–&#32;
smd | spaced mdash | spaced em dash | smdash | spaced emdash | spmd → &#32;—&#32;
nbsp | space | spaces | sp | thinsp | thin space | hairsp | hair space | nnbsp | ensp | emsp | em space → &#32;
quad → &#32;
figure space | non breaking space | nbs | pad | break | br | crlf | crlf2 | linebreak | line break → &#32;
indent → &#32;
· | dot | middot | ·w | dotw → &#32;·
• | bullet | bull | •w → &#32;•
' | apostrophe | '- | -' → &#39;
's → &#39;s
" | -" → "
'" | ' " → &#39;"
"' | " ' → "&#39;
’ → ’
! → |
!! → ||
!- → |-
= → &#61;
pipe → &#124;
( → &#123;
) → &#125;
(( → &#123;&#123;
)) → &#125;&#125;
bracket | brackets → &#91;{1}&#93;
zwj → &zwj;
zwnj → &zwnj;
shy → &shy;
wbr | zwsp → &#8203;
ellipsis | ... → …
nbhyph | nbhyphen → ‑
hyphen → ‐

# Signs
okina | ʻ → ʻ
hamza → ʾ
ayin → ʿ
degree | deg → °
times → ×
minus | − → −
pm | +- → ±
eqm | reversible reaction → ⇌
sqrt | radic → <{2}>√{1}
pi → π
hbar → ħ
infin → ∞
prime → {1}′
pprime → {1}″
sharp → ♯
flat → ♭
natural → ♮
tick | aye | check mark → ✓
cross → ✗
trade → ™
bra → ⟨{1}&#124;
ket → &#124;{1}⟩
bra-ket | braket → ⟨{1}&#124;{2}⟩
abs → &#124;{1}&#124;
solar mass → M☉
solar radius → R☉
solar luminosity → L☉
earth mass → M🜨
subatomic particle → {1}

# Blocks of their own
quote | blockquote | cquote | quotation → ¶{text|1|quote|content}<¶— {author|sign|by|2}<, {source|title|3}>>¶
bquote | block quote | long quote → ¶{text|1|quote|content}<¶— {author|sign|by|2}<, {source|title|3}>>¶
quoteblock → ¶{text|1|quote|content}<¶— {author|sign|by|2}<, {source|title|3}>>¶
centered pull quote | pull quote | block quotation → ¶{text|1|quote}<¶— {author|sign|2}>¶
poem quote | poemquote | verse quote → ¶{text|1}<¶— {author|sign|2}>¶
verse translation → ¶{1}¶{2}¶
center | centre | block indent | blockindent | bi | block left | poem | columns list → ¶{1|text|content}¶
equation | numblk | numbered block → ¶{equation|2|1}¶

# Other wikis
lien → [[{fr|1}<|{texte|trad}>]]
langue → {texte|2|1}
japonais → {1}< ({2})>
unité | unité/2 → {1}< {2}>
nombre → {1}< {2}>
tmp → {1}< {2}>
heure → {1} h< {2}>
incise → &#32;– {1} –&#32;
nobr romains | romain | rom-maj | rom | latin → {1}
er → er
re | 1re → re
ère → ère
e- | eme → e
siècle | s | s- | s2- → {1}{2} siècle
date de naissance | date de décès → {1} {2} {3}
en langue → {2}
höhe → {1} m
нп5 | нп3 | не переведено 5 → [[{1}<|{2}>]]
tsl → [[{3}<|{4}>]]
link-en | internal link helper | le → [[{1}<|{3}>]]
"""

_NO_TEXT: Final = """
# References, notes, what is marked as missing
citation | cite | citation needed | citation needed span | cn | fact | facts | cb | unreferenced
unreferenced section | refimprove | refimprove section | more citations needed | sfn | harv | snf | efn | refn
rp | r | ran | ref | note | notelist | notetag | notefoot | note label | ref label | ref-label | cnote | cnote2
cref | cref2 | reflist | refs | references | refbegin | refend | notelist-la | notelist-ua | notelist-lr
notelist-ur | notelist-lg | listref | reflist-talk | multiref | multiref2 | clarify | clarification needed
clarifyme | when | who | whom | who? | which | which? | where | why | how | how often | by whom | by whom?
according to whom | according to whom? | weasel-inline | dubious | disputed-inline | dn | disambiguation needed
dead link | dl | deadlink | cbignore | webarchive | wayback | page needed | pn | page number needed
better source | better source needed | verify source | verification needed | failed verification
verify credibility | unreliable source | unreliable source? | rs? | nonspecific | not in citation
not in citation given | not verified in body | primary source needed | self-published source | sps | or
original research? | peacock term | vague | specify | speculation | undue weight inline | update after
needs update | citation style | full | full citation needed | incomplete short citation | inconsistent
like whom | like whom? | colloquial | editorializing | off topic inline | ambiguous | example needed | examples
quantify | time fragment | year needed | month needed | volume needed | season needed | isbn missing
title missing | date missing | author missing | place missing | vol. | qualify evidence | attribution needed
awkward | buzz | chronology citation needed | context needed | definition | discuss | elucidate | emphasis added
expand acronym | explain? | improve source | inappropriate | includes | neologism inline
not specific enough to verify | opinion | page range too broad | pronunciation needed | request quotation
quote request | relevance | romanization needed | non sequitur | thirdpartyinv | tone-inline
unbalanced opinion | undue | update? | who said | subscription required | subscription | registration required
closed access | open access | free access | registration | limited access | isbn | issn | oclc | doi | pmid
pmc | arxiv | asin | lccn | bibcode | ol | ol author | jstor | ssrn | hdl | s2cid | isbnt | vcite book
vcite journal | vcite web | vcite news | wikicite | catalog lookup link | pdf | pdflink
pl icon
icon | language icon | link language | in lang | cite quick | reference necessary
source needed

# Links to other sites and projects
allmusic | imdb name | imdb title | imdb | discogs | discogs artist | official website | official | official url
url | website | official site | oweb | rotten tomatoes | metacritic | facebook | twitter | youtube | myspace
instagram | dmoz | curlie | c-span | ibdb | iobdb | tcmdb title | tcmdb name | find a grave | gutenberg
gutenberg author | internet archive | internet archive author | librivox | librivox author | worldcat
worldcat id | ia author | steam | allmovie | allmovie title | baseballstats | goodreads | mathworld | sep | iep
planetmath | planetmath attribution | eb1911 | eb9 | 1911 | dnb | catholic | catholic encyclopedia | americana
nie | attribution | free content attribution | source-attribution | citation-attribution | include-usgov
include-nasa | usgpo | pd-notice | loc | country study | cia world factbook | cia world factbook link | us-gov
inpho | philpapers | wikiatlas | osmrelation | osmrelation-inline | dictionary of canadian biography | intitle
lookfrom | canmore | nrhp url | nra | sister project links | sisterlinks | sister project | commons | commonscat
wikiquote | wikisource | wikisourcelang | wikibooks | wikinews | wikiversity | wikivoyage | wikispecies
wiktionary | wiktionary inline | portal | portal bar | portalbar | books | library resources box
library resources | spoken wikipedia | subject bar | in our time | bbc | nyttopic | guardian topic

# Hatnotes, notices, metadata
main | main article | main articles | mainarticle | main list | main page | main category | see also | see
see also2 | further | further information | furtherinfo | details | details3 | about | about2 | for | for2
for-text | for multi | other uses | otheruses | otheruses4 | otheruse | other people | other people2
other places | other ships | other persons | redirect | redirect2 | redirect-multi | redirect-distinguish
redirect-several | redirect-synonym | two other uses | distinguish | distinguish2 | distinguish-redirect
confuse | not to be confused with | hatnote | rellink | italic title | italictitle | lowercase | lowercase title
correct title | short description | shortdesc | technical reasons | for timeline | broader | cat main | catmore
category see also | selfref | self reference | ambox | notice | warning | nomorelinks | prone to spam | bots
nobots | featured article | good article | link fa | link ga | link fl | authority control | persondata
defaultsort | displaytitle | coord missing | geobox | geogroup | kml | attached kml | engvarb | engvar | eng-b
dmy | mdy | pp | protected | nofootnotes | no footnotes | more footnotes | more footnotes needed | cleanup
copy edit | copyedit | expand | multiple issues | article issues | globalize | update | outdated | out of date
pov | pov-check | npov | neutrality | disputed | tone | peacock | advert | essay-like | lead too short
lead too long | lead missing | lead rewrite | very long | too long | split | merge | merge to | merge from
mergeto | mergefrom | merge-from | merge-to | orphan | notability | one source | blp sources | blp unsourced
primary sources | original research | synthesis | in use | inuse | under construction | current | stub
sect-stub | dynamic list | incomplete list | prose | trivia | confusing | technical | overly detailed
external links | linkrot | jargon | unreliable sources | story | plot | bare urls | overcolored
too few opinions | undue weight | weasel | cherry-picked | coi | fansite | in-universe | manual | ipa notice
special characters | wikify | reflist-note | italics title | year dab | year article header
events by month links | shortcut | anchor | anchors | anchor comment | void | template other | ibid | ibidem
sfn whitelist | refideas | lrm | rlm | hs | ntsh | percentage | sronly | reply to | ping | unsigned
citation style | italic title infobox | no italic title | multiple image | audio | audio-ipa | pronunciation
lang icon | translit | flag decoration | fix | fix-span | delink | dyk | pov section

# Layout
clear | clr | - | clearleft | clearright | clear left | clear right | break section | toc limit | toclimit | toc
toc right | toc left | tocright | tocleft | toc hidden | compacttoc | compact toc | alphanumeric toc
horizontal toc | hidden | hidden begin | hidden end | collapse | collapse top | collapse bottom | end
start box | end box | div col | div col end | end div col | colbegin | colend | col-begin | col-begin-small
col-end | col-break | col-2 | col-3 | col-4 | col-5 | col-1-of-2 | col-2-of-2 | columns | cols | multicol
multicol-break | multicol-end | column | top | mid | bottom | col-float | col-float-break | col-float-end
stack | stack begin | stack end | stack-begin | stack-end | small div | small div end | plainlist/end
endplainlist | flatlist/end | endflatlist | cquote/end | nowrap end | div flex row start | div flex row end
- bar | pad top | pb | refn begin | table alignment

# Boxes, tables and what stands in their cells
infobox | taxobox | automatic taxobox | speciesbox | drugbox | chembox | elementbox | navbox | sidebar
succession box | quote box | quotebox | rquote | quote left | quote box2 | listen | multi-listen start
multi-listen item | multi-listen end | sample box start | sample box end | external media | external video
external audio | image | css image crop | annotated image | annotated image 4 | multiple images | triple image
double image | auto images | wide image | tall image | panorama | image frame | superimpose | image label begin
image label end | image label | image label small | vertical images list | photomontage | gallery | image array
largethumb | flagicon | flag icon | flagicon image | flagdeco | flag+link | noflag | fb | fbicon | country data
legend | color box | colorbox | color sample | increase | decrease | steady | gain | loss | up | down
no change | profit | yes | no | partial | n/a | na | unknown | won | nom | nominated | tba | tbd | dunno | maybe
pending | included | rh | draft | family tree | familytree | chart | clade | cladogram | tree list | tree chart
ahnentafel | weather box | climate chart | historical populations | us census population | uscensuspop | bar box
bar percent | bar chart | pie chart | piechart | bartable | largest cities | rank | football kit | goal | yel
sent off | subon | suboff | track listing | tracklist | album ratings | album reviews | music ratings
video game reviews | vgratings | film ratings | singlechart | single chart | albumchart | album chart
chess diagram | chess diagram small | ship event row | service record | s-start | s-end | rail start | jctint
jct | routemap | composition bar | party color | yearnav | year nav | calendar | day | months | charmap
latin letter info | simplenuclide2 | nuclide2 | spaceflight crew | moon spacecraft | chordata | periodic table
inflation-fn | inflation-year | inflation | inr convert | to usd | format price | age in days | goalscorers
medaltabletop | medalbottom | game over | graph chart | location map | location map many | location map+
location map~ | climate chart | maps | sclass notes | ordered list end | railgauge2

# Disambiguation pages and sets
disambiguation | disambig | dab | hndis | geodis | surname | given name | set index article | sia | shipindex
mountainindex | lakeindex | roadindex | plant common name | nickname | school disambiguation | numberdis
letter-numbercombdisambig

# Other wikis
navigationsleiste | normdaten | personendaten | belege fehlen | belege | überarbeiten | lückenhaft
begriffsklärungshinweis | dieser artikel | weiterleitungshinweis | hauptartikel | siehe auch | exzellent
lesenswert | internetquelle | literatur | webarchiv | palette | liens | référence nécessaire | réf.
article détaillé | voir homonymes | ébauche | sources | refnec | multi bandeau | autorité | autres projets
bases | légende plume | ouvrage | lien web | article | références | confusion | voir aussi | à sourcer
références nombreuses | nūruodis | vikisklods | bez atsaucem | wikisklods | palette géographique | portail
catégorie principale
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.startswith("#")]


FORMS: Final[dict[str, str]] = {
    name.strip(): form
    for line in _lines(_FORMS)
    for names, arrow, form in [line.rpartition(" → ")]
    for name in names.split(" | ")
}
NO_TEXT: Final = frozenset(name.strip().lower() for line in _lines(_NO_TEXT) for name in line.split(" | "))

# Beginnings and ends of the names of whole families that are no running text
NO_TEXT_PREFIXES: Final = (
    *("cite ", "infobox", "taxobox", "navbox", "use ", "pp-", "sidebar", "campaignbox", "wikisource", "wikiquote"),
    *("commons", "efn", "sfn", "harv", "refn", "s-", "bs-", "election box", "rail ", "graph:", "cleanup", "expand "),
    *("contains ", "needs ", "wikipedia:", "user:", "weather box", "climate chart", "chess ", "fb ", "fs ", "soccer"),
    *("largest cities", "football box", "footballbox", "medal", "flagicon", "coord missing", "family tree", "chart/"),
    *(
        "tree chart",
        "familytree",
        "geobox",
        "module:",
        "certification ",
        "spoken wikipedia",
        "wikipedia books",
        "sister",
    ),
    *("карточка", "صندوق", "معلومات", "ficha ", "info/"),
)
NO_TEXT_SUFFIXES: Final = (
    *("-stub", " stub", " navbox", " infobox", " sidebar", " topics", " topic", " navigation", "-inline", " inline"),
    *(" box", " series", " timeline", "/box", " footer", " taxonomy", " icon", " navigational boxes"),
)

_LANGUAGE_NAMES: Final = """
aa Afar|ab Abkhaz|ae Avestan|af Afrikaans|ain Ainu|ak Akan|akk Akkadian|am Amharic|an Aragonese|ang Old English
ar Arabic|arc Aramaic|arz Egyptian Arabic|as Assamese|ast Asturian|av Avar|ay Aymara|az Azerbaijani|ba Bashkir
ban Balinese|bar Bavarian|bcl Central Bikol|be Belarusian|be-tarask Belarusian|ber Berber languages|bg Bulgarian
bh Bihari|bi Bislama|bm Bambara|bn Bengali|bo Standard Tibetan|br Breton|bs Bosnian|bua Buryat|ca Catalan
ce Chechen|ceb Cebuano|ch Chamorro|chr Cherokee|ckb Central Kurdish|co Corsican|cop Coptic|cr Cree
crh Crimean Tatar|cs Czech|csb Kashubian|cu Church Slavonic|cv Chuvash|cy Welsh|da Danish|de German
de-at Austrian German|de-ch Swiss Standard German|dsb Lower Sorbian|dv Dhivehi|dz Dzongkha|ee Ewe|egy Egyptian
el Greek|en English|enm Middle English|eo Esperanto|es Spanish|et Estonian|ett Etruscan|eu Basque|fa Persian
ff Fula|fi Finnish|fil Filipino|fj Fijian|fo Faroese|fr French|fro Old French|frm Middle French
frp Franco-Provençal|frr North Frisian|fur Friulian|fy West Frisian|ga Irish|gd Scottish Gaelic|gez Geʽez
gl Galician|gmh Middle High German|gn Guarani|goh Old High German|got Gothic|grc Ancient Greek|grc-gre Greek
gsw Swiss German|gu Gujarati|gv Manx|ha Hausa|hak Hakka|haw Hawaiian|he Hebrew|hi Hindi|hit Hittite|ho Hiri Motu
hr Croatian|hsb Upper Sorbian|ht Haitian Creole|hu Hungarian|hy Armenian|hz Herero|ia Interlingua|id Indonesian
ie Interlingue|ig Igbo|ik Inupiaq|ilo Ilocano|io Ido|is Icelandic|it Italian|iu Inuktitut|ja Japanese
jv Javanese|ka Georgian|kab Kabyle|kg Kongo|ki Kikuyu|kk Kazakh|kl Greenlandic|km Khmer|kn Kannada|ko Korean
kok Konkani|ks Kashmiri|ku Kurdish|kv Komi|kw Cornish|ky Kyrgyz|la Latin|lad Judaeo-Spanish|lb Luxembourgish
lez Lezgian|lg Luganda|li Limburgish|lij Ligurian|lmo Lombard|ln Lingala|lo Lao|lt Lithuanian|ltg Latgalian
lv Latvian|mai Maithili|mg Malagasy|mh Marshallese|mi Māori|mk Macedonian|ml Malayalam|mn Mongolian|mnc Manchu
mni Meitei|mr Marathi|ms Malay|mt Maltese|mwl Mirandese|my Burmese|mzn Mazanderani|na Nauruan|nah Nahuatl
nan Hokkien|nap Neapolitan|nb Norwegian Bokmål|nds Low German|ne Nepali|new Newar|nl Dutch|nn Norwegian Nynorsk
no Norwegian|non Old Norse|nrf Norman|nv Navajo|ny Chichewa|oc Occitan|oj Ojibwe|om Oromo|or Odia|os Ossetian
ota Ottoman Turkish|pa Punjabi|pal Middle Persian|pam Kapampangan|pap Papiamento|pcd Picard|peo Old Persian
pi Pali|pl Polish|pms Piedmontese|pnb Western Punjabi|prg Old Prussian|ps Pashto|pt Portuguese
pt-br Brazilian Portuguese|qu Quechua|rm Romansh|rmy Romani|rn Kirundi|ro Romanian|rom Romani|ru Russian
rue Rusyn|rw Kinyarwanda|sa Sanskrit|sah Yakut|sat Santali|sc Sardinian|scn Sicilian|sco Scots|sd Sindhi
se Northern Sami|sg Sango|sh Serbo-Croatian|sh-latn Serbo-Croatian Latin|si Sinhala|sk Slovak|sl Slovene
sm Samoan|sn Shona|so Somali|sq Albanian|sr Serbian|sr-cyrl Serbian Cyrillic|sr-latn Serbian Latin|ss Swazi
st Sotho|su Sundanese|sux Sumerian|sv Swedish|sw Swahili|syc Classical Syriac|syr Syriac|szl Silesian|ta Tamil
te Telugu|tet Tetum|tg Tajik|th Thai|ti Tigrinya|tk Turkmen|tl Tagalog|tn Tswana|to Tongan|tpi Tok Pisin
tr Turkish|ts Tsonga|tt Tatar|tw Twi|ty Tahitian|udm Udmurt|ug Uyghur|uk Ukrainian|ur Urdu|uz Uzbek|ve Venda
vec Venetian|vi Vietnamese|vls West Flemish|vo Volapük|wa Walloon|war Waray|wo Wolof|xal Kalmyk|xh Xhosa
yi Yiddish|yo Yoruba|yue Cantonese|za Zhuang|zea Zeelandic|zh Chinese|zu Zulu
"""
LANGUAGE_NAMES: Final[dict[str, str]] = {
    code: name
    for line in _lines(_LANGUAGE_NAMES)
    for entry in line.split("|")
    for code, _, name in [entry.partition(" ")]
}

_COUNTRIES: Final = """
AFG Afghanistan|ALB Albania|DZA Algeria|ALG Algeria|AND Andorra|AGO Angola|ANG Angola|ATG Antigua and Barbuda
ARG Argentina|ARM Armenia|ABW Aruba|AUS Australia|AUT Austria|AZE Azerbaijan|BHS Bahamas|BAH Bahamas|BHR Bahrain
BGD Bangladesh|BAN Bangladesh|BRB Barbados|BAR Barbados|BLR Belarus|BEL Belgium|BLZ Belize|BEN Benin|BMU Bermuda
BER Bermuda|BTN Bhutan|BOL Bolivia|BIH Bosnia and Herzegovina|BWA Botswana|BOT Botswana|BRA Brazil|BRN Brunei
BGR Bulgaria|BUL Bulgaria|BFA Burkina Faso|BUR Burkina Faso|BDI Burundi|KHM Cambodia|CAM Cambodia|CMR Cameroon
CAN Canada|CPV Cape Verde|CYM Cayman Islands|CAF Central African Republic|TCD Chad|CHA Chad|CHL Chile|CHI Chile
CHN China|PRC China|COL Colombia|COM Comoros|COD Democratic Republic of the Congo|COG Republic of the Congo
COK Cook Islands|CRI Costa Rica|CRC Costa Rica|HRV Croatia|CRO Croatia|CUB Cuba|CUW Curaçao|CYP Cyprus
CZE Czech Republic|DNK Denmark|DEN Denmark|DJI Djibouti|DMA Dominica|DOM Dominican Republic|ECU Ecuador|EGY Egypt
SLV El Salvador|ESA El Salvador|ENG England|GNQ Equatorial Guinea|ERI Eritrea|EST Estonia|ETH Ethiopia|SWZ Eswatini
FLK Falkland Islands|FRO Faroe Islands|FIJ Fiji|FJI Fiji|FIN Finland|FRA France|GAB Gabon|GMB Gambia|GAM Gambia
GEO Georgia (country)|DEU Germany|GER Germany|FRG West Germany|GDR East Germany|GHA Ghana|GIB Gibraltar
GBR United Kingdom|GRC Greece|GRE Greece|GRL Greenland|GRD Grenada|GUM Guam|GTM Guatemala|GUA Guatemala|GGY Guernsey
GIN Guinea|GUI Guinea|GNB Guinea-Bissau|GUY Guyana|HTI Haiti|HAI Haiti|HND Honduras|HON Honduras|HKG Hong Kong
HUN Hungary|ISL Iceland|IND India|IDN Indonesia|INA Indonesia|IRN Iran|IRI Iran|IRQ Iraq|IRL Republic of Ireland
IMN Isle of Man|IOM Isle of Man|ISR Israel|ITA Italy|CIV Ivory Coast|JAM Jamaica|JPN Japan|JEY Jersey|JOR Jordan
KAZ Kazakhstan|KEN Kenya|KIR Kiribati|PRK North Korea|KOR South Korea|KOS Kosovo|KWT Kuwait|KUW Kuwait
KGZ Kyrgyzstan|LAO Laos|LVA Latvia|LAT Latvia|LBN Lebanon|LIB Lebanon|LSO Lesotho|LES Lesotho|LBR Liberia|LBY Libya
LBA Libya|LIE Liechtenstein|LTU Lithuania|LUX Luxembourg|MAC Macau|MDG Madagascar|MAD Madagascar|MWI Malawi
MAW Malawi|MYS Malaysia|MAS Malaysia|MDV Maldives|MLI Mali|MLT Malta|MHL Marshall Islands|MRT Mauritania
MTN Mauritania|MUS Mauritius|MRI Mauritius|MEX Mexico|FSM Federated States of Micronesia|MDA Moldova|MCO Monaco
MON Monaco|MNG Mongolia|MGL Mongolia|MNE Montenegro|MSR Montserrat|MAR Morocco|MOZ Mozambique|MMR Myanmar
MYA Myanmar|NAM Namibia|NRU Nauru|NPL Nepal|NEP Nepal|NLD Netherlands|NED Netherlands|NZL New Zealand|NIC Nicaragua
NCA Nicaragua|NER Niger|NIG Niger|NGA Nigeria|NGR Nigeria|NIR Northern Ireland|MKD North Macedonia|NOR Norway
OMN Oman|OMA Oman|PAK Pakistan|PLW Palau|PSE Palestine|PLE Palestine|PAN Panama|PNG Papua New Guinea|PRY Paraguay
PAR Paraguay|PER Peru|PHL Philippines|PHI Philippines|POL Poland|PRT Portugal|POR Portugal|PRI Puerto Rico
PUR Puerto Rico|QAT Qatar|ROU Romania|ROM Romania|RUS Russia|RWA Rwanda|KNA Saint Kitts and Nevis|LCA Saint Lucia
VCT Saint Vincent and the Grenadines|WSM Samoa|SAM Samoa|SMR San Marino|STP São Tomé and Príncipe|SAU Saudi Arabia
KSA Saudi Arabia|SCO Scotland|SEN Senegal|SRB Serbia|SCG Serbia and Montenegro|SYC Seychelles|SEY Seychelles
SLE Sierra Leone|SGP Singapore|SIN Singapore|SVK Slovakia|SVN Slovenia|SLO Slovenia|SLB Solomon Islands
SOL Solomon Islands|SOM Somalia|ZAF South Africa|RSA South Africa|SSD South Sudan|URS Soviet Union|ESP Spain
LKA Sri Lanka|SRI Sri Lanka|SDN Sudan|SUD Sudan|SUR Suriname|SWE Sweden|CHE Switzerland|SUI Switzerland|SYR Syria
TWN Taiwan|ROC Taiwan|TPE Chinese Taipei|TJK Tajikistan|TZA Tanzania|TAN Tanzania|THA Thailand|TLS East Timor
TGO Togo|TOG Togo|TON Tonga|TGA Tonga|TTO Trinidad and Tobago|TRI Trinidad and Tobago|TUN Tunisia|TUR Turkey
TKM Turkmenistan|TCA Turks and Caicos Islands|TUV Tuvalu|UGA Uganda|UKR Ukraine|ARE United Arab Emirates
UAE United Arab Emirates|USA United States|URY Uruguay|URU Uruguay|UZB Uzbekistan|VUT Vanuatu|VAN Vanuatu
VAT Vatican City|VEN Venezuela|VNM Vietnam|VIE Vietnam|VGB British Virgin Islands|VIR United States Virgin Islands
WAL Wales|YEM Yemen|YUG Yugoslavia|ZMB Zambia|ZAM Zambia|ZWE Zimbabwe|ZIM Zimbabwe|EUR European Union
TCH Czechoslovakia
"""
# {{FRA}} and the like: a flag, and the country's name with a link
for _line in _lines(_COUNTRIES):
    for _entry in _line.split("|"):
        _code, _, _country = _entry.partition(" ")
        _shown = _country.removesuffix(" (country)")
        FORMS.setdefault(_code.lower(), f"[[{_country}|{_shown}]]" if _shown != _country else f"[[{_country}]]")

_ELEMENTS: Final = """
Hydrogen H|Helium He|Lithium Li|Beryllium Be|Boron B|Carbon C|Nitrogen N|Oxygen O|Fluorine F|Sodium Na
Magnesium Mg|Aluminium Al|Silicon Si|Phosphorus P|Sulfur S|Chlorine Cl|Argon Ar|Potassium K|Calcium Ca
Zinc Zn|Bromine Br|Iodine I|Uranium U
"""
for _line in _lines(_ELEMENTS):
    for _entry in _line.split("|"):
        _name, _, _symbol = _entry.partition(" ")
        FORMS.setdefault(_name.lower(), f"{_symbol}<{{1}}>")
