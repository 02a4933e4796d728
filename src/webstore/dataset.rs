//! Data set of the web store, generated from a seed with the shape of the sample that the article comes from:
//! 37 categories of one to a few dozen products, up to five tags a product, and orders by a skewed law: most
//! customers have one or two, few have 28. Pure: everything is computed from (seed, kind, index) alone. All
//! names are invented.

use onehop_study::rng::{Stream, StreamRng};
use uuid::Uuid;

use crate::domain::ids::uuid_v7;

/// The most orders of a customer.
pub const ORDERS_PER_CUSTOMER_MAX: u32 = 28;
/// The most lines of an order.
pub const LINES_PER_ORDER_MAX: u32 = 7;
/// The most tags of a product.
pub const TAGS_PER_PRODUCT_MAX: u32 = 5;
/// One product of this number is sold out, except the first of each category.
const SOLD_OUT_EVERY: u32 = 25;

/// The number of categories.
const CATEGORIES: u32 = 37;
/// Customers for each product and each tag in the sample: 19,119 customers, 295 products, 200 tags.
const CUSTOMERS_PER_PRODUCT: u32 = 65;
const CUSTOMERS_PER_TAG: u32 = 96;
const PRODUCTS_MIN: u32 = 74;
const TAGS_MIN: u32 = 24;
/// As many as there are names.
const TAGS_MAX: u32 = 420;
/// The cheapest product of a kind by its usual price, and how many times as much the dearest costs.
const CHEAPEST: f64 = 0.6;
const PRICE_RATIO: f64 = 3.5;
/// Between the creations of two products. All products are older than the first order.
const PRODUCT_INTERVAL_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * 3_600_000;
/// Before the end of the data set: how long customers sign up, and order.
const YEARS_MS: i64 = 2 * 365 * DAY_MS;

/// Streams of random numbers. Their numbers are part of every data set that was ever made.
mod streams {
    use super::Stream;

    pub const CATEGORY: Stream = Stream(21);
    pub const TAG: Stream = Stream(22);
    pub const PRODUCT: Stream = Stream(23);
    pub const CUSTOMER: Stream = Stream(24);
    pub const ORDERS: Stream = Stream(25);
}

/// A kind of product: the category, the word in product names, and a usual price in whole units.
struct ProductKind {
    category: &'static str,
    thing: &'static str,
    usual_price: f64,
}

const fn kind(category: &'static str, thing: &'static str, usual_price: f64) -> ProductKind {
    ProductKind { category, thing, usual_price }
}

