"""Which function renders which template: the forms of forms.py, and what is computed here."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kiltetl.schemas.records import Site
from kiltetl.transforms.wiki.titles import upper_first
from kiltetl.transforms.wikitext.convert import convert, grouped, number_in
from kiltetl.transforms.wikitext.forms import FORMS, LANGUAGE_NAMES, NO_TEXT, NO_TEXT_PREFIXES, NO_TEXT_SUFFIXES
from kiltetl.transforms.wikitext.languages import words
from kiltetl.transforms.wikitext.templates import NOTHING, Arguments, Renderer, compiled_table


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


_CHINESE: Final = (
    ("c", "Chinese"),
    ("s", "simplified Chinese"),
    ("t", "traditional Chinese"),
    ("p", "pinyin"),
    ("hp", "Hanyu Pinyin"),
    ("tp", "Tongyong Pinyin"),
    ("w", "Wade–Giles"),
    ("j", "Jyutping"),
    ("cy", "Cantonese Yale"),
    ("poj", "Pe̍h-ōe-jī"),
    ("l", "lit."),
)


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

_IPA_LABELS: Final = {
    "lang": "",
    "pron": "pronounced ",
    "local": "locally ",
    "label": "",
    "us": "US: ",
    "uk": "UK: ",
    "lang2": "",
}
_IPAC_LABELS: Final = {
    "lang": "English: ",
    "local": "locally: ",
    "also": "also ",
    "alsolocal": "also locally: ",
    "alsouk": "also UK: ",
    "alsous": "also US: ",
    "ipa": "IPA: ",
    "ipalocal": "local IPA: ",
    "pron": "pronounced ",
    "uk": "UK: ",
    "us": "US: ",
    "ukalso": "UK also ",
    "usalso": "US also ",
    "uslocal": "US locally: ",
    "uklocal": "UK locally: ",
    "ukus": "UK, US: ",
    "usuk": "US, UK: ",
    "ukalsous": "UK also US: ",
    "au": "AU: ",
    "ca": "CA: ",
    "nz": "NZ: ",
    "auus": "AU, US: ",
    "icon": "",
    "audio": "",
}
_IPAC_SYMBOLS: Final = {"_": " ", ",_": ", ", "'": "ˈ", ",": "ˌ", ".": ".", "-": "-", ";": "; ", "~": " ~ "}


def _ipac_en(arguments: Arguments) -> str:
    """{{IPAc-en}}: sounds one by one, between strokes; codes before them name the variety."""
    before = ""
    sounds: list[str] = []
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

_MONTHS: Final = words("January February March April May June July August September October November December")


def _month(text: str) -> str:
    number = number_in(text)
    if number is not None:
        return _MONTHS[number - 1] if 1 <= number <= 12 else ""
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
    if number_in(number) is None:
        return f"{name} {year}".strip()
    if day_first:
        return f"{number} {name} {year}".strip()
    return f"{name} {number}, {year}" if year else f"{name} {number}"


def _day_first(arguments: Arguments) -> bool:
    return arguments.first("df").lower() in ("y", "yes", "1", "on", "dmy")


def _date(arguments: Arguments) -> str:
    parts = [*arguments.positional(), "", "", ""]
    if len(arguments.positional()) == 1 and number_in(parts[0]) is None:
        return parts[0]
    return date_text(parts[0], parts[1], parts[2], _day_first(arguments))


def _death_date_and_age(arguments: Arguments) -> str:
    """The one date with an age that does not depend on the day of reading."""
    shown = _date(arguments)
    numbers = [number_in(part) or 0 for part in arguments.positional()]
    if len(numbers) >= 6 and all(numbers[:6]):
        age = numbers[0] - numbers[3] - ((numbers[1], numbers[2]) < (numbers[4], numbers[5]))
        return f"{shown} (aged {age})" if 0 <= age < 150 else shown
    return shown


def _film_date(arguments: Arguments) -> str:
    """{{film date|Y|M|D|place|…}}: each date with its place."""
    values = arguments.positional()
    shown = []
    for start in range(0, len(values), 4):
        year, month, day, place = [*values[start : start + 4], "", "", ""][:4]
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
    numbers = [number_in(part) or 0 for part in arguments.positional()]
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
    if not whole.isdecimal() or (decimals and not decimals.isdecimal()):
        return number
    if len(whole) > 4:
        whole = grouped(whole).replace(",", " ")
    if len(decimals) > 4:
        decimals = " ".join(decimals[i : i + 3] for i in range(0, len(decimals), 3))
        if len(decimals.split(" ")[-1]) == 1:
            head, _, last = decimals.rpartition(" ")
            decimals = head + last
    return sign.replace("-", "−") + whole + dot + decimals


def _val(arguments: Arguments) -> str:
    number, error = arguments.first("1"), arguments.first("2")
    group = (
        grouped
        if arguments.first("fmt") == "commas"
        else (lambda n: n)
        if arguments.first("fmt") == "none"
        else _gapped
    )
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
        shown = (
            (f"({shown})" if error and not error.startswith("(") else shown) + ("×" if shown else "") + f"10^{power}"
        )
    shown = arguments.first("p", "pre") + shown + arguments.first("s", "suf")
    unit = arguments.first("u", "ul")
    per = arguments.first("up", "upl")
    if unit:
        shown += ("" if unit in ("%", "°", "'", '"') else " ") + unit + (f"/{per}" if per else "")
    return shown


def _chem2(arguments: Arguments) -> str:
    shown = "".join(arguments.positional())
    shown = shown.replace("-->", "→").replace("->", "→").replace("<→", "⇌").replace("*", "·")
    return re.sub(r"_(\S)", r"\1", re.sub(r"\^", "", shown))


def _gaps(arguments: Arguments) -> str:
    return (
        arguments.first("lhs")
        + " ".join(arguments.positional())
        + (f"×10^{arguments.first('e')}" if arguments.first("e") else "")
        + (f" {arguments.first('u')}" if arguments.first("u") else "")
    )


def _gauge(arguments: Arguments) -> str:
    """The distance between rails, as given."""
    given = re.fullmatch(r"([0-9.]+)\s?(mm|m|in|ft)", arguments.first("1"))
    if not given:
        return "standard gauge" if arguments.first("1").lower() in ("sg", "ussg", "uksg", "standard") else ""
    return f"{grouped(given[1])} {given[2]}"


_DIRECTIONS = {"n": "N", "s": "S", "e": "E", "w": "W"}


def _coord(arguments: Arguments) -> str:
    """Coordinates in the text; those that are shown beside the title only are no text."""
    display = arguments.first("display").lower()
    if display in ("title", "t", "it", "ti") or ("title" in display and "inline" not in display):
        return ""
    values: list[str] = []
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
        elif re.fullmatch(r"[-−+]?[0-9]{1,4}(?:\.[0-9]{1,12})?", value):
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
    signs = {
        "flat": "♭",
        "b": "♭",
        "sharp": "♯",
        "#": "♯",
        "natural": "♮",
        "n": "♮",
        "doublesharp": "𝄪",
        "##": "𝄪",
        "x": "𝄪",
        "doubleflat": "𝄫",
        "bb": "𝄫",
        "half": "𝅗𝅥",
        "quarter": "♩",
        "eighth": "♪",
        "sixteenth": "𝅘𝅥𝅯",
        "time": "",
        "dim": "o",
    }
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
        "1": f"{number}" if number else italic,
        "2": f"''{name}''",
        "3": f"''{name}'' ({number})" if number else f"''{name}''",
        "4": f"''{name}''",
        "5": f"{prefix} {number}".strip() if number else italic,
        "6": f"''{name}''",
    }.get(form, f"{italic} ({number})" if number else italic)
    return f"[[{target}|{shown}]]"


def _ship_with(prefix: str) -> Renderer:
    def render(arguments: Arguments) -> str:
        number, form = arguments.first("2"), arguments.first("3", "up")
        if re.fullmatch(r"[0-9]{4}|[0-9]{4} .*", number) and not form:
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


def _bible_verse(arguments: Arguments) -> str:
    """Book and verses, without the edition that is linked."""
    return " ".join(value for value in arguments.positional()[:3] if value and not re.fullmatch("[A-Z]{2,6}", value))


def _post_nominals(arguments: Arguments) -> str:
    values = [arguments.first("list"), *arguments.positional()]
    country = arguments.first("country") or (
        values[1] if len(values) > 1 and re.fullmatch("[A-Z]{3}", values[1]) else ""
    )
    shown = [value for value in values if value and value != country]
    return ", ".join(shown)


def _circa(arguments: Arguments) -> str:
    start, end = arguments.first("1"), arguments.first("2")
    return f"c. {start}" + (f" – c. {end}" if end else "") if start else "c. "


def _height(arguments: Arguments) -> str:
    metres, feet, inches = arguments.first("m"), arguments.first("ft"), arguments.first("in")
    if metres:
        return convert({"1": metres, "2": "m", "3": "ftin", "abbr": "on"})
    if feet:
        return convert({"1": feet, "2": "ft", "3": inches or "0", "4": "in", "5": "m", "abbr": "on"})
    return convert({"1": arguments["cm"], "2": "cm", "3": "ftin", "abbr": "on"}) if arguments.first("cm") else ""


_SHIP_PREFIXES: Final = words(
    """
    USS HMS SS RMS MV MS MT HMAS HMCS HMNZS USNS USCGC INS ROKS JDS SMS USAT GTS PS TSS USRC HSC HMHS HMT RFA ARA BRP
    HNLMS HDMS ORP RV STS
    """
)

_COMPUTED: Final[dict[str, Renderer]] = {
    name: renderer
    for names, renderer in (
        ("convert", convert),
        ("cvt", lambda arguments: convert({"abbr": "on", **arguments})),
        ("height", _height),
        ("langx", _langx),
        ("zh | lang-zh | zh-cn", _chinese),
        ("korean | ko-hhrm", _korean),
        ("nihongo | nihongo krt | nihongo4", _nihongo),
        ("ipa", _ipa),
        ("ipac-en", _ipac_en),
        ("respell | pronunciation respelling", _respell),
        ("birth date | birth date and age | bda | dob | birthdate | birthdate and age | birth date2", _date),
        ("death date | start date | start date and age | end date | date | dts | launch date | release date", _date),
        ("death date and age | dda | death date & age", _death_date_and_age),
        ("film date | filmdate | television date", _film_date),
        ("as of | asof", _as_of),
        ("age | age in years", _age),
        ("circa | c. | ca | ca. | c | circ", _circa),
        ("frac | fraction", _frac),
        ("sfrac | split fraction", _sfrac),
        ("val", _val),
        ("chem | chemical formula | linktext | as written", lambda arguments: "".join(arguments.positional())),
        ("chem2", _chem2),
        ("e", lambda arguments: f"×10^{arguments.first('1')}" if arguments.first("1") else "e"),
        ("lang-rus", lambda arguments: _language(arguments, "ru", arguments.positional())),
        ("railgauge | track gauge", _gauge),
        ("gaps", _gaps),
        ("gapnum", lambda arguments: _gapped(arguments.first("1"))),
        ("nts | number | formatnum | commas | num", lambda arguments: grouped(arguments.first("1"))),
        ("coord | coor dms | coor dm | coor d", _coord),
        ("music", _music),
        ("ship", _ship_any),
        ("sclass | sclass- | sclass2 | sclass2-", _ship_class),
        ("sic", _sic),
        ("hlist | flatlist | plainlist | ubl | unbulleted list | plain list | flat list | cslist", _items),
        ("bulleted list | ordered list | indented plainlist | comma separated entries | collapsible list", _items),
        ("sortname", _sortname),
        ("post-nominals | postnominals", _post_nominals),
        ("columns-list", lambda arguments: f"\n\n{arguments.first('2', '1')}\n\n"),
        ("bibleverse | bibleref | bibleref2 | bible verse", _bible_verse),
    )
    for name in names.split(" | ")
} | {prefix.lower(): _ship_with(prefix) for prefix in _SHIP_PREFIXES}

TABLE: Final[dict[str, Renderer]] = dict.fromkeys(NO_TEXT, NOTHING) | compiled_table(FORMS) | _COMPUTED


def _ordinal(name: str) -> Renderer:
    """French ordinals: {{XXe siècle}}, {{3e}}, each with what it counts."""
    number, suffix, rest = re.fullmatch("([ivxl]+|[0-9]*)(.*?)( .*)?", name).groups("")  # type: ignore[union-attr]
    shown = number.upper() + suffix + rest
    return lambda arguments: f"{shown} {arguments.first('1')}".strip()


def _family(name: str) -> Renderer | None:
    """The renderer of a name that belongs to a family by its beginning or end."""
    if re.fullmatch("lang-[a-z]{2,3}(?:-[a-z]{2,8})?", name):
        # a code that is not in the table shows the text alone
        return lambda arguments: _language(arguments, name[5:], arguments.positional())
    if re.fullmatch("(?:[ivx]+|[0-9]{1,4})(?:er|re|e|nde|de)", name) or name.endswith(("e siècle", "er siècle")):
        return _ordinal(name)
    if name.startswith("ipa-"):
        return lambda arguments: _ipa_in(arguments, name[4:])
    if name.startswith("ipac-"):
        return _ipac
    if name.startswith(("cvt/", "convert/")):
        return convert
    if name.startswith("script/"):
        return TABLE["nowrap"]
    if name.startswith(NO_TEXT_PREFIXES) or name.endswith(NO_TEXT_SUFFIXES):
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


_SILENT_FUNCTIONS: Final = [
    name.replace("_", " ")
    for name in words(
        """
        defaultsort: displaytitle: defaultsortkey: defaultcategorysort: #tag: #invoke: #related: #property: #statements:
        #coordinates: noexternallanglinks noexternallanglinks: currentyear currentmonth currentday currentmonthname
        sortierung: seitentitel: cleardefaultsort: tri: clefdetri: ordenar: сортировка_по_умолчанию: ترتيب_افتراضي:
        """
    )
]


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
        **dict.fromkeys(_SILENT_FUNCTIONS, show("")),
    }
