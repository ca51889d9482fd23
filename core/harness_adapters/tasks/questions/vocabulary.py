"""The words that tables are made of: columns, their values, and the subjects that use them."""

from __future__ import annotations

from typing import NamedTuple


class Range(NamedTuple):
    """Of a numeric column: smallest and largest value, in units of ``10 ** -decimals``."""

    low: int
    high: int
    decimals: int = 0


NUMBERS: dict[str, Range] = {
    "age": Range(1, 95),
    "amount": Range(150, 98000, 2),
    "area": Range(120, 9800, 1),
    "attendance": Range(12, 940),
    "balance": Range(500, 250000, 2),
    "bonus": Range(10, 900),
    "budget": Range(1000, 90000),
    "capacity": Range(8, 640),
    "cost": Range(220, 48000, 2),
    "deposit": Range(500, 60000, 2),
    "depth": Range(15, 4200, 1),
    "discount": Range(1, 60),
    "distance": Range(12, 9900, 1),
    "downloads": Range(40, 98000),
    "duration": Range(3, 480),
    "energy": Range(110, 9400, 1),
    "fee": Range(5, 480),
    "goals": Range(0, 48),
    "height": Range(20, 3900),
    "hours": Range(5, 420, 1),
    "income": Range(900, 14000),
    "length": Range(15, 2600, 1),
    "mileage": Range(200, 240000),
    "minutes": Range(2, 360),
    "pages": Range(24, 980),
    "points": Range(1, 400),
    "population": Range(300, 980000),
    "price": Range(99, 89900, 2),
    "profit": Range(-9000, 42000),
    "quantity": Range(1, 240),
    "rainfall": Range(0, 1900, 1),
    "rating": Range(10, 50, 1),
    "rent": Range(280, 4200),
    "salary": Range(1800, 12500),
    "score": Range(0, 1000, 1),
    "seats": Range(2, 420),
    "speed": Range(5, 310),
    "stock": Range(1, 1900),
    "tax": Range(45, 19000, 2),
    "temperature": Range(-180, 420, 1),
    "tips": Range(0, 8000, 2),
    "views": Range(15, 76000),
    "volume": Range(30, 8800, 1),
    "votes": Range(3, 5200),
    "weight": Range(12, 9900, 1),
    "yield": Range(40, 6400, 1),
}

CATEGORIES: dict[str, tuple[str, ...]] = {
    "brand": ("Arden", "Boreal", "Corvin", "Delmar", "Elko", "Fenwick", "Galt"),
    "category": ("basic", "classic", "deluxe", "economy", "premium", "standard"),
    "channel": ("app", "mail", "partner", "phone", "shop", "web"),
    "city": ("Bergen", "Cairo", "Dublin", "Kyoto", "Lima", "Oslo", "Porto", "Quito", "Turin"),
    "color": ("amber", "black", "blue", "green", "red", "silver", "white"),
    "country": ("Brazil", "Canada", "Chile", "Egypt", "France", "Japan", "Kenya", "Norway"),
    "department": ("design", "finance", "legal", "logistics", "research", "sales", "support"),
    "genre": ("comedy", "drama", "fantasy", "history", "mystery", "poetry", "travel"),
    "habitat": ("coast", "desert", "forest", "meadow", "mountain", "river", "wetland"),
    "language": ("Czech", "Dutch", "Greek", "Hindi", "Italian", "Korean", "Polish"),
    "level": ("advanced", "beginner", "expert", "intermediate", "trainee"),
    "material": ("aluminium", "bamboo", "copper", "cotton", "glass", "oak", "steel", "wool"),
    "method": ("card", "cash", "invoice", "transfer", "voucher"),
    "priority": ("critical", "high", "low", "medium", "minor"),
    "region": ("central", "east", "north", "south", "west"),
    "season": ("autumn", "spring", "summer", "winter"),
    "shift": ("day", "evening", "late", "morning", "night"),
    "size": ("large", "medium", "small", "tiny", "wide"),
    "status": ("active", "closed", "open", "paused", "pending", "rejected"),
    "team": ("Comets", "Falcons", "Herons", "Lynxes", "Otters", "Ravens", "Tigers"),
    "weekday": ("Friday", "Monday", "Saturday", "Sunday", "Thursday", "Tuesday", "Wednesday"),
}

FIRST_WORDS = (
    "Amber", "Bright", "Cedar", "Distant", "Early", "Fallen", "Golden", "Hidden", "Iron", "Juniper",
    "Kind", "Little", "Marble", "Northern", "Open", "Painted", "Quiet", "Royal", "Silver", "Tall",
    "Upper", "Velvet", "Western", "Young",
)  # fmt: skip
SECOND_WORDS = (
    "Anchor", "Bridge", "Canyon", "Drum", "Ember", "Field", "Garden", "Harbour", "Island", "Jetty",
    "Kettle", "Lantern", "Meadow", "Needle", "Orchard", "Pillar", "Quarry", "River", "Summit",
    "Tower", "Umbrella", "Valley", "Window", "Yard",
)  # fmt: skip
PEOPLE = (
    "Abena", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Idris", "Jonas",
    "Katya", "Leila", "Mateo", "Nadia", "Omar", "Priya", "Quinn", "Rosa", "Stefan", "Tomas",
    "Uma", "Viktor", "Wanda", "Xenia", "Yusuf", "Zofia",
)  # fmt: skip
SURNAMES = (
    "Adeyemi", "Bauer", "Castillo", "Duarte", "Eriksen", "Fontaine", "Grieg", "Haddad", "Ivanova",
    "Jansen", "Kowalski", "Lund", "Mbeki", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Sato",
    "Tanaka", "Ueda", "Varga", "Weiss", "Yilmaz", "Zhou",
)  # fmt: skip

