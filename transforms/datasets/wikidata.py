"""English labels of Wikidata's properties, as they were in August 2019.

Source: https://www.wikidata.org/wiki/Wikidata:List_of_properties (CC0). Those that join two things
of which Wikipedia has pages, or that Zero-Shot RE asks for; ``--relation-labels`` adds others.
"""

from collections.abc import Iterable
from typing import Final

_LABELS = """\
P6 head of government
P17 country
P19 place of birth
P20 place of death
P22 father
P25 mother
P26 spouse
P27 country of citizenship
P30 continent
P31 instance of
P35 head of state
P36 capital
P37 official language
P38 currency
P39 position held
P40 child
P47 shares border with
P50 author
P53 family
P54 member of sports team
P57 director
P58 screenwriter
P59 constellation
P61 discoverer or inventor
P65 site of astronomical discovery
P66 ancestral home
P69 educated at
P78 top-level Internet domain
P81 connecting line
P84 architect
P85 anthem
P86 composer
P87 librettist
P88 commissioned by
P91 sexual orientation
P97 noble title
P98 editor
P101 field of work
P102 member of political party
P103 native language
P105 taxon rank
P106 occupation
P108 employer
P110 illustrator
P112 founded by
P113 airline hub
P114 airline alliance
P115 home venue
P118 league
P119 place of burial
P121 item operated
P122 basic form of government
P123 publisher
P126 maintained by
P127 owned by
P129 physically interacts with
P131 located in the administrative territorial entity
P135 movement
P136 genre
P137 operator
P138 named after
P140 religion
P141 IUCN conservation status
P144 based on
P149 architectural style
P150 contains administrative territorial entity
P155 follows
P156 followed by
P157 killed by
P159 headquarters location
P161 cast member
P162 producer
P163 flag
P166 award received
P169 chief executive officer
P170 creator
P171 parent taxon
P172 ethnic group
P175 performer
P176 manufacturer
P177 crosses
P178 developer
P179 part of the series
P180 depicts
P183 endemic to
P184 doctoral advisor
P185 doctoral student
P186 material used
P189 location of discovery
P190 twinned administrative body
P193 main building contractor
P194 legislative body
P195 collection
P197 adjacent station
P199 business division
P200 lake inflows
P201 lake outflow
P205 basin country
P206 located in or next to body of water
P208 executive body
P237 coat of arms
P241 military branch
P263 official residence
P264 record label
P272 production company
P276 location
P277 programming language
P279 subclass of
P282 writing system
P286 head coach
P289 vessel class
P291 place of publication
P306 operating system
P344 director of photography
P355 subsidiary
P361 part of
P364 original language of film or TV show
P366 use
P371 presenter
P375 space launch vehicle
P376 located on astronomical location
P397 parent astronomical body
P398 child astronomical body
P400 platform
P403 mouth of the watercourse
P404 game mode
P405 taxon author
P407 language of work or name
P408 software engine
P410 military rank
P411 canonization status
P412 voice type
P413 position played on team / speciality
P414 stock exchange
P417 patron saint
P421 located in time zone
P449 original network
P450 astronaut mission
P451 unmarried partner
P452 industry
P457 foundational text
P460 said to be the same as
P461 opposite of
P462 color
P463 member of
P466 occupant
P485 archives at
P488 chairperson
P495 country of origin
P501 enclave within
P509 cause of death
P511 honorific prefix
P512 academic degree
P516 powered by
P521 scheduled service destination
P522 type of orbit
P523 temporal range start
P524 temporal range end
P527 has part
P530 diplomatic relation
P531 diplomatic mission sent
P541 office contested
P551 residence
P556 crystal system
P559 terminus
P569 date of birth
P570 date of death
P571 inception
P575 time of discovery or invention
P576 dissolved, abolished or demolished
P577 publication date
P580 start time
P582 end time
P585 point in time
P598 commander of
P606 first flight
P607 conflict
P608 exhibition history
P609 terminus location
P610 highest point
P611 religious order
P612 mother house
P619 time of spacecraft launch
P620 time of spacecraft landing
P621 time of spacecraft orbit decay
P622 spacecraft docking/undocking date
P641 sport
P647 drafted by
P655 translator
P664 organizer
P674 characters
P676 lyrics by
P688 encodes
P689 afflicts
P690 space group
P702 encoded by
P703 found in taxon
P706 located on terrain feature
P708 diocese
P710 participant
P725 voice actor
P729 service entry
P730 service retirement
P735 given name
P737 influenced by
P740 location of formation
P746 date of disappearance
P748 appointed by
P749 parent organization
P750 distributor
P754 ammunition
P765 surface played on
P769 significant drug interaction
P770 cause of destruction
P780 symptoms
P790 approved by
P793 significant event
P800 notable work
P803 professorship
P807 separated from
P812 academic major
P816 decays to
P822 mascot
P825 dedicated to
P826 tonality
P828 has cause
P840 narrative location
P841 feast day
P859 sponsor
P870 instrumentation
P872 printed by
P880 CPU
P881 type of variable star
P885 origin of the watercourse
P915 filming location
P921 main subject
P931 place served by transport hub
P937 work location
P941 inspired by
P943 programmer
P944 Code of nomenclature
P945 allegiance
P972 catalog
P974 tributary
P991 successful candidate
P1001 applies to jurisdiction
P1027 conferred by
P1028 donated by
P1029 crew member
P1035 honorific suffix
P1037 director/manager
P1038 relative
P1040 film editor
P1050 medical condition
P1056 product or material produced
P1064 track gauge
P1066 student of
P1071 location of final assembly
P1080 from narrative universe
P1142 political ideology
P1192 connecting service
P1196 manner of death
P1199 mode of inheritance
P1268 represents
P1269 facet of
P1290 godparent
P1303 instrument
P1308 officeholder
P1327 partner in business or sport
P1336 territory claimed by
P1344 participant of
P1346 winner
P1365 replaces
P1366 replaced by
P1376 capital of
P1383 contains settlement
P1389 product certification
P1399 convicted of
P1408 licensed to broadcast to
P1411 nominated for
P1412 languages spoken, written or signed
P1416 affiliation
P1419 shape
P1425 ecoregion (WWF)
P1427 start point
P1429 pet
P1431 executive producer
P1433 published in
P1434 takes place in fictional universe
P1435 heritage designation
P1441 present in work
P1444 destination point
P1455 list of works
P1528 floruit
P1532 country for sport
P1534 end cause
P1535 used by
P1557 manifestation of
P1576 lifestyle
P1582 natural product of taxon
P1589 lowest point
P1591 defendant
P1592 prosecutor
P1594 judge
P1595 charge
P1598 consecrator
P1605 has natural reservoir
P1619 date of official opening
P1620 plaintiff
P1622 driving side
P1640 curator
P1672 this taxon is source of
P1731 Fach
P1811 list of episodes
P1830 owner of
P1875 represented by
P1876 vessel
P1877 after a work by
P1889 different from
P1891 signatory
P1906 office held by head of state
P1923 participating team
P1951 investor
P1990 species kept
P2079 fabrication method
P2094 competition class
P2175 medical condition treated
P2176 drug used for treatment
P2184 history of topic
P2348 time period
P2408 set in period
P2416 sports discipline competed in
P2512 spin-off
P2541 operating area
P2563 superhuman feature or ability
P2632 place of detention
P2650 interested in
P2670 has parts of the class
P2789 connects with
P2962 title of chess person
P3018 located in protected area
P3032 adjacent building
P3094 develops from
P3095 practiced by
P3137 parent peak
P3173 offers view on
P3179 territory overlaps
P3300 musical conductor
P3373 sibling
P3450 sports season of league or competition
P3461 designated as terrorist by
P3764 pole position
P3842 located at present-day administrative territorial entity
P4552 mountain range
P4688 geomorphological unit
P5869 model item"""

PROPERTY_LABELS: Final = {line.partition(" ")[0]: line.partition(" ")[2] for line in _LABELS.split("\n")}


def property_labels(lines: Iterable[str]) -> dict[str, str]:
    """The labels above, and those of lines such as ``P17<TAB>country``; ValueError for another line."""
    labels = dict(PROPERTY_LABELS)
    for line in filter(str.strip, lines):
        name, tab, label = line.strip().partition("\t")
        if not tab or not label.strip():
            raise ValueError(f"{line!r} is not a property and its label with a tab between them, such as P17\\tcountry")
        labels[name.strip()] = label.strip()
    return labels
