"""What differs from wiki to wiki: names of namespaces, link trails, prefixes, switches (pure data).

A dump's ``<siteinfo>`` names the namespaces of its own wiki. These tables stand in where it is
missing or wrong, and carry what ``<siteinfo>`` never says: which letters after ``]]`` belong to the
link, which prefixes lead to another wiki, and which templates mark a disambiguation page. Sources:
MediaWiki's ``languages/messages/Messages*.php`` and the interwiki map of the Wikimedia wikis.
"""

from typing import Final


def words(text: str) -> list[str]:
    """Words parted by white space."""
    return text.split()


def _names(text: str) -> frozenset[str]:
    """Names parted by white space, in lower case; an underscore is a space within a name."""
    return frozenset(name.replace("_", " ").lower() for name in text.split())


# Names of the namespaces of files. English words that could open a title are left out.
FILE_NAMES: Final = _names(
    """
    File Image Media
    Attēls Fails Bestand Afbeelding Bild Datei Archivo Imagen Fichier Ficheiro Imagem Arquivo Immagine
    Plik Grafika Soubor Súbor Obrázok Fil Tiedosto Kuva Fájl Kép Fișier Fişier Imagine Dosya Resim Slika
    Datoteka Датотека Слика Файл Изображение Зображення Выява Картинка Сүрәт Сурет Рәсем Сүрет Тасвир
    სურათი ფაილი Պատկեր Αρχείο Εικόνα קובץ תמונה טעקע בילד ملف صورة پرونده تصویر وێنە فائل
    चित्र ছবি চিত্র ফাইল ਤਸਵੀਰ ચિત્ર படிமம் దస్త్రం బొమ్మ ಚಿತ್ರ പ്രമാണം ചിത്രം ගොනුව
    ไฟล์ ภาพ ຮູບ ឯកសារ ဖိုင် 파일 그림 ファイル 画像 文件 檔案 档案 图像 圖像 圖片 Tập_tin Hình
    Berkas Gambar Fail Talaksan Larawan Skeudenn Restr Delwedd Íomhá Ìomhaigh Mynd Skrá Fitxer Imatge
    Fichièr Imatge Fitxategi Irudi Dosiero Imaxe Imaxen Ficheru Bilde Vaizdas Skeda Figura Fasciculus
    Lêer Beeld Hình_ảnh Şəkil Fayl Wêne Dosîye Wobraz Dataja Bildo Mìdia Billede Ōkiʻiʻi ߞߐߕߐ߮ ፋይል
    """
)

# Names of the namespace of categories.
CATEGORY_NAMES: Final = _names(
    """
    Category
    Kategoreja Kategorejis Kategorija Categorie Kategorie Categoría Catégorie Categoria Kategoria
    Kategória Kategori Luokka Kategoriya Kateqoriya Kategorî Категория Категорія Катэгорыя Категорија
    Төркем Санат Категори Категорія Категоріа Категорії კატეგორია Կատեգորիա Κατηγορία קטגוריה קאטעגאריע
    تصنيف رده زمرہ پۆل श्रेणी वर्ग বিষয়শ্রেণী শ্ৰেণী ਸ਼੍ਰੇਣੀ શ્રેણી பகுப்பு వర్గం ವರ್ಗ വർഗ്ഗം
    ප්‍රවර්ගය หมวดหมู่ ໝວດ ចំណាត់ថ្នាក់ကဏ္ဍ ចំណាត់ថ្នាក់ក្រុម ကဏ္ဍ 분류 カテゴリ 分类 分類 Thể_loại Kategori Kumaka
    Kaarangay Rummad Categori Catagóir Roinn-seòrsa Flokkur Bólkur Kategoriija Kategorio Kategorija
    Categoría Catègorie Kategory Kategorie Kategoriu Kategooria Kategorie Jamii Bubaq Rumbek Catigurìa
    Kategorija Kategoria Ангилал Гурӯҳ Turkum Kategorie Классă መደብ
    """
)