PERSON_COLUMNS = frozenset({"agent", "artist", "author", "coach", "customer", "guide", "owner"})
VARIANTS = ("north", "south", "east", "west", "spring", "autumn", "main", "spare", "alpha", "beta")

# subject | column that names a row | date column | numbers to draw from | categories
_SUBJECTS = """
accounts|customer|opened|balance fee bonus age|city status channel
albums|title|released|price minutes votes rating|genre language country
animals|name|tagged|weight length age speed|habitat region size
auctions|title|closed_on|price fee votes duration|category channel country
batches|code|made_on|volume weight cost temperature|material shift status
boats|name|launched|length speed price capacity|color country material
reservations|customer|arrival|price deposit seats minutes|city channel season
books|title|published|price pages rating stock|genre language category
branches|name|opened|rent income area profit|city region size
bridges|name|opened|length height cost budget|material country region
campaigns|title|started|budget views cost votes|channel language status
castles|name|founded|height area fee attendance|country region material
classes|title|starts|seats fee hours rating|level weekday language
clinics|name|opened|capacity budget rating area|city region department
concerts|title|held_on|attendance price duration tips|city genre season
couriers|agent|hired|distance salary points hours|city shift team
courses|title|starts|fee hours seats rating|department level language
crops|name|sown|yield area rainfall cost|region season material
deliveries|code|sent|distance weight fee minutes|city priority method
dishes|name|added|price weight minutes rating|category season country
donations|customer|given|amount tax points age|method channel country
drinks|name|added|price volume stock rating|brand category size
employees|agent|hired|salary bonus hours age|department city level
events|title|held_on|attendance budget duration fee|city weekday category
exhibits|title|acquired|height price age views|material country status
expeditions|title|started|distance depth budget duration|country season status
farms|name|founded|area yield rainfall income|region country size
ferries|name|launched|speed seats mileage length|country color status
films|title|released|budget profit minutes votes|genre language country
flights|code|departed|distance seats duration price|city status weekday
galleries|name|founded|area fee attendance rent|city category size
games|title|released|price downloads rating score|genre brand language
gardens|name|founded|area fee height rainfall|habitat country season
grants|title|awarded|amount budget duration points|department status country
harvests|code|picked|yield weight cost temperature|region season category
hotels|name|opened|price capacity rating tax|city category brand
incidents|code|reported|duration cost votes hours|priority department status
invoices|customer|issued|amount tax discount fee|method status country
lakes|name|surveyed|depth area volume temperature|country region habitat
lessons|guide|held_on|minutes fee points rating|level weekday language
loans|customer|granted|amount fee duration income|status channel city
machines|name|bought|price energy hours weight|brand status shift
matches|coach|played|goals attendance minutes points|team weekday city
meters|code|read_on|energy volume cost temperature|region size status
mountains|name|climbed|height distance temperature duration|country season region
museums|name|founded|fee attendance area budget|city category country
orders|customer|ordered|price quantity discount weight|city status channel
paintings|artist|sold|price height length age|genre material country
parcels|code|sent|weight volume cost distance|city priority size
patients|owner|admitted|age fee duration cost|department status shift
payments|customer|paid|amount fee tax points|method status country
players|name|joined|goals age points salary|team country level
podcasts|author|aired|minutes downloads rating votes|genre language weekday
products|name|added|price stock weight discount|brand category color
projects|title|started|budget cost hours bonus|department priority status
recipes|author|added|minutes energy votes cost|category level season
refunds|customer|refunded|amount quantity fee tax|method channel status
rentals|customer|collected|price deposit distance hours|brand season size
repairs|owner|received|cost hours minutes deposit|brand priority status
reservoirs|name|surveyed|volume depth area rainfall|region country status
sensors|code|installed|temperature speed height energy|habitat brand status
shipments|code|shipped|weight cost distance volume|country method priority
songs|artist|released|minutes downloads votes tips|genre language season
stations|name|opened|height temperature rainfall speed|region country habitat
surveys|author|sent|score age points duration|channel country level
tickets|agent|created|minutes score hours points|priority department channel
tours|guide|started|price seats distance rating|city language season
trees|name|planted|height age weight volume|habitat region season
vehicles|code|bought|price mileage speed seats|brand color status
vineyards|name|founded|area yield temperature price|country region brand
visits|customer|visited|duration cost points age|city weekday channel
workshops|title|held_on|seats fee hours attendance|city level weekday
"""


class Subject(NamedTuple):
    """What a table is about, and the columns that such a table may have."""

    name: str
    label: str
    date: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]


def _subject(line: str) -> Subject:
    name, label, date, numbers, categories = line.split("|")
    return Subject(
        name,
        label,
        date,
        tuple(numbers.split()),
        tuple(categories.split()),
    )


SUBJECTS = tuple(_subject(line) for line in _SUBJECTS.split("\n") if line)
