"""What the templates of the English Wikipedia show in a sentence: the table, as data.

``FORMS`` says it in the little language of templates.py, ``_COMPUTED`` names a function where that is
not enough, ``NO_TEXT`` lists what is known to be no running text. Other templates count as unknown.
Sources: the documentation of each template on en.wikipedia.org.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kiltetl.schemas.records import Site
from kiltetl.transforms.titles import upper_first
from kiltetl.transforms.wikitext.convert import convert, grouped
from kiltetl.transforms.wikitext.templates import NOTHING, Arguments, Renderer, compiled_table

FORMS: Final[dict[str, str]] = {
    # the argument itself, in another type
    **dict.fromkeys(
        """nowrap|nobr|j|small|smaller|smalldiv|big|large|larger|resize|midsize|sc|sc2|smallcaps|small caps|smallcaps all
        allcaps|em|strong|strongbad|mvar|math|bigmath|var|var serif|code|codett|mono|monospace|tt|pre2|samp|kbd|key|keypress|button|noitalic
        nobold|normal|unicode|polytonic|hebrew|not a typo|notatypo|typo|proper name|as written|chem name|dfn|varserif
        visible anchor|vanchor|vanc|linktext|vr|ipa link|ipalink|ipablink|ipa2|mapframe text|serif|sans-serif|strike|strikethrough|s
        sup|sub|sup2|underline|u|overline|overbar|italic|i|bold|b|italics correction|no wrap|nowraplinks|flagathlete|flagu|flagcountry2
        title disambig text|nastaliq|script/hebrew|script/arabic|script/nastaliq|hebrew script|larger text|semantic text
        date|start-date|end-date|cuneiform|gothic|big5|nihongo2|ship name|highlight|tag name|stress|angbr ipa2|lao script
        block|font-size|fs|center block|align center|citequote|popdens|number|ety|trim|phoneme|keyb|pr|pinyin|zh-py|zh-p|lbb
        no ping|ultralight|greek|text|raw text|no spam|plain text|wbr join|hlist2|bulleted|mono2""".replace("\n", "|").split("|"),
        "{1}",
    ),
    **dict.fromkeys(["lang", "langnf", "lang-nf", "rtl-lang", "script", "color", "colour", "font color", "fontcolor",
                     "background color", "bgcolor", "lang2", "unicode lang", "hover title", "ruby-ja2", "resize text",
                     "align", "text color"], "{text|2|1}"),
    "resize": "{2|1}",
    "font": "{text|1}",
    "ipa": "{1}",
    "transl": "{3|2|1}",
    "transliteration": "@transl",
    "tlit": "@transl",
    "abbr": "{1}",
    "abbrlink": "{1}",
    "abbreviation": "{1}",
    "tooltip": "{1}",
    "tipa": "{1}",
    "hover": "{1}",
    "abbrv": "{1}",
    "angbr": "⟨{1}⟩",
    "angle bracket": "⟨{1}⟩",
    "angbr ipa": "⟨{1}⟩",
    "grapheme": "⟨{1}⟩",
    "langle": "⟨",
    "rangle": "⟩",
    "ruby": "{1}< ({2})>",
    "ruby-ja": "{1}< ({2})>",
    "ruby-zh-p": "{1}< ({2})>",
    "section link": "<{1} >§ {2}",
    "slink": "@section link",
    "annotated link": "[[{1}<|{2}>]]",
    "see tfd": "{1}",
    # links
    "ill": "[[{1}<|{lt}>]]",
    "link-interwiki": "[[{en|1}<|{lt|text}>]]",
    "illm": "@ill",
    "interlanguage link": "@ill",
    "interlanguage link multi": "@ill",
    "ill-wd": "@ill",
    "ill-wd2": "{label|1|lt}",
    "red link": "[[{1}]]",
    "redlink": "[[{1}]]",
    "no redirect": "[[{1}<|{2}>]]",
    "noredirect": "@no redirect",
    "self-link": "{1}",
    "wikt-lang": "{3|2}",
    "wt": "{3|2}",
    "wikt": "{2|1}",
    "wiktionary inline": "",
    "linktext2": "{1}",
    "flag": "[[{1}<|{name}>]]",
    "flagcountry": "[[{1}]]",
    "flagd": "[[{1}]]",
    "flag decoration": "",
    "flagu": "{1}",
    "flag country": "[[{1}]]",
    "nts": "{1}",
    "sort": "{2|1}",
    "sortname": "{1} {2}",
    "hs": "",
    "sronly": "{1}",
    "company": "[[{1}]]",
    "school link": "[[{1}]]",
    "station": "[[{1} station|{1}]]",
    "stn": "[[{1} station|{1}]]",
    "rws": "[[{1} railway station|{1}]]",
    "ja-stn": "[[{1} Station|{1}]]",
    "nyt": "''The New York Times''",
    "city-state": "[[{1}, {2}|{1}]], {2}",
    "city-region": "[[{1}, {2}|{1}]], {2}",
    "bibleverse": "{1} {2}< {3}>",
    "bibleref": "{1} {2}",
    "bibleref2": "{1} {2}",
    "bible verse": "{1} {2}",
    "sourcetext": "{1} {2}",
    "unichar": "U+{1}",
    "wiktlang": "{2}",
    "lcdef": "{1}",
    # time
    "circa": "c. {1}< – c. {2}>",
    **dict.fromkeys(["c.", "ca", "ca.", "c", "circ", "circa2"], "@circa"),
    "floruit": "fl. {1}< – {2}>",
    "fl.": "@floruit",
    "fl": "@floruit",
    "reign": "r. {1}<–{2}>",
    "r.": "@reign",
    "born-in": "born in {1}",
    "before": "before {1}",
    "after": "after {1}",
    "by": "by {1}",
    "birth-date": "{2|1}",
    "death-date": "{2|1}",
    "birth-date and age": "{2|1}",
    "death-date and age": "{3|1}",
    "birth year and age": "{1}",
    "death year and age": "{1}",
    "old style date": "{1} [O.S. {3}] {2}",
    "oldstyledate": "@old style date",
    "oldstyledatedy": "{1} {2} [O.S. {3}]",
    "oldstyledatenoyear": "{1} [O.S. {2}]",
    "osdate": "@old style date",
    "script/slavonic": "{1}",
    # numbers and amounts
    "e": "×10^{1}",
    "10^": "10^{1}",
    "su": "{1}<{p}><{b}>",
    "±": "±{1}<–{2}>",
    "ordinal": "{1}",
    "percentage": "",
    "us$": "US${1}",
    **dict.fromkeys(["usd", "us dollar", "us dollars"], "@us$"),
    "a$": "A${1}",
    **dict.fromkeys(["aud"], "@a$"),
    "ca$": "C${1}",
    **dict.fromkeys(["cad", "c$"], "C${1}"),
    "nz$": "NZ${1}",
    "hk$": "HK${1}",
    "nt$": "NT${1}",
    "s$": "S${1}",
    "r$": "R${1}",
    "£": "£{1}",
    **dict.fromkeys(["gbp", "pound sterling", "pound", "gbp2"], "@£"),
    "€": "€{1}",
    **dict.fromkeys(["euro", "eur"], "@€"),
    "¥": "¥{1}",
    **dict.fromkeys(["yen", "jpy", "jp¥", "cny", "rmb", "cn¥"], "@¥"),
    "inr": "₹{1}",
    **dict.fromkeys(["indian rupee", "rupee", "₹", "rs", "rs."], "₹{1}"),
    "inrconvert": "₹{1}< {2}>",
    "won": "₩{1}",
    "krw": "₩{1}",
    "php": "₱{1}",
    "₱": "₱{1}",
    "lira": "{1}",
    "russian ruble": "₽{1}",
    "₽": "₽{1}",
    "pkr": "Rs. {1}",
    "bdt": "৳{1}",
    "ils": "₪{1}",
    "nis": "₪{1}",
    "chf": "CHF {1}",
    "sek": "{1} kr",
    "pct": "{1}%",
    # phrases
    "lit": "lit. '{1}'<, '{2}'>",
    **dict.fromkeys(["lit.", "literal translation", "literally"], "@lit"),
    "gloss": "'{1}'",
    "trans": "'{1}'",
    "translation": "transl. {1}",
    "nihongo3": "<{3} >(<{2}, >{1})",
    "etymology": "<{1} ><''{2}''><, '{3}'>",
    "harvtxt no link": "{1} ({2})",
    "reply to": "",
    "player": "{1} {3|2}",
    "fs player": "{name}",
    "small caps quote": "{1}",
    # punctuation and space; a template cannot know what stands before it, so its own space is written
    **dict.fromkeys(["ndash", "–", "en dash", "endash", "nowrap ndash", "nbndash", "n-dash", "ndashb2"], "–"),
    **dict.fromkeys(["mdash", "—", "em dash", "emdash", "m-dash"], "—"),
    **dict.fromkeys(["ndashb", "-b"], "–"),
    **dict.fromkeys(["mdashb"], "—"),
    **dict.fromkeys(["snd", "spnd", "sndash", "spndash", "spaced ndash", "spaced en dash", "spaced en dash space", "snds",
                     "spacedndash", "dash", "spaced en-dash", "spaced n-dash", "nbspndash", "spaced", "– "],
                    "&#32;– "),
    **dict.fromkeys(["smd", "spaced mdash", "spaced em dash", "smdash", "spaced emdash", "spmd", "nbspmdash"], "&#32;— "),
    **dict.fromkeys(["nbsp", "space", "spaces", "sp", "thinsp", "thin space", "hairsp", "hair space", "nnbsp", "ensp", "em space",
                     "emsp", "quad", "figure space", "non breaking space", "nb", "nbs", "pad", "padlsup", "break", "br", "crlf",
                     "crlf2", "linebreak", "tsp", "hsp", "px2", "spc", "0ws", "br0", "nb5", "nb10", "indent", "pb", "pbr", "br separated"],
                    "&#32;"),
    **dict.fromkeys(["·", "dot", "middot", "•w", "·w", "dotw", "\u2022w"], "&#32;·"),
    **dict.fromkeys(["•", "bullet", "bull"], "&#32;•"),
    "'": "&#39;",
    '"': '"',
    "'s": "&#39;s",
    "'-": "&#39;",
    "'\"": "&#39;\"",
    "\"'": '"&#39;',
    "' \"": "&#39;\"",
    "\" '": '"&#39;',
    "-'": "&#39;",
    '-"': '"',
    "'-\"": "&#39;\"",
    "apostrophe": "&#39;",
    "\u2019": "\u2019",
    "as": "&#39;",
    "!": "|",
    "!!": "||",
    "!-": "|-",
    "(!": "{|".replace("{", "&#123;"),
    "=": "&#61;",
    "pipe": "&#124;",
    "(": "&#123;",
    ")": "&#125;",
    "((": "&#123;&#123;",
    "))": "&#125;&#125;",
    "bracket": "&#91;{1}&#93;",
    "brackets": "&#91;{1}&#93;",
    "square bracket open": "&#91;",
    "square bracket close": "&#93;",
    "lsqb": "&#91;",
    "rsqb": "&#93;",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "shy": "&shy;",
    "wbr": "&#8203;",
    "zwsp": "&#8203;",
    "okina": "ʻ",
    "hamza": "ʾ",
    "ayin": "ʿ",
    "asper": "ʽ",
    "degree": "°",
    "deg": "°",
    "times": "×",
    "minus": "−",
    "−": "−",
    "pm": "±",
    "+-": "±",
    "eqm": "⇌",
    "reversible reaction": "⇌",
    "sqrt": "√{1}",
    "radic": "<{2}>√{1}",
    "pi": "π",
    "hbar": "ħ",
    "prime": "{1}′",
    "pprime": "{1}″",
    "infin": "∞",
    "tick": "✓",
    "aye": "✓",
    "cross": "✗",
    "check": "✓",
    "sharp": "♯",
    "flat": "♭",
    "natural": "♮",
    "sx": "{1}",
    "trade": "™",
    "copyright": "©",
    "lrm": "",
    "rlm": "",
    "ellipsis": "…",
    "...": "…",
    "nbhyph": "‑",
    "nbhyphen": "‑",
    "hyphen": "‐",
    "braket": "⟨{2|1}⟩",
    "bra": "⟨{1}|".replace("|", "&#124;") if False else "⟨{1}&#124;",
    "ket": "&#124;{1}⟩",
    "abs": "&#124;{1}&#124;",
    "intmath": "∫<{2}><{3}>",
    "physics particle": "{1|TL|anti}",
    "element cell": "{1}",
    "nuclide": "{1}",
    "subatomic particle": "{1}",
    "particle": "{1}",
    "solar mass": "M☉",
    "solar radius": "R☉",
    "solar luminosity": "L☉",
    "solar": "☉",
    "earth mass": "M🜨",
    "jupiter mass": "MJ",
    "earth radius": "R🜨",
    # blocks
    **dict.fromkeys(["quote", "blockquote", "cquote", "quotation", "quote box2", "bquote", "centered pull quote", "pull quote",
                     "rquote2", "block quote", "long quote", "quoteblock", "block quotation"],
                    "\n\n{text|1|quote|content}<\n\n— {author|sign|by|2}><, {source|title|3}>\n\n"),
    "poem quote": "\n\n{text|1}<\n\n— {author|sign|2}><, {source|title|3}>\n\n",
    "poemquote": "@poem quote",
    "verse translation": "\n\n{1}\n\n{2}\n\n",
    "quote without source": "\n\n{1}\n\n",
    "inline quote": "{1}",
    "quotation inline": "{1}",
    "tq": "{1}",
    "talkquote": "{1}",
    "center": "\n\n{1}\n\n",
    "centre": "\n\n{1}\n\n",
    "block indent": "\n\n{1|text}\n\n",
    "blockindent": "@block indent",
    "block left": "\n\n{1}\n\n",
    "bi": "@block indent",
    "poem": "\n\n{1}\n\n",
    "numbered block": "\n\n{2}< ({3})>\n\n",
    "numblk": "\n\n{2}\n\n",
    "equation": "\n\n{1|equation}\n\n",
    "notice quote": "\n\n{1}\n\n",
    # pages that other wikis write in a sentence
    "lien": "[[{fr|1}<|{texte|trad}>]]",
    "citation": "",
    "siècle": "{1}e siècle",
    "date-": "{1} {2} {3}",
    "date de naissance": "{1} {2} {3}",
    "unité": "{1}< {2}>",
    "nobr romains": "{1}",
    "rom-maj": "{1}",
    "romain": "{1}",
    "langue": "{2|texte}",
    "japonais": "{1}< ({2}<, {3}>)>".replace("<, {3}>", ""),
    "formatnum": "{1}",
    "нп5": "[[{1}<|{2}>]]",
    "нп3": "[[{1}<|{2}>]]",
    "link-en": "[[{1}]]",
    "tsl": "[[{3}<|{4}>]]",
    "link-wikidata": "{1}",
    "internal link helper": "[[{1}]]",
    "le": "[[{1}<|{3}>]]",
}

# Known to be no running text: references and notes, maintenance, boxes, navigation, hatnotes, icons, metadata.
NO_TEXT: Final = frozenset(
    name.strip()
    for name in """
    citation|cite|citation needed|citation needed span|cn|fact|facts|cb|unreferenced|unreferenced section|refimprove|more citations needed
    sfn|sfnp|sfnm|sfnmp|sfnref|harv|harvnb|harvs|harvp|harvtxt|harvcol|harvcolnb|harvcoltxt|harvc|harvid|snf|sfny|efn|efn-la|efn-ua|efn-lr|efn-ur|efn-lg
    refn|rp|r|ran|ref|note|notelist|notetag|notefoot|note label|ref label|ref-label|cnote|cnote2|cref|cref2|reflist|refs|references|refbegin|refend|refn2
    notelist-la|notelist-ua|notelist-lr|notelist-ur|notelist-lg|listref|reflist-talk|unbulleted list citebundle|multiref|multiref2
    clarify|clarification needed|clarifyme|when|who|whom|who?|which|which?|where|why|how|how often|by whom|by whom?|according to whom|weasel inline|weasel-inline
    dubious|dubious - discuss|disputed inline|disputed-inline|dn|disambiguation needed|dead link|dl|deadlink|cbignore|webarchive|wayback|page needed|pn|page number needed
    better source|better source needed|verify source|verification needed|failed verification|verify credibility|unreliable source|unreliable source?|rs?|nspn|nonspecific|not in citation
    not in citation given|not verified in body|primary source inline|primary source needed|primary-source-inline|third-party-inline|self-published inline|self-published source|sps
    original research inline|or|original research?|pov-inline|peacock inline|peacock term|vague|specify|speculation|synthesis-inline|undue inline|undue weight inline|tone inline
    update inline|update after|update-inline|needs update|citation style|full|full citation needed|full short|incomplete short citation|inconsistent|contradict inline|contradict-inline
    contradictory inline|jargon inline|technical inline|like whom|like whom?|colloquial|editorializing|relevance inline|relevance-inline|off topic inline|importance inline|importance-inline
    ambiguous|example needed|examples|quantify|time fragment|year needed|month needed|volume needed|season needed|isbn missing|title missing|date missing|author missing|place missing
    subscription required|subscription|registration required|closed access|open access|free access|registration|paywall|limited access|lock-green|lock-gray-alt-2|lock-red-alt-2|pdf|pdflink|xls|doc
    isbn|issn|oclc|doi|pmid|pmc|arxiv|asin|lccn|bibcode|ol|jstor|ssrn|hdl|s2cid|isbnt|issn link|catalog lookup link|allmusic|imdb name|imdb title|imdb|discogs|discogs artist
    official website|official|official url|url|website|official site|oweb|rotten tomatoes|metacritic|mtv|facebook|twitter|youtube|myspace|instagram|dmoz|curlie|c-span|ibdb|iobdb|tvcom|tcmdb title|find a grave
    main|main article|main articles|mainarticle|main list|main page|see also|see|see also2|further|further information|furtherinfo|details|details3|about|about2|for|for2|for-text|for multi|other uses|otheruses
    other uses2|otheruses4|otheruse|other people|other people2|other places|other ships|other persons|other hurricanes|redirect|redirect2|redirect-multi|redirect-distinguish|redirect-several|redirect-synonym|two other uses
    distinguish|distinguish2|distinguish-redirect|confuse|not to be confused with|hatnote|rellink|italic title|italic title infobox|italictitle|lowercase|lowercase title|correct title|short description|shortdesc
    subject bar|sister project links|sisterlinks|sister project|sister-inline|commons|commons category|commonscat|commons category-inline|commons-inline|commonscat-inline|commons cat|commons and category|wikiquote|wikiquote-inline
    wikisource|wikisourcelang|wikisource author|wikisource-inline|wikisource portal|wikisource1911enc|wikibooks|wikinews|wikinews category|wikiversity|wikivoyage|wikivoyage-inline|wikispecies|wikispecies-inline|wiktionary|wiktionary category|wiktionary-inline|wikt2
    portal|portal bar|portal-inline|portalbar|books|wikipedia books|library resources box|library resources|spoken wikipedia|spoken wikipedia-2|spoken wikipedia-3|spoken wikipedia-4|featured article|good article|link fa|link ga|link fl
    authority control|persondata|defaultsort|default sort|displaytitle|italics title|coord missing|coordinate missing|coords missing|geobox|geogroup|geogroup-template|kml|attached kml|geographic location
    use dmy dates|use mdy dates|use british english|use american english|use indian english|use australian english|use canadian english|engvarb|engvar|use list-defined references|use oxford spelling|dmy|mdy
    pp|pp-move|pp-move-indef|pp-semi-indef|pp-protected|pp-pc1|pp-vandalism|pp-semi-protected|pp-dispute|protected|nofootnotes|no footnotes|more footnotes|more footnotes needed|cleanup|cleanup section|cleanup-rewrite|copy edit|copyedit|expand|expand section|expand-section|expand list|expand language
    multiple issues|article issues|globalize|update|outdated|out of date|pov|npov|neutrality|disputed|tone|peacock|advert|essay-like|lead too short|lead too long|lead missing|lead rewrite|very long|too long|split|split section|split-section|merge|merge to|merge from|mergeto|mergefrom|merge-from|merge-to|orphan|notability|one source|blp sources|blp unsourced|primary sources|original research|synthesis|in use|under construction|current|section stub|sect-stub|stub|dynamic list|incomplete list|inc-up|compact toc|refimprove section|unreliable sources|prose|in popular culture|trivia|list to table|confusing|technical|overly detailed|external links|cleanup-link rot|bare urls|linkrot|jargon
    clear|clr|-|clearleft|clearright|clear left|clear right|break section|toc limit|toclimit|toc|toc right|toc left|tocright|tocleft|toc hidden|compacttoc|compacttoc8|alphanumeric toc|horizontal toc|hidden|hidden begin|hidden end|collapse|collapse top|collapse bottom|end|start box|end box
    div col|div col end|div end|end div col|colbegin|colend|col-begin|col-begin-small|col-end|col-break|col-2|col-3|col-4|col-1-of-2|col-2-of-2|col div|col div end|cols|columns-list2|multicol|multicol-break|multicol-end|column|top|mid|bottom|quote box|quotebox|rquote|quote left|listen|audio|audio-ipa|pronunciation|multi-listen start|multi-listen item|multi-listen end|sample box start|sample box end|extra musicsample|external media|external video|external audio|external image
    image|css image crop|annotated image|annotated image 4|multiple image|multiple images|triple image|double image|double image stack|auto images|wide image|tall image|panorama|image frame|superimpose|image label begin|image label end|image label|image label small|vertical images list|photomontage|stack|stack begin|stack end|stack-begin|stack-end|gallery|gallery2|image array|imagestack|largethumb|thumb
    flagicon|flag icon|flagicon image|flagdeco|flag+link|flagicons|noflag|fb|fbicon|country data|color box|legend|legend2|legend inline|legend-line|legend line|colorbox|color sample|colorsample|increase|decrease|steady|gain|loss|up|down|no change|profit|yes|no|partial|n/a|na|unknown|won|nom|nominated|tba|tbd|dunno|maybe|pending|won2|yes2|no2|included|excluded|rh|draft|sold
    infobox|taxobox|automatic taxobox|speciesbox|drugbox|chembox|elementbox|navbox|sidebar|succession box|s-start|s-end|s-bef|s-aft|s-ttl|s-hou|s-reg|s-off|s-ach|s-new|s-vac|s-non|s-par|s-break|s-culture|s-sports|s-mil|s-rel|s-roy|s-pre|s-bus|s-award|s-acad|s-media|s-other|s-dip|s-hon|s-gov|s-legal|s-civ|s-edu|s-note|s-inc|s-gap|start date and age2|family tree|familytree|chart|chart top|chart bottom|chart/start|chart/end|clade|cladogram|tree list|tree list/end|tree chart|tree chart/start|tree chart/end|ahnentafel|ahnentafel-compact5|ahnentafel top|ahnentafel bottom|weather box|climate chart|historical populations|us census population|uscensuspop|bar box|bar percent|bar chart|pie chart|piechart|graph:chart|graph:lines|largest cities|rank|timeline|football kit|kit|goal|yel|sent off|subon|suboff|pso|cards
    track listing|tracklist|album ratings|album reviews|music ratings|video game reviews|vgratings|film ratings|certification table top|certification table entry|certification table bottom|certification cite ref|singlechart|single chart|albumchart|album chart|sclass notes|extended chess problem|chess diagram|chess diagram small|go board|game of life|ipa notice|contains special characters|special characters|ipa symbols notice|contains chinese text|contains japanese text|contains indic text|contains arabic text|contains korean text|contains hebrew text|contains ethiopic text|contains cyrillic text|contains tibetan text|contains greek text|contains thai text|contains runic text|ipa chart|ipa vowels|ipa-notice|translit|anchor|anchors|anchor comment|shortcut|ns|nsis|void|template other|sfn whitelist|ibid|ibidem|inuse|hms2|ship event row|ship infobox|service record|postnominals2|small div end
    disambiguation|disambig|dab|hndis|geodis|surname|given name|set index article|sia|shipindex|mountainindex|lakeindex|roadindex|plant common name|letter-numbercombdisambig|nickname|school disambiguation|numberdis
    1728|dnb|eb1911|1911|catholic|catholic encyclopedia|americana|nie|nsrw|cathEncy|gutenberg|gutenberg author|internet archive|internet archive author|librivox|librivox author|worldcat|worldcat id|ia author|steam|allmovie|baseballstats|nla|britannica|sep cite web|goodreads|npr|ted|cnbc|bbc|cricinfo|espncricinfo|espn|scholia|wikidata|wikidata redirect|mathworld|springer|sep|iep|planetmath|planetmath attribution|eb9|cite eb1911|dictionary of canadian biography|anb
    attribution|free content attribution|source-attribution|citation-attribution|include-usgov|include-nasa|usgpo|pd-notice|loc|country study|cia world factbook|state|sectstub|inflation-fn|inflation-year|inflation|inr convert|to usd|format price|r/ref|ussr|fs start|fs end|fs mid|fb start|rail start|s-rail|s-line|rail line|s-rail-start|bs-map|bs|bsx|railway line header|jctint|jcttop|jctbtm|jct|routemap|election box begin|election box end|election box candidate|election box candidate with party link|composition bar|party color|yearnav|year nav|other decades|decadebox|m1 year in topic|c20 year in topic|year nav topic5|events by month links|calendar|this date in recent years|day|months
    commonscat|commons|dewiki|navigationsleiste|normdaten|personendaten|infobox ort|belege fehlen|belege|überarbeiten|lückenhaft|begriffsklärungshinweis|dieser artikel|weiterleitungshinweis|hauptartikel|siehe auch|exzellent|lesenswert|internetquelle|literatur|webarchiv|archivlink|portal|palette|liens|référence nécessaire|réf.|note|article détaillé|voir homonymes|ébauche|sources|citation nécessaire|refnec|multi bandeau|autorité|autres projets|bases|légende plume|ouvrage|lien web|article|harvsp|références|références nombreuses|confusion|voir aussi|infobox|en-tête label|redirect|à sourcer|nūruodis|vikisklods|bez atsaucem|appendix|wikisklods
    """.replace("\n", "|").split("|")
    if name.strip()
)
_NO_TEXT_PREFIXES: Final = (
    "cite ", "infobox", "taxobox", "navbox", "use ", "pp-", "sidebar", "campaignbox", "wikisource", "wikiquote", "commons", "efn",
    "sfn", "harv", "refn", "template:", "defaultsort:", "displaytitle:", "#tag:", "#invoke:", "s-", "bs", "election box", "rail ",
    "graph:", "cleanup", "expand ", "contains ", "needs ", "wikipedia:", "user:", "ambox", "weather box", "climate chart",
    "chess ", "fb ", "fs ", "soccer", "largest cities", "goalscorers", "football box", "footballbox", "tennis", "cr-", "medal",
    "flagicon", "coord missing", "family tree", "tree chart", "familytree", "chart/", "persondata", "geobox", "module:", "vgrelease",
    "музей", "карточка", "ص.م", "معلومات",
)  # fmt: skip
_NO_TEXT_SUFFIXES: Final = ("-stub", " stub", " navbox", " infobox", " sidebar", " topics", " navigation", "-inline", " inline",
                            " box", " series", " timeline", "/box")  # fmt: skip

# --------------------------------------------------------------------------------------------
# Languages

LANGUAGE_NAMES: Final[dict[str, str]] = {
    code.strip(): name
    for entry in """
    aa=Afar|ab=Abkhaz|ae=Avestan|af=Afrikaans|ain=Ainu|ak=Akan|akk=Akkadian|am=Amharic|an=Aragonese|ang=Old English|ar=Arabic|arc=Aramaic|arz=Egyptian Arabic
    as=Assamese|ast=Asturian|av=Avar|ay=Aymara|az=Azerbaijani|ba=Bashkir|ban=Balinese|bar=Bavarian|bcl=Central Bikol|be=Belarusian|be-tarask=Belarusian|ber=Berber languages|bg=Bulgarian|bh=Bihari
    bi=Bislama|bm=Bambara|bn=Bengali|bo=Standard Tibetan|br=Breton|bs=Bosnian|bua=Buryat|ca=Catalan|ce=Chechen|ceb=Cebuano|ch=Chamorro|chr=Cherokee|ckb=Central Kurdish|co=Corsican
    cop=Coptic|cr=Cree|crh=Crimean Tatar|cs=Czech|csb=Kashubian|cu=Church Slavonic|cv=Chuvash|cy=Welsh|da=Danish|de=German|de-at=Austrian German|de-ch=Swiss Standard German|dsb=Lower Sorbian|dv=Dhivehi
    dz=Dzongkha|ee=Ewe|egy=Egyptian|el=Greek|en=English|enm=Middle English|eo=Esperanto|es=Spanish|et=Estonian|ett=Etruscan|eu=Basque|fa=Persian|ff=Fula|fi=Finnish|fil=Filipino|fj=Fijian|fo=Faroese
    fr=French|fro=Old French|frm=Middle French|frp=Franco-Provençal|frr=North Frisian|fur=Friulian|fy=West Frisian|ga=Irish|gd=Scottish Gaelic|gem=Germanic languages|gez=Geʽez|gl=Galician|gmh=Middle High German|gn=Guarani|goh=Old High German|got=Gothic|grc=Ancient Greek
    grc-gre=Ancient Greek|gsw=Swiss German|gu=Gujarati|gv=Manx|ha=Hausa|hak=Hakka|haw=Hawaiian|he=Hebrew|hi=Hindi|hit=Hittite|hne=Chhattisgarhi|ho=Hiri Motu|hr=Croatian|hsb=Upper Sorbian|ht=Haitian Creole|hu=Hungarian
    hy=Armenian|hz=Herero|ia=Interlingua|id=Indonesian|ie=Interlingue|ig=Igbo|ik=Inupiaq|ilo=Ilocano|io=Ido|is=Icelandic|it=Italian|iu=Inuktitut|ja=Japanese|jv=Javanese
    ka=Georgian|kab=Kabyle|kg=Kongo|ki=Kikuyu|kk=Kazakh|kl=Greenlandic|km=Khmer|kn=Kannada|ko=Korean|kok=Konkani|ks=Kashmiri|ku=Kurdish|kv=Komi|kw=Cornish|ky=Kyrgyz
    la=Latin|lad=Judaeo-Spanish|lb=Luxembourgish|lez=Lezgian|lg=Luganda|li=Limburgish|lij=Ligurian|lmo=Lombard|ln=Lingala|lo=Lao|lt=Lithuanian|ltg=Latgalian|lv=Latvian|mai=Maithili|mg=Malagasy|mh=Marshallese|mi=Māori|mk=Macedonian
    ml=Malayalam|mn=Mongolian|mnc=Manchu|mni=Meitei|mr=Marathi|ms=Malay|mt=Maltese|mwl=Mirandese|my=Burmese|mzn=Mazanderani|na=Nauruan|nah=Nahuatl|nan=Hokkien|nap=Neapolitan|nb=Norwegian Bokmål|nds=Low German|ne=Nepali|new=Newar
    nl=Dutch|nn=Norwegian Nynorsk|no=Norwegian|non=Old Norse|nrf=Norman|nv=Navajo|ny=Chichewa|oc=Occitan|oj=Ojibwe|om=Oromo|or=Odia|os=Ossetian|ota=Ottoman Turkish|pa=Punjabi|pal=Middle Persian|pam=Kapampangan|pap=Papiamento|pcd=Picard|peo=Old Persian
    pi=Pali|pl=Polish|pms=Piedmontese|pnb=Western Punjabi|prg=Old Prussian|ps=Pashto|pt=Portuguese|pt-br=Brazilian Portuguese|qu=Quechua|rm=Romansh|rmy=Romani|rn=Kirundi|ro=Romanian|rom=Romani|ru=Russian|rue=Rusyn
    rw=Kinyarwanda|sa=Sanskrit|sah=Yakut|sat=Santali|sc=Sardinian|scn=Sicilian|sco=Scots|sd=Sindhi|se=Northern Sami|sg=Sango|sh=Serbo-Croatian|sh-latn=Serbo-Croatian Latin|si=Sinhala|sk=Slovak|sl=Slovene|sla=Slavic languages|sm=Samoan|sn=Shona
    so=Somali|sq=Albanian|sr=Serbian|sr-cyrl=Serbian Cyrillic|sr-latn=Serbian Latin|ss=Swazi|st=Sotho|su=Sundanese|sux=Sumerian|sv=Swedish|sw=Swahili|syc=Classical Syriac|syr=Syriac|szl=Silesian|ta=Tamil|te=Telugu|tet=Tetum|tg=Tajik|th=Thai
    ti=Tigrinya|tk=Turkmen|tl=Tagalog|tn=Tswana|to=Tongan|tpi=Tok Pisin|tr=Turkish|ts=Tsonga|tt=Tatar|tw=Twi|ty=Tahitian|udm=Udmurt|ug=Uyghur|uk=Ukrainian|ur=Urdu|uz=Uzbek|ve=Venda|vec=Venetian
    vi=Vietnamese|vls=West Flemish|vo=Volapük|wa=Walloon|war=Waray|wo=Wolof|xal=Kalmyk|xh=Xhosa|yi=Yiddish|yo=Yoruba|yue=Cantonese|za=Zhuang|zea=Zeelandic|zh=Chinese|zu=Zulu
    """.replace("\n", "|").split("|")
    if entry.strip()
    for code, name in [entry.strip().split("=")]
}


def _language(arguments: Arguments, code: str, values: list[str]) -> str:
    """Text in a language, with its name before it, a romanization and a translation after."""
    if not values or not values[0]:
        return ""
    label = arguments.first("label")
    name = LANGUAGE_NAMES.get(code) or LANGUAGE_NAMES.get(code.split("-")[0], "")
    before = "" if label.lower() == "none" or not (label or name) else f"{label or name}: "
    romanized = arguments.first("translit", "tr") or (values[1] if len(values) > 1 else "")
    meaning = arguments.first("lit", "translation") or (values[2] if len(values) > 2 else "")
    if romanized in ("-", "none"):
        romanized = ""
    after = f", romanized:&#32;{romanized}" if romanized else ""
    return f"{before}{values[0]}{after}" + (f", lit.&#32;'{meaning}'" if meaning else "")


def _langx(arguments: Arguments) -> str:
    values = arguments.positional()
    return _language(arguments, values[0].lower() if values else "", values[1:])


_CHINESE: Final = (("c", "Chinese"), ("s", "simplified Chinese"), ("t", "traditional Chinese"), ("p", "pinyin"),
                   ("hp", "Hanyu Pinyin"), ("tp", "Tongyong Pinyin"), ("w", "Wade–Giles"), ("j", "Jyutping"), ("cy", "Cantonese Yale"),
                   ("poj", "Pe̍h-ōe-jī"), ("l", "lit."))  # fmt: skip


def _chinese(arguments: Arguments) -> str:
    """{{zh|t=…|s=…|p=…}}: the forms given, each with its label."""
    labelled = arguments.first("labels").lower() != "no"
    parts = []
    for key, name in _CHINESE:
        value = arguments.first(key)
        if value:
            value = f"'{value}'" if key == "l" else value
            parts.append(f"{name}{' ' if key == 'l' else ': '}{value}" if labelled else value)
    return "; ".join(parts) or arguments.first("1")


def _korean(arguments: Arguments) -> str:
    names = (("hangul", "Korean"), ("hanja", "Hanja"), ("rr", "RR"), ("mr", "MR"), ("lit", "lit."))
    labelled = arguments.first("labels").lower() != "no"
    return "; ".join(
        (f"{name}: " if labelled else "") + arguments.first(key) for key, name in names if arguments.first(key)
    )


def _nihongo(arguments: Arguments) -> str:
    english, kanji, romaji, extra = (arguments.first(str(number)) for number in range(1, 5))
    extra = extra or arguments.first("extra")
    if arguments.says("lead"):
        kanji, romaji = kanji and f"Japanese: {kanji}", romaji and f"Hepburn: {romaji}"
    if not english:
        english, romaji = romaji, ""
    inside = ", ".join(part for part in (kanji, romaji, extra) if part)
    after = arguments.first("5", "extra2")
    shown = english + (f" ({inside})" if inside and english else inside)
    return f"{shown} {after}".strip() if after else shown


# --------------------------------------------------------------------------------------------
# Pronunciation

_IPA_LABELS: Final = {"lang": "", "pron": "pronounced ", "local": "locally ", "label": "", "us": "US: ", "uk": "UK: ",
                      "lang2": ""}  # fmt: skip
_IPAC_LABELS: Final = {
    "lang": "English: ", "local": "locally: ", "also": "also ", "alsolocal": "also locally: ", "alsouk": "also UK: ",
    "alsous": "also US: ", "ipa": "IPA: ", "ipalocal": "local IPA: ", "pron": "pronounced ", "uk": "UK: ", "us": "US: ", "ukalso": "UK also ",
    "usalso": "US also ", "uslocal": "US locally: ", "uklocal": "UK locally: ", "ukus": "UK, US: ", "usuk": "US, UK: ", "ukalsous": "UK also US: ",
    "au": "AU: ", "ca": "CA: ", "nz": "NZ: ", "auus": "AU, US: ", "icon": "", "n": "", "audio": "",
}  # fmt: skip
_IPAC_SYMBOLS: Final = {"_": " ", ",_": ", ", "'": "ˈ", ",": "ˌ", ".": ".", "-": "-", ";": "; ", "r": "r", "~": " ~ "}


def _ipac_en(arguments: Arguments) -> str:
    """{{IPAc-en}}: sounds one by one, between strokes; codes before them name the variety."""
    before, sounds = "", []
    for value in arguments.positional():
        label = _IPAC_LABELS.get(value.lower().replace(",_", "").replace("_", ""))
        if label is not None and not sounds:
            before += label
        elif value and not re.search(r"\.(?:ogg|oga|wav|mp3|flac|opus)$", value, re.IGNORECASE):
            sounds.append(_IPAC_SYMBOLS.get(value, value))
    return f"{before}/{''.join(sounds).strip()}/" if sounds else ""


def _ipac(arguments: Arguments) -> str:
    sounds = [_IPAC_SYMBOLS.get(value, value) for value in arguments.positional() if value not in _IPA_LABELS]
    sounds = [sound for sound in sounds if not re.search(r"\.(?:ogg|oga|wav)$", sound, re.IGNORECASE)]
    return f"[{''.join(sounds)}]" if sounds else ""


def _ipa_in(arguments: Arguments, code: str) -> str:
    """{{IPA-fr|x|lang}} and the like."""
    sounds = arguments.first("1")
    if not sounds:
        return ""
    sounds = sounds if sounds[0] in "[/" else f"[{sounds}]"
    if code in ("all", "xx"):
        label = arguments.first("2")
        return {"": "IPA: ", "none": "", "-": ""}.get(label, _IPA_LABELS.get(label, f"{label} ")) + sounds
    name = LANGUAGE_NAMES.get(code, LANGUAGE_NAMES.get(code.split("-")[0], ""))
    label = arguments.get("2", "pronunciation").strip()
    if label == "lang" and name:
        return f"{name}: {sounds}"
    if label in _IPA_LABELS:
        return _IPA_LABELS[label] + sounds
    if label == "pronunciation" and name:
        return f"{name} pronunciation: {sounds}"
    return sounds


def _ipa(arguments: Arguments) -> str:
    """{{IPA|/x/}}, and since 2023 {{IPA|fr|x}}."""
    code, sounds = arguments.first("1"), arguments.first("2")
    if sounds and code.lower() in LANGUAGE_NAMES:
        label = arguments.first("label")
        name = LANGUAGE_NAMES[code.lower()]
        before = "" if label.lower() == "none" else f"{label or name + ':'} "
        return before + (sounds if sounds[0] in "[/" else f"[{sounds}]")
    return code


def _respell(arguments: Arguments) -> str:
    shown = "-".join(value for value in arguments.positional() if value)
    return re.sub("-?_-?", " ", shown)


# --------------------------------------------------------------------------------------------
# Dates

_MONTHS: Final = ("January February March April May June July August September October November December").split()


def _month(text: str) -> str:
    if text.isdigit():
        return _MONTHS[int(text) - 1] if 1 <= int(text) <= 12 else ""
    for name in _MONTHS:
        if len(text) >= 3 and name.lower().startswith(text.lower().rstrip(".")):
            return name
    return ""


def date_text(year: str, month: str, day: str, day_first: bool) -> str:
    """A date in English words; what is missing is left out."""
    name = _month(month)
    if not name:
        return year
    number = day.lstrip("0")
    if not number.isdigit():
        return f"{name} {year}".strip()
    if day_first:
        return f"{number} {name} {year}".strip()
    return f"{name} {number}, {year}" if year else f"{name} {number}"


def _day_first(arguments: Arguments) -> bool:
    return arguments.first("df").lower() in ("y", "yes", "1", "on", "dmy")


def _date(arguments: Arguments) -> str:
    parts = arguments.positional() + ["", "", ""]
    if len(arguments.positional()) == 1 and not parts[0].isdigit():
        return parts[0]
    return date_text(parts[0], parts[1], parts[2], _day_first(arguments))


def _death_date_and_age(arguments: Arguments) -> str:
    """The one date with an age that does not depend on the day of reading."""
    shown = _date(arguments)
    numbers = [int(part) if part.isdigit() and len(part) < 6 else 0 for part in arguments.positional()]
    if len(numbers) >= 6 and all(numbers[:6]):
        age = numbers[0] - numbers[3] - ((numbers[1], numbers[2]) < (numbers[4], numbers[5]))
        return f"{shown} (aged {age})" if 0 <= age < 150 else shown
    return shown


def _film_date(arguments: Arguments) -> str:
    """{{film date|Y|M|D|place|…}}: each date with its place."""
    values = arguments.positional()
    shown = []
    for start in range(0, len(values), 4):
        year, month, day, place = (values[start : start + 4] + ["", "", ""])[:4]
        text = date_text(year, month, day, _day_first(arguments))
        if text:
            shown.append(f"{text} ({place})" if place else text)
    return ", ".join(shown)


def _as_of(arguments: Arguments) -> str:
    if arguments.first("alt"):
        return arguments.first("alt")
    words = "since" if arguments.says("since") else "as of"
    if not arguments.first("lc"):
        words = words.capitalize()
    year, month, day = (arguments.first(str(number)) for number in (1, 2, 3))
    if not year:
        return ""
    after = arguments.first("post")
    return f"{words} {date_text(year, month, day, arguments.first('df').lower() != 'us')}{after}"


def _age(arguments: Arguments) -> str:
    """Years between two dates; an age today is not of the page."""
    numbers = [int(part) if part.isdigit() and len(part) < 6 else 0 for part in arguments.positional()]
    if len(numbers) < 6 or not all(numbers[:6]):
        return ""
    return str(numbers[3] - numbers[0] - ((numbers[4], numbers[5]) < (numbers[1], numbers[2])))


# --------------------------------------------------------------------------------------------
# Numbers and signs


def _frac(arguments: Arguments) -> str:
    values = [value for value in arguments.positional() if value]
    match values:
        case [denominator]:
            return f"1⁄{denominator}"
        case [numerator, denominator]:
            return f"{numerator}⁄{denominator}"
        case [whole, numerator, denominator]:
            return f"{whole}+{numerator}⁄{denominator}"
    return "⁄" if not values else ""


def _sfrac(arguments: Arguments) -> str:
    values = [value for value in arguments.positional() if value]
    if len(values) == 3:
        return f"{values[0]}+{values[1]}/{values[2]}"
    return "/".join(values) if len(values) == 2 else f"1/{values[0]}" if values else ""


def _gapped(number: str) -> str:
    """Digits in groups of three, parted by spaces, as {{val}} and {{gaps}} show them."""
    whole, dot, decimals = number.partition(".")
    sign = whole[:1] if whole[:1] in "+-−" else ""
    whole = whole[len(sign) :]
    if not whole.isdigit() or (decimals and not decimals.isdigit()):
        return number
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", " ")
    if len(decimals) > 4:
        decimals = " ".join(decimals[i : i + 3] for i in range(0, len(decimals), 3))
        if len(decimals.split(" ")[-1]) == 1:
            head, _, last = decimals.rpartition(" ")
            decimals = head + last
    return sign.replace("-", "−") + whole + dot + decimals


def _val(arguments: Arguments) -> str:
    number, error = arguments.first("1"), arguments.first("2")
    group = grouped if arguments.first("fmt") == "commas" else (lambda n: n) if arguments.first("fmt") == "none" else _gapped
    match = re.fullmatch(r"([^()]*)(\([^()]*\))?", number)
    shown = group(match[1]) + (match[2] or "") if match else number
    if error:
        lower = arguments.first("3")
        if lower:
            shown += f"+{error.lstrip('+')}−{lower.lstrip('-−')}"
        else:
            shown += error if error.startswith("(") else f"±{error}"
    power = arguments.first("e").replace("-", "−")
    if power:
        shown = (f"({shown})" if error and not error.startswith("(") else shown) + ("×" if shown else "") + f"10^{power}"
    shown = arguments.first("p", "pre") + shown + arguments.first("s", "suf")
    unit = arguments.first("u", "ul")
    per = arguments.first("up", "upl")
    if unit:
        shown += ("" if unit in ("%", "°", "'", '"') else " ") + unit + (f"/{per}" if per else "")
    return shown


def _chem(arguments: Arguments) -> str:
    return "".join(arguments.positional())


def _chem2(arguments: Arguments) -> str:
    shown = "".join(arguments.positional())
    shown = shown.replace("-->", "→").replace("->", "→").replace("<→", "⇌").replace("*", "·")
    return re.sub(r"_(\S)", r"\1", re.sub(r"\^", "", shown))


def _gaps(arguments: Arguments) -> str:
    return arguments.first("lhs") + " ".join(arguments.positional()) + (
        f"×10^{arguments.first('e')}" if arguments.first("e") else ""
    ) + (f" {arguments.first('u')}" if arguments.first("u") else "")


_DIRECTIONS = {"n": "N", "s": "S", "e": "E", "w": "W"}


def _coord(arguments: Arguments) -> str:
    """Coordinates in the text; those that are shown beside the title only are no text."""
    display = arguments.first("display").lower()
    if display in ("title", "t", "it", "ti") or ("title" in display and "inline" not in display):
        return ""
    values = []
    for value in arguments.positional():
        if ":" in value or len(values) == 8:
            break
        values.append(value)
    latitude: list[str] = []
    longitude: list[str] = []
    current = latitude
    for value in values:
        if value.lower() in _DIRECTIONS:
            current.append(_DIRECTIONS[value.lower()])
            if current is longitude:
                break
            current = longitude
        elif re.fullmatch(r"[-−+]?\d{1,4}(?:\.\d{1,12})?", value):
            current.append(value)
        else:
            return ""
    if not longitude and len(latitude) == 2 and latitude[-1] not in _DIRECTIONS.values():
        return " ".join(
            f"{value.lstrip('-−+')}°{signs[value.startswith(('-', '−'))]}"
            for value, signs in zip(latitude, ("NS", "EW"), strict=True)
        )
    if not longitude or longitude[-1] not in "EW":
        return ""
    return " ".join(
        "".join(number + mark for number, mark in zip(part[:-1], "°′″", strict=False)) + part[-1]
        for part in (latitude, longitude)
    )


def _music(arguments: Arguments) -> str:
    signs = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮", "n": "♮", "doublesharp": "𝄪", "##": "𝄪", "x": "𝄪",
             "doubleflat": "𝄫", "bb": "𝄫", "half": "𝅗𝅥", "quarter": "♩", "eighth": "♪", "sixteenth": "𝅘𝅥𝅯", "time": "", "dim": "o"}  # fmt: skip
    return "".join(signs.get(value, value) for value in arguments.positional())


# --------------------------------------------------------------------------------------------
# Words


def _ship(prefix: str, name: str, number: str, form: str) -> str:
    """A link to a ship's page; ``form`` picks what is shown of prefix, name and hull number."""
    if not name:
        return ""
    full = f"{prefix} {name}".strip()
    target = f"{full} ({number})" if number else full
    italic = f"{prefix} ''{name}''".strip()
    shown = {
        "1": f"{number}" if number else italic, "2": f"''{name}''", "3": f"''{name}'' ({number})" if number else f"''{name}''",
        "4": f"''{name}''", "5": f"{prefix} {number}".strip() if number else italic, "6": f"''{name}''",
    }.get(form, f"{italic} ({number})" if number else italic)  # fmt: skip
    return f"[[{target}|{shown}]]"