const KINDS: [ProductKind; 37] = [
    kind("Bells", "Bell", 14.0),
    kind("Pedals", "Pedals", 48.0),
    kind("Saddles", "Saddle", 62.0),
    kind("Lamps", "Lamp", 34.0),
    kind("Locks", "Lock", 45.0),
    kind("Pumps", "Pump", 29.0),
    kind("Baskets", "Basket", 38.0),
    kind("Gloves", "Gloves", 26.0),
    kind("Helmets", "Helmet", 72.0),
    kind("Jerseys", "Jersey", 54.0),
    kind("Socks", "Socks", 12.0),
    kind("Bottles", "Bottle", 11.0),
    kind("Racks", "Rack", 49.0),
    kind("Chains", "Chain", 24.0),
    kind("Brakes", "Brake", 58.0),
    kind("Wheels", "Wheel", 139.0),
    kind("Forks", "Fork", 220.0),
    kind("Frames", "Frame", 690.0),
    kind("Tyres", "Tyre", 36.0),
    kind("Tubes", "Tube", 7.0),
    kind("Cranks", "Crank", 95.0),
    kind("Levers", "Lever", 31.0),
    kind("Stems", "Stem", 42.0),
    kind("Grips", "Grips", 18.0),
    kind("Mirrors", "Mirror", 16.0),
    kind("Trailers", "Trailer", 310.0),
    kind("Bags", "Bag", 64.0),
    kind("Tools", "Tool", 23.0),
    kind("Stands", "Stand", 33.0),
    kind("Paints", "Paint", 15.0),
    kind("Cables", "Cable", 8.0),
    kind("Hubs", "Hub", 88.0),
    kind("Rims", "Rim", 57.0),
    kind("Spokes", "Spokes", 13.0),
    kind("Gears", "Gear", 76.0),
    kind("Horns", "Horn", 19.0),
    kind("Flags", "Flag", 6.0),
];
const COLOURS: [&str; 20] = [
    "amber", "black", "charcoal", "copper", "coral", "cream", "forest", "graphite", "ivory", "mint", "navy",
    "olive", "plum", "red", "rust", "sand", "silver", "sky", "slate", "teal",
];
/// The series of products, each with its promise.
const SERIES: [(&str, &str); 20] = [
    ("Anchor", "Made for daily use, and easy to fit"),
    ("Breeze", "Light enough to forget about"),
    ("Comet", "Fast, quiet and made to last"),
    ("Delta", "A plain design that goes with every bicycle"),
    ("Ember", "Warm to the touch, also in winter"),
    ("Falcon", "Tested on long descents"),
    ("Grove", "Made from renewable materials"),
    ("Harbour", "Shrugs off rain and salt"),
    ("Island", "Small enough for every pocket"),
    ("Junction", "Fits every common size, without tools"),
    ("Kestrel", "Polished by hand in small batches"),
    ("Lantern", "Easy to see at night"),
    ("Meadow", "Comes with all the parts you need"),
    ("North", "Built for cold mornings and rough roads"),
    ("Orchard", "A favourite of our workshop"),
    ("Pebble", "Round, simple and hard to break"),
    ("Quarry", "Heavy duty, for cargo and for families"),
    ("Ridge", "Made for gravel and mountain tracks"),
    ("Summit", "The choice of riders who count every gram"),
    ("Tide", "Repairable: every part can be replaced"),
];
const USES: [&str; 20] = [
    "cargo",
    "city",
    "commuting",
    "family",
    "folding",
    "gravel",
    "indoor",
    "kids",
    "mountain",
    "night",
    "racing",
    "rain",
    "road",
    "school",
    "summer",
    "touring",
    "trail",
    "travel",
    "winter",
    "workshop",
];
const GROUPS: [&str; 20] = [
    "basics",
    "bestsellers",
    "care",
    "classics",
    "comfort",
    "essentials",
    "extras",
    "favourites",
    "gifts",
    "kit",
    "news",
    "offers",
    "picks",
    "repair",
    "safety",
    "sets",
    "spares",
    "style",
    "upgrades",
    "value",
];
const FIRST_NAMES: [&str; 20] = [
    "Alba", "Bruno", "Clara", "Dario", "Elin", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leon",
    "Mila", "Nils", "Olga", "Pavel", "Rosa", "Sami", "Tilda", "Viktor",
];
const LAST_NAMES: [&str; 20] = [
    "Arden", "Bell", "Cole", "Dunn", "Ekman", "Frost", "Garde", "Holm", "Ibsen", "Jansen", "Koch", "Lund",
    "Moreau", "Nord", "Orlov", "Petri", "Quist", "Rossi", "Stone", "Tamm",
];
const CITIES: [(&str, &str); 6] = [
    ("Northport", "Canada"),
    ("Altstadt", "Germany"),
    ("Riverton", "United Kingdom"),
    ("Montclair", "France"),
    ("Seaview", "Australia"),
    ("Lakewood", "United States"),
];

/// A data set is its three parameters; copying it is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebstoreDataset {
    customers: u32,
    rng_seed: u64,
    end_ms: i64,
}

/// A category or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedMeta {
    pub id: Uuid,
    pub name: String,
}

/// A product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedProduct {
    pub id: Uuid,
    /// Index of its category.
    pub category: u32,
    pub sku: String,
    pub name: String,
    pub description: String,
    /// In cents.
    pub price: i64,
    /// Whether the product is out of stock.
    pub is_sold_out: bool,
    /// Indexes of its tags, each once.
    pub tags: Vec<u32>,
}

/// A customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedCustomer {
    pub id: Uuid,
    pub first_name: String,
    pub last_name: String,
    pub email_address: String,
    pub creation_ms: i64,
    pub city: &'static str,
    pub country: &'static str,
}

/// An order of a customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedOrder {
    pub id: Uuid,
    pub creation_ms: i64,
    /// Whether it is shipped, and when.
    pub ship_ms: Option<i64>,
    /// Index and quantity of each product.
    pub lines: Vec<(u32, u32)>,
}

