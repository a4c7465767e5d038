"""Wikis: their namespaces, and the English default for input that does not say (pure data)."""

from functools import lru_cache

from kiltetl.schemas.records import Namespace, Site

# MediaWiki's canonical namespace names, valid on every wiki beside the local ones, and the aliases
# that MediaWiki itself defines (https://www.mediawiki.org/wiki/Manual:Namespace).
CANONICAL_NAMES: dict[int, tuple[str, ...]] = {
    -2: ("Media",),
    -1: ("Special",),
    0: ("",),
    1: ("Talk",),
    2: ("User",),
    3: ("User talk",),
    4: ("Project",),
    5: ("Project talk",),
    6: ("File", "Image"),
    7: ("File talk", "Image talk"),
    8: ("MediaWiki",),
    9: ("MediaWiki talk",),
    10: ("Template",),
    11: ("Template talk",),
    12: ("Help",),
    13: ("Help talk",),
    14: ("Category",),
    15: ("Category talk",),
}

# Redirect words of old exports that have no <redirect> element (newer ones name the target there).
REDIRECT_WORDS = frozenset(
    (
        "#redirect",
        "#weiterleitung",
        "#redirection",
        "#redirección",
        "#redireccion",
        "#rinvia",
        "#redirecionamento",
        "#doorverwijzing",
        "#перенаправление",
        "#przekieruj",
        "#tam",
        "#patrz",
        "#omdirigering",
        "#omdirigerer",
        "#ohjaus",
        "#uudelleenohjaus",
        "#átirányítás",
        "#přesměruj",
        "#yönlendirme",
        "#転送",
        "#リダイレクト",
        "#重定向",
        "#넘겨주기",
        "#تحويل",
        "#виж",
        "#пренасочване",
        "#преусмери",
        "#перенаправлення",
        "#redirecteix",
        "#birzuzendu",
        "#ανακατευθυνση",
        "#הפניה",
        "#đổi",
        "#alih",
        "#lencong",
    )
)

ENGLISH = Site(
    language="en",
    dbname="enwiki",
    name="Wikipedia",
    base="https://en.wikipedia.org/wiki/Main_Page",
    first_letter=True,
    namespaces=(
        *(Namespace(key, names) for key, names in CANONICAL_NAMES.items() if key not in (4, 5)),
        Namespace(4, ("Wikipedia", "WP", "Project")),
        Namespace(5, ("Wikipedia talk", "WT", "Project talk")),
        Namespace(100, ("Portal",)),
        Namespace(101, ("Portal talk",)),
        Namespace(108, ("Book",)),
        Namespace(109, ("Book talk",)),
        Namespace(118, ("Draft",)),
        Namespace(119, ("Draft talk",)),
        Namespace(710, ("TimedText",)),
        Namespace(711, ("TimedText talk",)),
        Namespace(828, ("Module",)),
        Namespace(829, ("Module talk",)),
    ),
)


@lru_cache(maxsize=64)
def namespace_keys(site: Site) -> dict[str, int]:
    """Lower-cased namespace name (local, alias or canonical) to namespace key; without the main one."""
    keys = {name.lower(): key for key, names in CANONICAL_NAMES.items() for name in names}
    keys |= {name.lower(): space.key for space in site.namespaces for name in space.names}
    keys.pop("", None)
    return keys


@lru_cache(maxsize=64)
def namespace_names(site: Site) -> dict[int, str]:
    """Namespace key to the name that the wiki itself prints."""
    names = {key: names[0] for key, names in CANONICAL_NAMES.items()}
    return names | {space.key: space.names[0] for space in site.namespaces}