def _ship_prefix(prefix: str) -> Renderer:
    def render(arguments: Arguments) -> str:
        number, form = arguments.first("2"), arguments.first("3", "up")
        if re.fullmatch(r"\d{4}|\d{4} .*", number) and not form:
            # a year tells ships of one name apart; it is shown nowhere but in the title
            name = arguments.first("1")
            return f"[[{prefix} {name} ({number})|{prefix} ''{name}'']]" if name else ""
        return _ship(prefix, arguments.first("1"), number, form)

    return render


def _ship_any(arguments: Arguments) -> str:
    return _ship(arguments.first("1"), arguments.first("2"), arguments.first("3"), arguments.first("4"))


def _ship_class(arguments: Arguments) -> str:
    """{{sclass|Name|type}}: Name-class type."""
    name, kind = arguments.first("1"), arguments.first("2")
    form = arguments.first("3")
    shown = f"''{name}''-class" if form != "4" else f"''{name}'' class"
    if kind and form not in ("1", "3", "4", "5"):
        shown += f" {kind}"
    return f"[[{name}-class {kind}|{shown}]]" if name else ""


def _sic(arguments: Arguments) -> str:
    shown = arguments.first("1") + arguments.first("2")
    if arguments.says("hide"):
        return shown
    expected = arguments.first("expected")
    return f"{shown} &#91;''sic''{f': {expected}' if expected else ''}&#93;".strip()