impl WebstoreDataset {
    /// A data set with this many customers, which ends at this instant (Unix ms).
    #[must_use]
    pub fn new(customers: u32, rng_seed: u64, end_ms: i64) -> Self {
        Self { customers, rng_seed, end_ms }
    }

    #[must_use]
    pub fn customers(&self) -> u32 {
        self.customers
    }

    #[must_use]
    pub fn categories(&self) -> u32 {
        CATEGORIES
    }

    /// The number of tags, which grows with the customers.
    #[must_use]
    pub fn tags(&self) -> u32 {
        (self.customers / CUSTOMERS_PER_TAG).clamp(TAGS_MIN, TAGS_MAX)
    }

    /// The number of products, which grows with the customers.
    #[must_use]
    pub fn products(&self) -> u32 {
        (self.customers / CUSTOMERS_PER_PRODUCT).max(PRODUCTS_MIN)
    }

    /// A category.
    #[must_use]
    pub fn category(&self, index: u32) -> SeedMeta {
        let mut rng = self.rng(streams::CATEGORY, index);
        let name = KINDS[index as usize % KINDS.len()].category.to_owned();
        SeedMeta { id: uuid_v7(self.begin_ms(), &mut rng), name }
    }

    /// A tag.
    #[must_use]
    pub fn tag(&self, index: u32) -> SeedMeta {
        let mut rng = self.rng(streams::TAG, index);
        let (uses, groups) = (USES.len() as u32, GROUPS.len() as u32);
        let usage = USES[(index % uses) as usize];
        let name = match index / uses {
            0 => usage.to_owned(),
            round => format!("{usage} {}", GROUPS[((round - 1) % groups) as usize]),
        };
        SeedMeta { id: uuid_v7(self.begin_ms(), &mut rng), name }
    }