# Letters that continue a link behind its ]] (regular expression character classes, by language;
# None = no letters). MediaWiki's default is a-z.
_FRENCH = "a-zàâçéèêîôûäëïöüùÇÉÂÊÎÔÛÄËÏÖÜÀÈÙ"
_CYRILLIC = "a-zа-я"
_LATVIAN = "a-zA-ZĀāČčĒēĢģĪīĶķĻļŅņŠšŪūŽž"
LINK_TRAILS: Final[dict[str, str | None]] = {
    "af": "a-zäöüïëêéèà",
    "ar": "a-zء-ي",
    "be": "a-zабвгґджзеёжзійклмнопрстуўфхцчшыьэюяćčłńśšŭźža-z",
    "be-tarask": "a-zабвгґджзеёжзійклмнопрстуўфхцчшыьэюяćčłńśšŭźža-z",
    "bg": _CYRILLIC,
    "ca": "a-zàèéíòóúç·ïü",
    "cs": "a-záčďéěíňóřšťúůýž",
    "cy": "àáâèéêìíîïòóôûŵŷa-z",
    "da": "a-zæøå",
    "de": "äöüßa-z",
    "el": "a-zαβγδεζηθικλμνξοπρστυφχψωςΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩάέήίόύώϊϋΐΰΆΈΉΊΌΎΏΪΫ",
    "eo": "a-zĉĝĥĵŝŭ",
    "es": "a-záéíóúñ",
    "et": "äöõšüža-z",
    "eu": "a-záéíóúñ",
    "fa": "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآأئؤةا-یa-z",
    "fi": "a-zäö",
    "fo": "áðíóúýæøa-z",
    "fr": _FRENCH,
    "fy": "a-zàáèéìíòóùúâêîôûäëïöü",
    "gl": "áâãàéêẽçíòóôõq̃úüűũa-z",
    "he": "a-zא-ת",
    "hr": "čšžćđßa-z",
    "hsb": "äöüßa-zěšćžčłńóřŕś",
    "hu": "a-záéíóúöüőűÁÉÍÓÚÖÜŐŰ",
    "hy": "a-zաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև",
    "is": "áðéíóúýþæöa-z-–",
    "it": "a-zàéèíîìóòúù",
    "ja": "a-z",
    "ka": "a-zაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
    "kk": "a-zäçéğıïñöşüýа-яёәіңғүұқөһ",
    "ky": "a-zа-яёөүң",
    "lb": "äöüßa-z",
    "lt": "a-ząčęėįšųūž",
    "ltg": _LATVIAN,
    "lv": _LATVIAN,
    "mk": "a-zабвгдѓежзѕијклљмнњопрстќуфхцчџш",
    "ml": "a-zം-ൿ",
    "mn": "a-zабвгдеёжзийклмноөпрстуүфхцчшщъыьэюя",
    "nb": "æøåa-z",
    "nds": "äöüßa-z",
    "nl": "a-zäöüïëéèà",
    "nn": "æøåa-z",
    "no": "æøåa-z",
    "oc": "a-zàâçéèêîôû",
    "os": "a-zаæбвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "pl": "a-zęóąśłżźćńĘÓĄŚŁŻŹĆŃ",
    "ps": "a-zابپتټثجځچڅحخدډذرړزژږسشښصضطظعغفقکګلمنڼوهۀۍيېئ",
    "pt": "áâãàéêẽçíòóôõq̃úüűũa-z",
    "ro": "a-zăâîşţșțĂÂÎŞŢȘȚ",
    "ru": "a-zабвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "sh": "a-zčćđžš",
    "sk": "a-záäčďéíľĺňóôŕšťúýž",
    "sl": "a-zčšžćđáéíóúàèìòù",
    "sr": "abvgdđežzijklljmnnjoprstćufhcčdžšабвгдђежзијклљмнњопрстћуфхцчџш",
    "sv": "a-zåäöéÅÄÖÉ",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c01-\u0c6f",
    "tg": "a-zабвгдеёжзийклмнопрстуфхчшъэюяғӣқўҳҷцщыь",
    "tr": "a-zÇĞçğİıÖöŞşÜüÂâÎîÛû",
    "tt": "a-zабвгдеёжзийклмнопрстуфхцчшщъыьэюяӘәӨөҮүҖҗҢңҺһ",
    "uk": "a-zабвгґдеєжзиіїйклмнопрстуфхцчшщьєюяёъы“»",
    "uz": "a-zʻʼ“»",
    "vi": "a-zàâçéèêîôûäëïöüùÇÉÂÊÎÔÛÄËÏÖÜÀÈÙ",
    "yi": "א-ת",
    "zh": "a-z",
}
DEFAULT_LINK_TRAIL: Final = "a-z"