def _items(arguments: Arguments) -> str:
    """Items of a list, in one line."""
    separator = "; " if any("," in value for value in arguments.positional()) else ", "
    items = [re.sub(r"^[*#:;\s]+", "", line) for value in arguments.positional() for line in value.strip().split("\n")]
    return separator.join(item for item in items if item.strip(" \x04"))


def _sortname(arguments: Arguments) -> str:
    name = f"{arguments.first('1')} {arguments.first('2')}".strip()
    target = arguments.first("3")
    if arguments.first("nolink"):
        return name
    if target:
        return f"[[{target}|{name}]]"
    detail = arguments.first("dab")
    return f"[[{name} ({detail})|{name}]]" if detail else f"[[{name}]]"


def _post_nominals(arguments: Arguments) -> str:
    values = [value for key, value in arguments.items() if key.isdigit() or re.fullmatch(r"list|post-noms", key)]
    values = [value.strip() for value in values if value.strip() and len(value.strip()) < 40]
    return ", ".join(values[1:] if values and len(values[0]) == 3 and values[0].isupper() and "country" in arguments else values)


def _plural_s(arguments: Arguments) -> str:
    return arguments.first("1") + ("s" if arguments.first("2") else "")


def _age_nts(arguments: Arguments) -> str:
    return _gapped(arguments.first("1")).replace(" ", ",")