    /// A product. The first of each category are spread evenly, the others by a skewed law.
    #[must_use]
    pub fn product(&self, index: u32) -> SeedProduct {
        let mut rng = self.rng(streams::PRODUCT, index);
        let skewed = rng.fraction();
        let category = match index < CATEGORIES {
            true => index,
            false => ((skewed * skewed * skewed) * f64::from(CATEGORIES)) as u32,
        };
        let (colour, (series, promise)) = (*rng.pick(&COLOURS), *rng.pick(&SERIES));
        let ProductKind { thing, usual_price, .. } = KINDS[category as usize];
        let mut tags: Vec<u32> = Vec::new();
        for _ in 0..rng.below(TAGS_PER_PRODUCT_MAX + 1) {
            let tag = rng.below(self.tags());
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        SeedProduct {
            id: uuid_v7(
                self.begin_ms() - i64::from(self.products().saturating_sub(index)) * PRODUCT_INTERVAL_MS,
                &mut rng,
            ),
            category,
            sku: format!("{}-{:05}", thing[..2].to_uppercase(), index + 1),
            name: format!("{series} {thing}, {colour}"),
            description: format!("The {series} {} in {colour}. {promise}.", thing.to_lowercase()),
            price: price_below(usual_price * CHEAPEST * PRICE_RATIO.powf(rng.fraction())),
            is_sold_out: index >= CATEGORIES && index.is_multiple_of(SOLD_OUT_EVERY),
            tags,
        }
    }

    /// A customer.
    #[must_use]
    pub fn customer(&self, index: u32) -> SeedCustomer {
        let mut rng = self.rng(streams::CUSTOMER, index);
        let creation_ms = self.begin_ms() + rng.below_u64((YEARS_MS / 2) as u64) as i64;
        let (first_name, last_name) = (*rng.pick(&FIRST_NAMES), *rng.pick(&LAST_NAMES));
        let (city, country) = *rng.pick(&CITIES);
        SeedCustomer {
            id: uuid_v7(creation_ms, &mut rng),
            first_name: first_name.to_owned(),
            last_name: last_name.to_owned(),
            email_address: format!(
                "{}.{}.{}@example.com",
                first_name.to_lowercase(),
                last_name.to_lowercase(),
                index + 1
            ),
            creation_ms,
            city,
            country,
        }
    }

    /// The orders of a customer, oldest first. This many or more have one in the square of that number: 1.65
    /// in the mean.
    #[must_use]
    pub fn orders_of(&self, index: u32) -> Vec<SeedOrder> {
        let mut rng = self.rng(streams::ORDERS, index);
        let since_ms = self.customer(index).creation_ms;
        let share = (1.0 - rng.fraction()).powf(-0.5);
        let count = (share as u32).clamp(1, ORDERS_PER_CUSTOMER_MAX);
        let mut dates: Vec<i64> = (0..count)
            .map(|_| since_ms + rng.below_u64((self.end_ms - since_ms).max(1) as u64) as i64)
            .collect();
        dates.sort_unstable();
        dates.into_iter().map(|creation_ms| self.order(creation_ms, &mut rng)).collect()
    }

    fn order(&self, creation_ms: i64, rng: &mut StreamRng) -> SeedOrder {
        let shipped_ms = creation_ms + i64::from(rng.below(10) + 1) * DAY_MS;
        let lines = 1 + rng.below(LINES_PER_ORDER_MAX);
        SeedOrder {
            id: uuid_v7(creation_ms, rng),
            creation_ms,
            ship_ms: (shipped_ms < self.end_ms).then_some(shipped_ms),
            lines: (0..lines).map(|_| (rng.below(self.products()), 1 + rng.below(3))).collect(),
        }
    }

    fn begin_ms(&self) -> i64 {
        self.end_ms - YEARS_MS
    }

    fn rng(&self, stream: Stream, index: u32) -> StreamRng {
        StreamRng::new(self.rng_seed, stream, u64::from(index))
    }
}

/// A price in cents that ends with 95, at most 5 cents below a whole number of units.
fn price_below(units: f64) -> i64 {
    (units.round().max(1.0) as i64) * 100 - 5
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::ids::creation_ms;

    const END_MS: i64 = 1_767_225_600_000;

    #[test]
    fn the_same_seed_gives_the_same_data() {
        let (one, other) = (WebstoreDataset::new(9, 1, END_MS), WebstoreDataset::new(9, 2, END_MS));
        assert_eq!(one.customer(3), WebstoreDataset::new(9, 1, END_MS).customer(3));
        assert_eq!(one.orders_of(3), one.orders_of(3));
        assert_ne!(one.customer(3).id, other.customer(3).id);
    }

    #[test]
    fn the_shape_is_that_of_the_sample() {
        let dataset = WebstoreDataset::new(19_119, 1, END_MS);
        assert_eq!((dataset.products(), dataset.tags()), (294, 199));
        let counts: Vec<usize> = (0..4_000).map(|index| dataset.orders_of(index).len()).collect();
        let orders: usize = counts.iter().sum();
        assert!((5_600..7_400).contains(&orders), "{orders}");
        assert_eq!(counts.iter().max(), Some(&(ORDERS_PER_CUSTOMER_MAX as usize)));
        let mut links = 0;
        for index in 0..dataset.products() {
            let product = dataset.product(index);
            assert!((295..=145_000).contains(&product.price) && product.price % 100 == 95, "{product:?}");
            assert!(product.tags.len() <= TAGS_PER_PRODUCT_MAX as usize);
            links += product.tags.len();
        }
        assert!((600..900).contains(&links), "{links}");
    }

    #[test]
    fn each_product_is_newer_than_the_one_before() {
        let dataset = WebstoreDataset::new(500, 1, END_MS);
        let created: Vec<_> =
            (0..dataset.products()).map(|index| creation_ms(dataset.product(index).id)).collect();
        assert!(created.is_sorted_by(|one, next| one < next), "{created:?}");
        assert!(created.iter().all(|date| date.is_some_and(|date| date < dataset.begin_ms())));
    }

    #[test]
    fn names_of_categories_and_tags_and_addresses_are_distinct() {
        let dataset = WebstoreDataset::new(60_000, 1, END_MS);
        let tags: BTreeSet<String> = (0..dataset.tags()).map(|index| dataset.tag(index).name).collect();
        assert_eq!(tags.len(), dataset.tags() as usize);
        let categories: BTreeSet<String> =
            (0..dataset.categories()).map(|index| dataset.category(index).name).collect();
        assert_eq!(categories.len(), dataset.categories() as usize);
        let addresses: BTreeSet<String> =
            (0..500).map(|index| dataset.customer(index).email_address).collect();
        assert_eq!(addresses.len(), 500);
    }
}
