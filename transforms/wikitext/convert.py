"""{{convert}}: a value with its unit, and the same in other units.

Follows Module:Convert of the English Wikipedia, as its documentation describes it: what is shown by
default, how it is rounded (as precise as the value that was given, at least two significant digits),
and the options that change the text. An unknown unit leaves the value and the unit as written.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kiltetl.transforms.wikitext.languages import words


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``scale`` is its size in the base unit of its dimension, ``outputs`` the default targets."""

    dimension: str
    scale: float
    symbol: str
    singular: str
    plural: str
    outputs: str


# dimension | codes | scale | symbol | singular | plural ("" = singular + s) | default outputs
_UNIT_TABLE: Final = """
length|km|1000|km|kilometre||mi
length|m metre meter metres meters|1|m|metre||ftin
length|dm|0.1|dm|decimetre||in
length|cm|0.01|cm|centimetre||in
length|mm|0.001|mm|millimetre||in
length|µm um μm|1e-6|μm|micrometre||in
length|Mm|1e6|Mm|megametre||mi
length|Gm|1e9|Gm|gigametre||mi
length|nm|1e-9|nm|nanometre||in
length|mi mile miles|1609.344|mi|mile||km
length|furlong|201.168|furlong|furlong||ft m
length|chain|20.1168|chain|chain||ft m
length|rd rod perch pole|5.0292|rd|rod||ft m
length|fathom ftm|1.8288|fathom|fathom||ft m
length|yd yard|0.9144|yd|yard||m
length|ft foot feet|0.3048|ft|foot|feet|m
length|in inch inches|0.0254|in|inch|inches|mm
length|nmi|1852|nmi|nautical mile||km mi
length|ly|9.4607304725808e15|ly|light-year||pc
length|pc|3.0856775814914e16|pc|parsec||ly
length|AU au|149597870700|AU|astronomical unit||km mi
length|hand|0.1016|h|hand||in cm
length|verst|1066.8|verst|verst||km mi
area|km2 sqkm|1e6|km2|square kilometre||sqmi
area|m2 sqm|1|m2|square metre||sqft
area|cm2 sqcm|1e-4|cm2|square centimetre||sqin
area|mm2 sqmm|1e-6|mm2|square millimetre||sqin
area|ha hectare|1e4|ha|hectare||acre
area|acre acres|4046.8564224|acres|acre||ha
area|sqmi mi2|2589988.110336|sq mi|square mile||km2
area|sqyd yd2|0.83612736|sq yd|square yard||m2
area|sqft ft2|0.09290304|sq ft|square foot|square feet|m2
area|sqin in2|0.00064516|sq in|square inch|square inches|cm2
area|dunam|1000|dunams|dunam||km2 sqmi
mass|kg|1|kg|kilogram||lb
mass|g|0.001|g|gram||oz
mass|mg|1e-6|mg|milligram||gr
mass|lb lbs pound|0.45359237|lb|pound||kg
mass|oz|0.028349523125|oz|ounce||g
mass|gr|0.00006479891|gr|grain||mg
mass|st|6.35029318|st|stone|stone|lb kg
mass|t tonne|1000|t|tonne||LT ST
mass|MT metric_ton|1000|t|metric ton||LT ST
mass|carat|0.0002|carat|carat||g
mass|ST shortton|907.18474|short tons|short ton||LT t
mass|LT longton|1016.0469088|long tons|long ton||t ST
mass|ozt troy|0.0311034768|ozt|troy ounce||oz g
mass|kt|1e6|kt|kilotonne||LT ST
mass|Mt|1e9|Mt|megatonne||LT ST
mass|cwt longcwt|50.80234544|long cwt|long hundredweight|long hundredweight|lb kg
speed|km/h kph|0.277777777777778|km/h|kilometre per hour|kilometres per hour|mph
speed|mph mi/h|0.44704|mph|mile per hour|miles per hour|km/h
speed|m/s|1|m/s|metre per second|metres per second|ft/s
speed|km/s|1000|km/s|kilometre per second|kilometres per second|mi/s
speed|mi/s|1609.344|mi/s|mile per second|miles per second|km/s
speed|ft/s|0.3048|ft/s|foot per second|feet per second|m/s
speed|ft/min|0.00508|ft/min|foot per minute|feet per minute|m/s
speed|kn knot|0.514444444444444|kn|knot||km/h mph
volume|l L|0.001|L|litre||impgal USgal
volume|ml mL|1e-6|mL|millilitre||impoz USoz
volume|cl cL|1e-5|cL|centilitre||impoz USoz
volume|hl hL|0.1|hL|hectolitre||impgal USgal
volume|cc|1e-6|cc|cubic centimetre||cuin
volume|cm3|1e-6|cm3|cubic centimetre||cuin
volume|m3|1|m3|cubic metre||cuft
volume|km3|1e9|km3|cubic kilometre||cumi
volume|cuft ft3|0.028316846592|cu ft|cubic foot|cubic feet|m3
volume|cuin in3|0.000016387064|cu in|cubic inch|cubic inches|cm3
volume|cuyd yd3|0.764554857984|cu yd|cubic yard||m3
volume|cumi mi3|4168181825.44058|cu mi|cubic mile||km3
volume|acre.ft acreft acre-ft|1233.48183754752|acre⋅ft|acre-foot|acre-feet|m3
volume|impgal|0.00454609|imp gal|imperial gallon||L USgal
volume|USgal U.S.gal|0.003785411784|US gal|US gallon||L impgal
volume|impoz|2.84130625e-5|imp fl oz|imperial fluid ounce||mL USoz
volume|USoz USfloz|2.95735295625e-5|US fl oz|US fluid ounce||mL
volume|imppt|0.00056826125|imp pt|imperial pint||L
volume|USpt|0.000473176473|US pt|US pint||L
volume|USqt|0.000946352946|US qt|US quart||L
volume|oilbbl bbl|0.158987294928|bbl|barrel||m3
volume|koilbbl kbbl|158.987294928|kbbl|thousand barrels|thousand barrels|m3
volume|Moilbbl Mbbl MMbbl|158987.294928|MMbbl|million barrels|million barrels|m3
volume|Goilbbl Gbbl|158987294.928|Gbbl|billion barrels|billion barrels|m3
volume|Mcuft|28316.846592|million cu ft|million cubic feet|million cubic feet|m3
volume|Gcuft|28316846.592|billion cu ft|billion cubic feet|billion cubic feet|m3
volume|Tcuft|28316846592|trillion cu ft|trillion cubic feet|trillion cubic feet|km3
volume|MUSgal|3785.411784|million US gal|million US gallons|million US gallons|ML
volume|Ml ML|1000|ML|megalitre||MUSgal
volume|USbsh|0.03523907016688|US bsh|US bushel||L
power|W|1|W|watt||hp
power|kW|1000|kW|kilowatt||hp
power|MW|1e6|MW|megawatt||hp
power|GW|1e9|GW|gigawatt||hp
power|hp bhp|745.69987158227|hp|horsepower|horsepower|kW
power|shp|745.69987158227|shp|shaft horsepower|shaft horsepower|kW
power|PS|735.49875|PS|metric horsepower|metric horsepower|kW
force|N|1|N|newton||lbf
force|kN|1000|kN|kilonewton||lbf
force|lbf|4.4482216152605|lbf|pound-force|pounds-force|N
force|kgf|9.80665|kgf|kilogram-force|kilograms-force|N lbf
torque|Nm N.m N·m|1|N⋅m|newton-metre||lbft
torque|lbft lb.ft lbf.ft lb·ft ft.lbf ftlb|1.3558179483314|lb⋅ft|pound-foot|pound-feet|Nm
pressure|Pa|1|Pa|pascal||psi
pressure|hPa|100|hPa|hectopascal||inHg
pressure|kPa|1000|kPa|kilopascal||psi
pressure|MPa|1e6|MPa|megapascal||psi
pressure|GPa|1e9|GPa|gigapascal||psi
pressure|bar|1e5|bar|bar|bar|kPa
pressure|mbar|100|mbar|millibar||inHg
pressure|atm|101325|atm|standard atmosphere||kPa
pressure|psi|6894.75729316836|psi|pound per square inch|pounds per square inch|kPa
pressure|inHg|3386.388640341|inHg|inch of mercury|inches of mercury|hPa
pressure|mmHg|133.322387415|mmHg|millimetre of mercury|millimetres of mercury|kPa
energy|J|1|J|joule||cal
energy|kJ|1000|kJ|kilojoule||kcal
energy|MJ|1e6|MJ|megajoule||kWh
energy|kcal|4184|kcal|kilocalorie||kJ
energy|cal|4.184|cal|calorie||J
energy|kWh|3.6e6|kWh|kilowatt-hour||MJ
energy|ftlbf|1.3558179483314|ft⋅lbf|foot-pound force|foot-pounds force|J
energy|BTU|1055.05585262|BTU|British thermal unit||kJ
temperature|C °C degC|1|°C|degree Celsius|degrees Celsius|F
temperature|F °F degF|1|°F|degree Fahrenheit|degrees Fahrenheit|C
temperature|K|1|K|kelvin||C F
density|kg/m3|1|kg/m3|kilogram per cubic metre|kilograms per cubic metre|lb/cuyd
density|g/cm3|1000|g/cm3|gram per cubic centimetre|grams per cubic centimetre|lb/cuin
density|lb/cuft|16.018463373960138|lb/cu ft|pound per cubic foot|pounds per cubic foot|kg/m3
density|lb/cuyd|0.5932764212577829|lb/cu yd|pound per cubic yard|pounds per cubic yard|kg/m3
density|lb/cuin|27679.904710203125|lb/cu in|pound per cubic inch|pounds per cubic inch|g/cm3
per area|/km2 PD/km2|1e-6|/km2|per square kilometre|per square kilometre|/sqmi
per area|/sqmi PD/sqmi|3.8610215854245e-7|/sq mi|per square mile|per square mile|/km2
per area|/ha|1e-4|/ha|per hectare|per hectare|/acre
per area|/acre|0.00024710538146717|/acre|per acre|per acre|/ha
flow|m3/s|1|m3/s|cubic metre per second|cubic metres per second|cuft/s
flow|m3/d|1.15740740740741e-5|m3/d|cubic metre per day|cubic metres per day|cuft/d
flow|cuft/d|3.27741280000000e-7|cu ft/d|cubic foot per day|cubic feet per day|m3/d
flow|oilbbl/d bbl/d|1.84013072833333e-6|bbl/d|barrel per day|barrels per day|m3/d
flow|koilbbl/d kbbl/d|1.84013072833333e-3|kbbl/d|thousand barrels per day|thousand barrels per day|m3/d
flow|Moilbbl/d Mbbl/d|1.84013072833333|MMbbl/d|million barrels per day|million barrels per day|m3/d
flow|cuft/s ft3/s|0.028316846592|cu ft/s|cubic foot per second|cubic feet per second|m3/s
acceleration|m/s2|1|m/s2|metre per second squared|metres per second squared|ft/s2
acceleration|ft/s2|0.3048|ft/s2|foot per second squared|feet per second squared|m/s2
economy|mpgus mpgUS mpgU.S.|0.425143707430272|mpg‑US|mile per US gallon|miles per US gallon|L/100km mpgimp
economy|mpgimp|0.354006189934647|mpg‑imp|mile per imperial gallon|miles per imperial gallon|L/100km mpgus
economy|km/L|1|km/L|kilometre per litre|kilometres per litre|mpgus mpgimp
economy|L/100km|-100|L/100 km|litre per 100 kilometres|litres per 100 kilometres|mpgimp mpgus
temperature change|C-change °C-change|1|°C|degree Celsius|degrees Celsius|F-change
temperature change|F-change °F-change|0.555555555555556|°F|degree Fahrenheit|degrees Fahrenheit|C-change
"""