# Prefixes of wikis in other languages: such a link stands beside the page, not in its text.
LANGUAGE_CODES: Final = _names(
    """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba
    ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug
    bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb
    dtp dty dv dz ee egl el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga
    gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu
    hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kcg kg kge
    ki kj kk kl km kn ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo
    lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl
    my myv mzn na nah nan nap nb nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv ny oc olo
    om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rki rm rmy rn ro roa-rup
    roa-tara ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn
    sn so sq sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr
    trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue
    za zea zgh zh zh-cfr zh-classical zh-cn zh-min-nan zh-tw zh-yue zu cz dk epo jp minnan
    """
)

# Prefixes that lead to other projects: their text is shown, but they are no links within the wiki.
INTERWIKI_PREFIXES: Final = _names(
    """
    w wikipedia-en wikt wiktionary b wikibooks n wikinews q wikiquote s wikisource v wikiversity voy
    wikivoyage species wikispecies d wikidata c commons m meta metawikipedia metawiki mw mediawikiwiki
    mediawiki.org foundation wmf incubator phab phabricator gerrit bugzilla mail mailarchive outreach
    strategy wikitech oldwikisource tools toollabs rev svn sep11 betawiki translatewiki doi arxiv rfc
    hdl irc otrs ticket wikia wikicities google dict dictionary imdbname imdbtitle freshmeat pmid
    openlibrary uncyclopedia viaf quality testwiki nost wikimedia wm2016 grants chapter jstor
    """
)

# Languages whose wikis turn one script into another; elsewhere -{…}- is plain text.
VARIANT_LANGUAGES: Final = _names("zh gan sr sh kk ku iu tg uz shi crh en-x-piglatin ban wuu mni zgh")

# Words between double underscores that MediaWiki takes for switches: those it knows in any case, and all
ANY_CASE_SWITCHES: Final = frozenset(
    words("NOTOC FORCETOC TOC NOEDITSECTION NOGALLERY NOTITLECONVERT NOTC NOCONTENTCONVERT NOCC")
)
SWITCHES: Final = ANY_CASE_SWITCHES | frozenset(
    words(
        """
        NEWSECTIONLINK NONEWSECTIONLINK HIDDENCAT EXPECTUNUSEDCATEGORY EXPECTEDUNCONNECTEDPAGE
        EXPECTWITHOUTSCANS INDEX NOINDEX STATICREDIRECT DISAMBIG NOGLOBAL NOTITLE NOHEADER NOCOMMENTS
        ARCHIVEDTALK NOTALK EXPECTUNUSEDTEMPLATE EXPECTED_UNCONNECTED_PAGE NORICHMEDIA NOSECTIONLINKS
        KEIN_INHALTSVERZEICHNIS KEININHALTSVERZEICHNIS INHALTSVERZEICHNIS INHALTSVERZEICHNIS_ERZWINGEN
        ABSCHNITTE_NICHT_BEARBEITEN KEINE_GALERIE KEINEGALERIE NEUER_ABSCHNITTSLINK VERSTECKTE_KATEGORIE
        BEGRIFFSKLÄRUNG KEIN_INDEX INDIZIEREN NICHT_INDIZIEREN AUCUNSOMMAIRE AUCUNTDM SOMMAIRE TDM
        FORCERSOMMAIRE FORCERTDM SECTIONNONEDITABLE AUCUNEGALERIE CATCACHEE CATEGORIECACHEE AUCUNINDEX HOMONYMIE
        БЕЗ_ОГЛ БЕЗ_ОГЛАВЛЕНИЯ ОГЛ ОГЛАВЛЕНИЕ ОБЯЗ_ОГЛ ОБЯЗАТЕЛЬНОЕ_ОГЛАВЛЕНИЕ БЕЗ_РЕДАКТИРОВАНИЯ_РАЗДЕЛА
        БЕЗ_ГАЛЕРЕИ СКРЫТАЯ_КАТЕГОРИЯ НЕОДНОЗНАЧНОСТЬ БЕЗСЪДЪРЖАНИЕ СЪССЪДЪРЖАНИЕ СЪДЪРЖАНИЕ
        БЕЗРЕДАКТИРАНЕНАРАЗДЕЛИ لا_فهرس لافهرس فهرس لصق_فهرس إلصاق_فهرس لا_تحريرقسم لاتحريرقسم لامعرض تصنيف_مخفي
        NOTDC SIN_TDC SINTDC FORZAR_TDC NOSECCIONES NOGALERIA CATEGORIA_OCULTA DESAMBIGUACIÓN BEZSPISU BEZ_SPISU
        SPIS ZESPISEM WYMUŚSPIS BEZGALERII UJEDNOZNACZNIENIE GEENINHOUD INHOUD DWINGINHOUD GEENGALERIJ
        NIETBEWERKBARESECTIE NOINDICE INDICE FORZAINDICE NIENTEGALLERIA NONMODIFICASEZIONI INTEKONTENT
        INGENINNEHÅLLSFÖRTECKNING INNEHÅLLSFÖRTECKNING SEMTDC SEMSUMARIO SEMÍNDICE FORÇARTDC SEMEDITARSEÇÃO
        SEMGALERIA CATEGORIAOCULTA
        目次非表示 目次強制 目次 节編集非表示 セクション編集非表示
        無目錄 无目录 無目次 目錄 目录 強顯目錄 强显目录 无标题转换
        """
    )
)