def _circa_range(arguments: Arguments) -> str:
    start, end = arguments.first("1"), arguments.first("2")
    return f"c. {start}" + (f" – c. {end}" if end else "") if start else "c. "


def _number_words(arguments: Arguments) -> str:
    return grouped(arguments.first("1"))


def _height(arguments: Arguments) -> str:
    metres, feet, inches = arguments.first("m"), arguments.first("ft"), arguments.first("in")
    if metres:
        return convert({"1": metres, "2": "m", "3": "ftin", "abbr": "on"})
    if feet:
        return convert({"1": feet, "2": "ft", "3": inches or "0", "4": "in", "5": "m", "abbr": "on"})
    return convert({"1": arguments["cm"], "2": "cm", "3": "ftin", "abbr": "on"}) if arguments.first("cm") else ""


_COMPUTED: Final[dict[str, Renderer]] = {
    "convert": convert,
    **{name: (lambda a: convert({"abbr": "on", **a})) for name in ("cvt",)},
    "langx": _langx,
    "ipac-en": _ipac_en,
    "ipa": _ipa,
    "respell": _respell,
    "pronunciation respelling": _respell,
    "zh": _chinese,
    "lang-zh": _chinese,
    "zh-cn": _chinese,
    "korean": _korean,
    "ko-hhrm": _korean,
    "nihongo": _nihongo,
    "nihongo krt": _nihongo,
    "nihongo foot": lambda a: a.first("1"),
    **dict.fromkeys(["birth date", "birth date and age", "bda", "dob", "birthdate", "birthdate and age", "death date", "start date",
                     "start date and age", "end date", "date", "dts", "birth date2", "launch date", "d-da", "release date"], _date),
    **dict.fromkeys(["death date and age", "dda", "death date & age"], _death_date_and_age),
    **dict.fromkeys(["film date", "filmdate", "television date"], _film_date),
    **dict.fromkeys(["as of", "asof"], _as_of),
    **dict.fromkeys(["age", "age in years", "aged"], _age),
    **dict.fromkeys(["circa", "c.", "ca", "ca.", "c", "circ"], _circa_range),
    **dict.fromkeys(["frac", "fraction", "frac2"], _frac),
    **dict.fromkeys(["sfrac", "split fraction"], _sfrac),
    "val": _val,
    **dict.fromkeys(["chem", "chemical formula"], _chem),
    "chem2": _chem2,
    "gaps": _gaps,
    "gapnum": lambda a: _gapped(a.first("1")),
    "nts": _number_words,
    "ntsh": lambda a: "",
    **dict.fromkeys(["number", "formatnum", "commas", "num"], _number_words),
    "coord": _coord,
    "coor dms": _coord,
    "coor dm": _coord,
    "coor d": _coord,
    "music": _music,
    **{prefix.lower(): _ship_prefix(prefix) for prefix in
       ["USS", "HMS", "SS", "RMS", "MV", "MS", "HMAS", "HMCS", "HMNZS", "USNS", "USCGC", "INS", "ROKS", "JDS", "SMS", "USAT",
        "USAV", "GTS", "PS", "TSS", "USRC", "HSC", "HMHS", "HMT", "RFA", "ARA", "BRP", "HNLMS", "HDMS", "ORP", "MT", "RV", "STS"]},
    "ship": _ship_any,
    "sclass": _ship_class,
    "sclass-": _ship_class,
    "sclass2": _ship_class,
    "sclass2-": _ship_class,
    "sic": _sic,
    "as written": lambda a: "".join(a.positional()),
    **dict.fromkeys(["hlist", "flatlist", "plainlist", "ubl", "unbulleted list", "plain list", "flat list", "comma separated entries",
                     "cslist", "bulleted list", "ordered list", "indented plainlist", "bull list", "collapsible list"], _items),
    "sortname": _sortname,
    **dict.fromkeys(["post-nominals", "postnominals"], _post_nominals),
    "height": _height,
    "linktext": lambda a: "".join(a.positional()),
    "columns-list": lambda a: f"\n\n{a.first('2', '1') if a.first('1').isdigit() else a.first('1')}\n\n",
    "columns list": lambda a: f"\n\n{a.first('1')}\n\n",
    "bibleverse": lambda a: " ".join(value for value in a.positional()[:3] if value and not re.fullmatch("[A-Z]{2,6}", value)),
    "unichar": lambda a: f"U+{a.first('1').upper()}" + (f" {a.first('2')}" if a.first("2") else ""),
    "hover title": lambda a: a.first("2"),
}  # fmt: skip