def _unit_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in _UNIT_TABLE.strip().split("\n"):
        dimension, codes, scale, symbol, singular, plural, outputs = line.split("|")
        unit = Unit(dimension, float(scale), symbol, singular, plural or singular + "s", outputs)
        units |= dict.fromkeys(codes.split(), unit)
    return units


UNITS: Final = _unit_table()
# larger and smaller unit of a value in two parts, and how many of the smaller make one of the larger
_COMPOSITES: Final = {("ft", "in"): 12, ("lb", "oz"): 16, ("st", "lb"): 14, ("mi", "ft"): 5280, ("yd", "ft"): 3,
                      ("mi", "yd"): 1760, ("mi", "chain"): 80, ("LT", "cwt"): 20}  # fmt: skip
_COMPOSITE_OUTPUTS: Final = {"ftin": ("ft", "in"), "lboz": ("lb", "oz"), "stlb": ("st", "lb")}
_RANGES: Final = {
    "to": " to ", "-": "–", "–": "–", "&ndash;": "–", "to(-)": " to ", "and": " and ", "and(-)": " and ", "&": " and ",
    "or": " or ", "by": " by ", "x": " by ", "×": " × ", "xx": " × ", "*": " × ", "+/-": " ± ", "±": " ± ", "+": " + ",
    "to about": " to about ", "till": " till ", ",": ", ", "/": "/",
}  # fmt: skip
_POWERS: Final = {"e3": (3, "thousand"), "e6": (6, "million"), "e9": (9, "billion"), "e12": (12, "trillion")}
_NUMBER = re.compile(r"[+-]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_FRACTION = re.compile(r"([+-]?)(?:([0-9]{1,9})\+)?([0-9]{1,9})(?:/|//|⁄)([0-9]{1,9})")
_SMALL: Final = words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
    """
)
_TENS: Final = words("twenty thirty forty fifty sixty seventy eighty ninety")


def number_in(text: str) -> int | None:
    """The whole number that a text is, if it is one of at most nine digits."""
    return int(text) if len(text) < 10 and text.isdecimal() else None


@dataclass(frozen=True, slots=True)
class _Value:
    """A number as given: its size, how it is shown, and how many decimals it is precise to."""

    size: float
    shown: str
    precision: float


def _value(text: str) -> _Value | None:
    """The number that stands in an argument, or None."""
    text = text.replace("&minus;", "-").replace("\u2212", "-").replace("&nbsp;", "").replace(" ", "").strip()
    if _NUMBER.fullmatch(text) and len(text) < 30:
        mantissa, e, exponent = text.lower().partition("e")
        digits = mantissa.lstrip("+-").replace(",", "")
        whole, dot, decimals = digits.partition(".")
        precision = len(decimals) if dot else len(whole.rstrip("0")) - len(whole)
        shown = grouped(mantissa) + (f"×10{exponent.replace('-', '−')}" if e else "")
        return _Value(float(text.replace(",", "")), shown, precision - int(exponent or 0))
    fraction = _FRACTION.fullmatch(text)
    if fraction and int(fraction[4]):
        sign = -1 if fraction[1] == "-" else 1
        size = sign * (int(fraction[2] or 0) + int(fraction[3]) / int(fraction[4]))
        shown = ("−" if sign < 0 else "") + (f"{fraction[2]}+" if fraction[2] else "") + f"{fraction[3]}⁄{fraction[4]}"
        return _Value(size, shown, max(math.log10(int(fraction[4])), 1))
    return None


def grouped(number: str) -> str:
    """A number as typed, with commas between thousands and a true minus sign.

    >>> grouped("-1234567.891")
    '−1,234,567.891'
    """
    negative = number.startswith(("-", "−"))
    whole, dot, decimals = number.lstrip("+-−").replace(",", "").partition(".")
    if len(whole) > 3 and whole[0] != "0" and whole.isdecimal() and whole.isascii():
        first = len(whole) % 3
        groups = [whole[start : start + 3] for start in range(first, len(whole), 3)]
        whole = ",".join([whole[:first], *groups] if first else groups)
    return ("−" if negative else "") + (whole or "0") + dot + decimals


def _rounded(size: float, precision: int) -> str:
    """A number with so many decimals (fewer than none: so many zeros), halves away from zero."""
    precision = max(-15, min(precision, 15))
    step = 10.0**precision
    steps = math.floor(abs(size) * step + 0.5 + 1e-9)
    digits = f"{steps / step:.{precision}f}" if precision > 0 else str(int(steps * 10**-precision))
    return grouped("-" + digits if size < 0 and steps else digits)


def _default_precision(value: _Value, result: float, source: Unit, target: Unit) -> int:
    """Decimals that say as much as the value that was given."""
    if source.dimension == "temperature":
        kelvin = abs(_converted(value.size, source, UNITS["K"]))
        return max(math.floor(value.precision), 2 if kelvin < 1e-8 else 2 - math.floor(math.log10(kelvin) + 1e-14))
    if not value.size or not result:
        return 0
    adjusted = value.precision + math.log10(abs(value.size / result)) + math.log10(2)
    return max(math.floor(adjusted), 1 - math.floor(math.log10(abs(result)) + 1e-14))


def _converted(size: float, source: Unit, target: Unit) -> float:
    if source.dimension == "economy":
        # a scale below zero stands for the fuel that a distance takes, the reciprocal
        if not size:
            return 0.0
        distance = -source.scale / size if source.scale < 0 else size * source.scale
        return -target.scale / distance if target.scale < 0 else distance / target.scale
    if source.dimension != "temperature":
        return size * source.scale / target.scale
    kelvin = {"°C": size + 273.15, "°F": (size + 459.67) * 5 / 9}.get(source.symbol, size)
    return {"°C": kelvin - 273.15, "°F": kelvin * 9 / 5 - 459.67}.get(target.symbol, kelvin)


def _in_words(shown: str) -> str:
    """Small whole numbers spelled out; others as they are."""
    number = number_in(shown)
    if number is None or number > 99:
        return shown
    tens, ones = divmod(number, 10)
    if tens < 2:
        return _SMALL[number]
    return _TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")


class _Conversion:
    """One use of the template: its options, and the pieces of its text."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self.options = {key: value.strip() for key, value in arguments.items() if not key.isdigit()}
        self.list: list[str] = []
        while (key := str(len(self.list) + 1)) in arguments and len(self.list) < 40:
            self.list.append(arguments[key].strip())
        self.display = self.options.get("disp", "")
        self.flipped = "flip" in (self.display, self.options.get("order", ""))
        abbreviate = self.options.get("abbr", "off" if self.display == "or" else "out")
        # flipped, the converted value stands first: "out" and "in" change sides
        self.abbreviate = {"out": "in", "in": "out"}.get(abbreviate, abbreviate) if self.flipped else abbreviate
        self.american = self.options.get("sp", "").lower() == "us"
        self.adjective = self.options.get("adj", "") in ("on", "mid", "pre")

    def text(self) -> str:
        values: list[_Value] = []
        words: list[str] = []
        rest = list(self.list)
        while rest:
            value = _value(rest[0])
            if value is None:
                joined = re.fullmatch(r"(.*[0-9])\s{0,9}(-|–|to|and|by|x|×|±)\s{0,9}([0-9].*)", rest[0])
                first = _value(joined[1]) if joined else None
                if joined is None or first is None:
                    break
                values.append(first)
                words.append(_RANGES[joined[2]])
                rest[0] = joined[3]
                continue
            values.append(value)
            rest.pop(0)
            if rest and rest[0] in _RANGES and len(rest) > 1 and _value(rest[1]):
                words.append(_RANGES[rest.pop(0)])
            else:
                break
        if not values:
            return self.list[0] if self.list else ""
        words = words[: len(values) - 1]
        code = rest.pop(0) if rest else ""
        source, power = self._unit(code)
        if source is None:
            return (self._joined([v.shown for v in values], words) + " " + code.replace("_", " ")).strip()
        if len(values) == 1 and len(rest) > 1 and (code, rest[1]) in _COMPOSITES and _value(rest[0]):
            return self._composite(values[0], code, rest)
        targets = source.outputs
        if rest and not re.fullmatch(r"-?[0-9]{1,2}", rest[0]):
            targets = rest.pop(0) or targets
        precision = int(rest[0]) if rest and re.fullmatch(r"-?[0-9]{1,2}", rest[0]) else None
        given = self._given(values, words, source, power)
        results = [
            result
            for target in self._targets(targets)
            if (result := self._result(values, words, source, target, precision, power)) is not None
        ]
        return self._arranged(given, results)

    @staticmethod
    def _targets(text: str) -> list[str]:
        text = text.replace("L/100 km", "L/100km")
        return [text] if text in UNITS or text in _COMPOSITE_OUTPUTS else re.split(r"[\s+]+", text)

    @staticmethod
    def _unit(code: str) -> tuple[Unit | None, str]:
        """The unit of a code, and the power of ten that is written before it (e6acre)."""
        if code in UNITS:
            return UNITS[code], ""
        for power in _POWERS:
            if code.startswith(power) and code[len(power) :] in UNITS:
                return UNITS[code[len(power) :]], power
        return None, ""

    @staticmethod
    def _joined(numbers: list[str], words: list[str]) -> str:
        return numbers[0] + "".join(word + number for word, number in zip(words, numbers[1:], strict=False))

    def _spelled(self, name: str) -> str:
        return name.replace("metre", "meter").replace("litre", "liter") if self.american else name

    def _given(self, values: list[_Value], words: list[str], unit: Unit, power: str) -> str:
        """The value as given, with its unit."""
        shown = [value.shown for value in values]
        if self.options.get("spell", "").lower() in ("in", "on", "in,out"):
            shown = [_in_words(number) for number in shown]
            if self.options["spell"][0].isupper():
                shown[0] = shown[0].capitalize()
        number = self._joined(shown, words)
        if power:
            number += f" {_POWERS[power][1]}"
        if unit.symbol.startswith("°") or unit.symbol == "K" or self.abbreviate in ("on", "in", "yes"):
            return number + ("" if unit.symbol.startswith("/") else " ") + unit.symbol
        if self.adjective:
            between = self.options.get("adj", "")
            middle = " " + self.list[-1] if between == "mid" and self.list else ""
            return f"{number}-{self._spelled(unit.singular).replace(' ', '-')}{middle}"
        single = abs(values[-1].size) == 1 and len(values) == 1 and not power
        fraction = 0 < abs(values[-1].size) < 1 and "⁄" in values[-1].shown
        if fraction:
            return f"{number} {self._spelled(unit.singular)}"
        return f"{number} {self._spelled(unit.singular if single else unit.plural)}"

    def _result(
        self, values: list[_Value], words: list[str], source: Unit, code: str, precision: int | None, power: str
    ) -> str | None:
        """The values in one other unit; None where that is not possible."""
        if code in _COMPOSITE_OUTPUTS:
            large, small = _COMPOSITE_OUTPUTS[code]
            if UNITS[large].dimension != source.dimension:
                return None
            parts = [self._in_two(value, source, large, small, precision or 0) for value in values]
            return self._joined(parts, words)
        target, target_power = self._unit(code)
        if target is None or target.dimension != source.dimension:
            return None
        numbers = []
        for value in values:
            scale = 10 ** (_POWERS[power][0] if power else 0) / 10 ** (_POWERS[target_power][0] if target_power else 0)
            result = _converted(value.size * scale, source, target)
            numbers.append(self._number(value, result, source, target, precision))
        number = self._joined(numbers, words)
        if self.display in ("number", "output number only"):
            return number
        if target_power:
            number += f" {_POWERS[target_power][1]}"
        if target.symbol.startswith("°") or target.symbol == "K" or self.abbreviate not in ("off", "in"):
            return number + ("" if target.symbol.startswith("/") else " ") + target.symbol
        return f"{number} {self._spelled(target.singular if numbers[-1] == '1' else target.plural)}"

    def _number(self, value: _Value, result: float, source: Unit, target: Unit, precision: int | None) -> str:
        figures = number_in(self.options.get("sigfig", ""))
        step = number_in(self.options.get("round", ""))
        if precision is None and figures and figures < 15 and result:
            precision = figures - 1 - math.floor(math.log10(abs(result)) + 1e-14)
        if precision is None and step:
            return _rounded(math.floor(result / step + 0.5) * step, 0)
        if precision is None:
            precision = _default_precision(value, result, source, target)
        return _rounded(result, precision)

    def _in_two(self, value: _Value, source: Unit, large: str, small: str, precision: int) -> str:
        """A value in feet and inches, pounds and ounces, and the like."""
        per_large = _COMPOSITES[large, small]
        smalls = _converted(abs(value.size), source, UNITS[small])
        step = 10.0 ** max(0, min(precision, 6))
        smalls = math.floor(smalls * step + 0.5 + 1e-9) / step
        larges, left = divmod(smalls, per_large)
        names = self.abbreviate in ("off", "in")
        parts = []
        if larges:
            unit = UNITS[large]
            name = (unit.singular if larges == 1 else unit.plural) if names else unit.symbol
            parts.append(f"{grouped(str(int(larges)))} {name}")
        if left or not larges:
            unit = UNITS[small]
            number = _rounded(left, max(0, precision))
            parts.append(f"{number} {(unit.singular if number == '1' else unit.plural) if names else unit.symbol}")
        return ("−" if value.size < 0 else "") + " ".join(parts)

    def _composite(self, first: _Value, code: str, rest: list[str]) -> str:
        """A value that was given in two parts (5 ft 11 in)."""
        second = _value(rest[0])
        assert second is not None
        large, small = UNITS[code], UNITS[rest[1]]
        per_large = _COMPOSITES[code, rest[1]]
        total = _Value(first.size * per_large + second.size, "", second.precision)
        rest = rest[2:]
        targets = "m" if large.dimension == "length" else "kg"
        if rest and not re.fullmatch(r"-?[0-9]{1,2}", rest[0]):
            targets = rest.pop(0) or targets
        precision = int(rest[0]) if rest and re.fullmatch(r"-?[0-9]{1,2}", rest[0]) else None
        if self.adjective and self.abbreviate not in ("on", "in"):
            given = f"{first.shown}-{large.singular} {second.shown}-{small.singular}"
        elif self.abbreviate in ("on", "in"):
            given = f"{first.shown} {large.symbol} {second.shown} {small.symbol}"
        else:
            given = f"{first.shown} {self._plural(first, large)} {second.shown} {self._plural(second, small)}"
        results = []
        for target in self._targets(targets):
            unit = UNITS.get(target)
            exact = precision
            if exact is None and unit and rest_is_inches(small) and unit.dimension == small.dimension:
                size = _converted(total.size, small, unit)
                least = 1 - math.floor(math.log10(abs(size)) + 1e-14) if size else 0
                exact = max(math.floor(max(second.precision, 0) + math.log10(unit.scale) + 2 + math.log10(2)), least)
            result = self._result([total], [], small, target, exact, "")
            if result is not None:
                results.append(result)
        return self._arranged(given, results)

    def _plural(self, value: _Value, unit: Unit) -> str:
        return unit.singular if value.size == 1 else unit.plural

    def _arranged(self, given: str, results: list[str]) -> str:
        """The given value and the converted ones, as the options have it."""
        if not results:
            return given
        joined = "; ".join(results)
        if self.flipped:
            given, joined = joined, given
        match self.display:
            case "out" | "output only" | "output number only" | "number":
                return joined
            case "or":
                return f"{given} or {joined}"
            case "comma":
                return f"{given}, {joined}"
            case "slash" | "/":
                return f"{given} / {joined}"
            case "sqbr":
                return f"{given} [{joined}]"
            case "br" | "br()":
                return f"{given} ({joined})"
            case "x" | "preunit" | "unit" | "unit2":
                return given
            case _:
                return f"{given} ({joined})"


def rest_is_inches(unit: Unit) -> bool:
    """Whether a value in two parts ends in inches, which Module:Convert rounds more finely."""
    return unit.symbol == "in"


def convert(arguments: Mapping[str, str]) -> str:
    """The text of ``{{convert|…}}``; ``arguments`` has positional ones under "1", "2", …

    >>> convert({"1": "5", "2": "km", "3": "mi"})
    '5 kilometres (3.1 mi)'
    """
    return _Conversion(arguments).text()