DISAMBIGUATION_SWITCHES: Final = frozenset(
    words("DISAMBIG HOMONYMIE BEGRIFFSKLÄRUNG НЕОДНОЗНАЧНОСТЬ DESAMBIGUACIÓN UJEDNOZNACZNIENIE")
)

# Templates that make a page a disambiguation page: whole names, not parts of names, in lower case.
DISAMBIGUATION_TEMPLATES: Final = _names(
    """
    disambiguation disambig disamb dab disam disambig-class disambigpage disambiguation_page
    disambiguation_cleanup disambig-cleanup disambig_cleanup dabclean geodis geodab geo-dis geo-dab
    hndis hndis-cleanup hn-dis hndab namedab human_name_disambiguation numberdis number_disambiguation
    letter_disambiguation letter-numbercombdisambig letter-number_combination_disambiguation
    letternumbercombdisambig mathdab math_disambiguation mathematical_disambiguation mountainindex_dab
    airport_disambiguation airport_disambig biology_disambiguation call_sign_disambiguation callsigndis
    caselaw_disambiguation chinese_title_disambiguation church_disambiguation disambiguation_station
    station_disambiguation stationdis genus_disambiguation hospital_disambiguation hospitaldis
    latin_name_disambiguation latindab list_of_disambiguations military_unit_disambiguation mil-unit-dis
    mil-unit_dis music_disambiguation phonetics_disambiguation place_name_disambiguation placedis
    plantdab plant_common_name plant_common_name_disambiguation portal_disambiguation road_disambiguation
    roaddis school_disambiguation schooldis schooldab schooldab species_latin_name_abbreviation_disambiguation
    species_latin_name_disambiguation speciesdab synagogue_disambiguation taxonomic_authority_disambiguation
    taxonomy_disambiguation taxonomydab tropical_cyclone_disambiguation wp_disambig wp_disambiguation
    tlc_disambiguation tlcdisambiguation 4cc 4cc_disambiguation tla-dab surname-dab engvar_dab
    begriffsklärung bkl homonymie homonymes internationalisation paronymie toponymie patronymie
    sigle_de_deux_lettres disambigua desambiguación desambiguacion des desambiguação dp doorverwijspagina
    ujednoznacznienie strona_ujednoznaczniająca rozcestník rozlišovacia_stránka egyért täsmennyssivu
    förgrening gren grensida flertydig peker pekerside anlam_ayrımı anlam_ayrim неоднозначность
    многозначность багатозначність неадназначнасць пояснение пояснителна_страница вишезначна_одредница
    вишезначник razdvojba razločitev dezambiguizare desambiguació argipen apartigilo nuozīmju_atdalīšana
    atdalīšana nuorodiniai_straipsniai nuorodinis täpsustusmärkus täpsustuslehekülg αποσαφήνιση
    פירושונים توضيح صفحة_توضيح ابهام‌زدایی ابهام_زدایی ضد_ابہام बहुविकल्पी दिव्यात्मता নিবন্ধ_দ্ব্যর্থতা
    দ্ব্যর্থতা_নিরসন แก้ความกำกวม định_hướng trang_định_hướng nhập_nhằng disambiguasi nyahkekaburan
    曖昧さ回避 aimai 消歧义 消歧義 消歧义页 消歧義頁 消歧 動音同形 동음이의 동음이의어_문서 zeimu_škiršona
    nūzeimu_škiršona nūzeimu_atdaleišona zeimeibu_škiršona cytys_zeimeibys
    """
)