TABLE: Final[dict[str, Renderer]] = (
    dict.fromkeys(NO_TEXT, NOTHING) | compiled_table(FORMS, _COMPUTED) | {name: _COMPUTED[name] for name in _COMPUTED}
)


def _family(name: str) -> Renderer | None:
    """The renderer of a name that belongs to a family by its beginning or end."""
    if name.startswith("lang-") and 6 < len(name) + 1 < 18:
        code = name[5:]
        if code in LANGUAGE_NAMES or code.split("-")[0] in LANGUAGE_NAMES:
            return lambda arguments: _language(arguments, code, arguments.positional())
    if name.startswith("ipa-"):
        return lambda arguments: _ipa_in(arguments, name[4:])
    if name.startswith("ipac-"):
        return _ipac
    if name.startswith("cvt/") or name.startswith("convert/"):
        return convert
    if name.startswith("script/"):
        return TABLE["nowrap"]
    if name.startswith(_NO_TEXT_PREFIXES) or name.endswith(_NO_TEXT_SUFFIXES):
        return NOTHING
    return None


Finder = Callable[[str], Renderer | None]


def finder(extra: Mapping[str, str]) -> Finder:
    """What finds the renderer of a template by its normal name; ``extra`` forms go first."""
    table = TABLE | compiled_table(extra, TABLE) if extra else TABLE
    families: dict[str, Renderer | None] = {}

    def find(name: str) -> Renderer | None:
        renderer = table.get(name)
        if renderer is None:
            if name in families:
                return families[name]
            renderer = _family(name)
            if len(families) < 20_000:
                families[name] = renderer
        return renderer

    return find


