"""Wikitext that is slow elsewhere, or never ends: 60 kB to 2 MB each."""

HARD = {
    "unclosed templates": "{{a " * 10_000,
    "unclosed templates with arguments": "{{a|b " * 10_000,
    "unclosed links": "[[a " * 10_000,
    "unclosed links with labels": "[[a|b " * 10_000,
    "quotes": "''" * 10_000,
    "many quotes": "'''''" * 10_000,
    "templates in templates": "{{a|" * 2000 + "}}" * 2000,
    "links in links": "[[a|" * 2000 + "]]" * 2000,
    "unclosed bold": "<b>" * 10_000,
    "unclosed references": "<ref>" * 10_000,
    "unclosed reference tags": '<ref name="a" ' * 10_000,
    "unclosed comments": "<!--" * 10_000,
    "unclosed tables": "\n{|" * 5000,
    "unclosed external links": "[http://x a " * 10_000,
    "all at once": "'''[[a|{{b|<i>" * 3000,
    "unclosed files": "[[File:a|b " * 5000,
    "files in files": "[[File:a|b " * 5000 + "]]" * 5000,
    "labels over lines": "[[a|b\n" * 20_000,
    "semicolons": ";" * 100_000,
    "colons": ";" + ":" * 100_000,
    "equals signs": "==" * 10_000,
    "headings": "\n== a" * 10_000,
    "braces": "{" * 200_000 + "}" * 100_000,
    "brackets": "[" * 100_000 + "]" * 100_000,
    "less-than signs": "<" * 200_000,
    "tags without end": "<div " * 50_000,
    "ampersands": "&#1" * 100_000,
    "underscores": "__A" * 100_000,
    "spaces": " " * 500_000 + "x",
    "holes": "({{x}} , " * 30_000,
    "holes behind a long word": "x" * 1_000_000 + " ({{x}})" * 50_000,
    "a hole in brackets": "(" * 100_000 + "{{x}}" + ")" * 100_000,
    "deep lists": "\n".join("#" * depth for depth in range(1, 1200)),
    "unclosed nowiki": "<nowiki>" * 20_000,
    "table lines": "| a\n" * 50_000 + "|}\n" * 20_000,
    "a table of 2 MB": "{|\n" + "|-\n| [[a]] || b\n" * 110_000 + "|}\n",
    "a line of links of 2 MB": "[[Foo bar|baz]] " * 125_000,
    "lines of unclosed templates, 2 MB": ("{{a|b " * 1300 + "\n") * 260,
    "lines of unclosed external links, 2 MB": ("[http://a b " * 650 + "\n") * 260,
    "nested templates around 1 MB": "{{nowrap|" * 400 + "x " * 500_000 + "}}" * 400,
    "templates nested many times": ("{{lang|fr|" * 25 + "x" * 500 + "}}" * 25) * 1000,
    "a conversion without end": "{{convert|" + "1|to|" * 3000 + "}}",
    "quotes in targets": "[[a''" * 50_000,
    "schemes": "http://" * 100_000,
}


def long_list() -> str:
    """25,000 items of links, 2 MB."""
    line = "* [[Item {0}|item {0}]] ({{{{flagicon|X}}}} [http://e.org/{0} site]), {{{{convert|{0}|km|mi}}}}\n"
    return "".join(line.format(number) for number in range(25_000))