# --------------------------------------------------------------------------------------------
# Parser functions and variables


def functions(title: str, site: Site) -> dict[str, Renderer]:
    """Those that make sense on a page of articles; the others count as unknown."""
    base, slash, _ = title.rpartition("/")

    def show(text: str) -> Renderer:
        return lambda arguments: text

    def iff(arguments: Arguments) -> str:
        return arguments.first("2") if arguments.first("1") else arguments.first("3")

    def ifeq(arguments: Arguments) -> str:
        return arguments.first("3") if arguments.first("1") == arguments.first("2") else arguments.first("4")

    return {
        **dict.fromkeys(["pagename", "fullpagename", "subjectpagename", "articlepagename", "pagenamee"], show(title)),
        "basepagename": show(base if slash else title),
        "subpagename": show(title.rpartition("/")[2]),
        "sitename": show(site.name),
        "namespace": show(""),
        "formatnum:": lambda a: grouped(a.first("1")),
        "lc:": lambda a: a.first("1").lower(),
        "uc:": lambda a: a.first("1").upper(),
        "lcfirst:": lambda a: a.first("1")[:1].lower() + a.first("1")[1:],
        "ucfirst:": lambda a: upper_first(a.first("1")),
        "#if:": iff,
        "#ifeq:": ifeq,
        "#ifexist:": lambda a: a.first("3"),
        "#iferror:": lambda a: a.first("1"),
        "#expr:": show(""),
        "#language:": lambda a: LANGUAGE_NAMES.get(a.first("1").lower(), a.first("1")),
        "nowiki:": lambda a: a.first("1"),
        "padleft:": lambda a: a.first("1"),
        "plural:": lambda a: a.first("2") if a.first("1") == "1" else a.first("3", "2"),
        "#time:": show(""),
        "#section:": show(""),
        **dict.fromkeys(["defaultsort:", "displaytitle:", "defaultsortkey:", "defaultcategorysort:", "#tag:", "#invoke:",
                         "#related:", "noexternallanglinks", "noexternallanglinks:", "#property:", "#statements:",
                         "currentyear", "currentmonth", "currentday", "currentmonthname", "#coordinates:",
                         "сортировка_по_умолчанию:", "sortierung:", "seitentitel:", "сортировка по умолчанию:", "ترتيب_افتراضي:",
                         "ترتيب افتراضي:", "cleardefaultsort:", "tri:", "clefdetri:", "ordena:", "atitled:"], show("")),
    }  # fmt: skip
