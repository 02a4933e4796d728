//! Names of types and fields from names of files and properties.

/// Names that belong to the model language.
const RESERVED: [&str; 14] = [
    "Query",
    "Mutation",
    "Subscription",
    "Node",
    "PageInfo",
    "Money",
    "String",
    "Int",
    "Float",
    "Boolean",
    "ID",
    "DateTime",
    "Decimal",
    "Any",
];

/// Partition keys without another meaning, in small letters without other characters.
pub(super) const PARTITION_KEYS: [&str; 2] = ["pk", "partitionkey"];

/// The type of a file: `sales-orders.jsonl` gives `SalesOrder`.
pub(super) fn type_name(stem: &str) -> String {
    let name: String = words(stem).iter().map(|word| capital(word)).collect();
    let name = singular(&name);
    let name = if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("Item{name}")
    } else {
        name
    };
    if RESERVED.contains(&name.as_str()) { format!("{name}Item") } else { name }
}

/// The field of a property: `order_date` gives `orderDate`.
pub(super) fn field_name(property: &str) -> String {
    // A word in capital letters is an abbreviation: `GP_ID`.
    let is_small = |word: &&str| word.len() > 1 && !word.bytes().any(|letter| letter.is_ascii_lowercase());
    let word = |word: &str| if is_small(&word) { word.to_ascii_lowercase() } else { word.to_owned() };
    let words: Vec<String> = words(property).into_iter().map(word).collect();
    let Some((first, rest)) = words.split_first() else { return "value".to_owned() };
    let mut name = small(first);
    rest.iter().for_each(|word| name.push_str(&capital(word)));
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("value{name}") } else { name }
}

/// Whether a model can name a property. Others are left out.
pub(super) fn is_path(property: &str) -> bool {
    let is_bad = |character: char| character.is_control() || matches!(character, '"' | '\\' | '/');
    !property.is_empty() && !property.contains(is_bad)
}

/// The type's name with a small first letter.
pub(super) fn small(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().iter().map(char::to_ascii_lowercase).chain(characters).collect()
}

/// The type's name with a capital first letter.
pub(super) fn capital(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().iter().map(char::to_ascii_uppercase).chain(characters).collect()
}

/// Plurals of words that end with `ie`.
const PLURALS_OF_IE: [&str; 9] =
    ["movies", "cookies", "zombies", "calories", "selfies", "rookies", "ties", "pies", "lies"];
/// Words whose plural has the same form.
const ONE_FORM: [&str; 3] = ["series", "species", "news"];

/// Whether the last word of a name is one of these: `TVSeries`, `series`.
fn ends_with_word(name: &str, words: &[&str]) -> bool {
    let lower = name.to_ascii_lowercase();
    words.iter().any(|word| {
        let before = lower.strip_suffix(word).map(str::len);
        before.is_some_and(|place| place == 0 || name.as_bytes()[place].is_ascii_uppercase())
    })
}

/// `Category` gives `Categories`.
pub(super) fn plural(name: &str) -> String {
    if ends_with_word(name, &ONE_FORM) {
        return name.to_owned();
    }
    let ends = |end: &str| name.ends_with(end);
    let before_y = name.len().checked_sub(2).and_then(|place| name.get(place..place + 1));
    match name.strip_suffix('y') {
        Some(stem) if before_y.is_some_and(|letter| !"aeiou".contains(letter)) => format!("{stem}ies"),
        _ if ends("s") || ends("x") || ends("ch") || ends("sh") => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

pub(super) fn singular(name: &str) -> String {
    if ends_with_word(name, &ONE_FORM) {
        return name.to_owned();
    }
    if ends_with_word(name, &PLURALS_OF_IE) {
        return name[..name.len() - 1].to_owned();
    }
    if let Some(stem) = name.strip_suffix("ies") {
        return format!("{stem}y");
    }
    if ["sses", "xes", "ches", "shes"].iter().any(|end| name.ends_with(end)) {
        return name[..name.len() - 2].to_owned();
    }
    let keeps = name.ends_with("ss") || name.ends_with("us") || name.ends_with("is");
    match name.strip_suffix('s') {
        Some(stem) if !keeps && !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Whether a name ends as those of ids: `customerId`, `GP_ID`, `order_ref`, `watcherIds`.
pub(super) fn is_id_name(property: &str) -> bool {
    id_stem(&field_name(property)).is_some()
}

/// Whether a number of this name counts items: `upVotes`, `orders`.
pub(super) fn is_count_name(property: &str) -> bool {
    let name = field_name(property);
    !is_id_name(property) && singular(&name) != name
}

/// A name without the end of an id.
pub(super) fn id_stem(name: &str) -> Option<&str> {
    let ends = ["Ids", "IDs", "Id", "ID", "Uuid", "UUID", "Guid", "Ref", "Refs", "Key", "Code"];
    ends.iter().find_map(|end| name.strip_suffix(end)).filter(|stem| !stem.is_empty())
}

/// A name in small letters, without other characters than letters and digits of ASCII.
pub(super) fn plain_letters(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "").to_lowercase()
}

/// The parts of a name between other characters than ASCII letters and digits.
fn words(text: &str) -> Vec<&str> {
    text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// `customerId`, `customer_id` and `customer` give `customer`; an array `watcherIds` gives `watchers`.
pub(super) fn reference_name(property: &str, is_list: bool) -> String {
    let name = field_name(property);
    let stem = id_stem(&name).unwrap_or(&name);
    if is_list { plural(&singular(stem)) } else { stem.to_owned() }
}

/// How much of a type's name a property has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMatch {
    /// The last words of one are the other: `iso_country` of `Country`, `order` of `SalesOrder`.
    LastWords,
    /// `countryId` of `Country`.
    Whole,
}

/// Compares a property with the name of a type; `None` where neither ends with the other.
pub(super) fn name_match(property: &str, ty: &str) -> Option<NameMatch> {
    let reference = singular(&reference_name(property, false));
    let (lower, lower_type) = (reference.to_lowercase(), ty.to_lowercase());
    if property.to_lowercase() == format!("{lower_type}name") {
        return None;
    }
    if lower == lower_type {
        return Some(NameMatch::Whole);
    }
    let ends = ends_with_words(ty, &lower) || ends_with_words(&capital(&reference), &lower_type) || {
        // Headings in small letters have no words: `parentcategory`.
        reference == lower && lower.ends_with(&lower_type) && ty.len() >= LETTERS_OF_A_NAME
    };
    ends.then_some(NameMatch::LastWords)
}

/// The shortest type name for the end of a word: `message` is no `Age`.
const LETTERS_OF_A_NAME: usize = 4;

/// Whether the last words of a name in camel case are these, in small letters.
fn ends_with_words(name: &str, words: &str) -> bool {
    let before = name.len().checked_sub(words.len());
    before.is_some_and(|place| {
        !words.is_empty()
            && name.is_char_boundary(place)
            && name.as_bytes()[place].is_ascii_uppercase()
            && name[place..].to_lowercase() == words
    })
}

/// Common names of ids and labels.
const COMMON_IDS: [&str; 17] = [
    "id", "uuid", "guid", "key", "code", "sku", "isbn", "ean", "slug", "number", "no", "nr", "day", "name",
    "title", "label", "email",
];

/// Whether a property has the name of another type's id, and no common name: `tailnum`.
pub(super) fn is_id_of(property: &str, id: &str) -> bool {
    let (property, id) = (field_name(property).to_lowercase(), field_name(id).to_lowercase());
    property == id && !COMMON_IDS.contains(&id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_and_properties_become_names_of_the_model() {
        let types = ["customers", "sales-orders", "categories", "boxes", "status", "2024_addresses", "nodes"];
        assert_eq!(
            types.map(type_name),
            ["Customer", "SalesOrder", "Category", "Box", "Status", "Item2024Address", "NodeItem"]
        );
        assert_eq!(
            ["order_date", "orderDate", "X-Total", "3d", "GP_ID", "PatientID"].map(field_name),
            ["orderDate", "orderDate", "xTotal", "value3d", "gpId", "patientID"]
        );
        assert_eq!(
            ["Category", "Day", "Box", "Order", "Movie", "TvSeries"].map(plural),
            ["Categories", "Days", "Boxes", "Orders", "Movies", "TvSeries"]
        );
        let plurals = ["movies", "tv-series", "neckTies", "properties", "species"];
        assert_eq!(plurals.map(type_name), ["Movie", "TvSeries", "NeckTie", "Property", "Species"]);
    }

    #[test]
    fn a_property_is_compared_with_a_type_by_whole_words() {
        let of = |property: &str, ty: &str| name_match(property, ty);
        for (property, ty) in
            [("countryId", "Country"), ("sales_order_id", "SalesOrder"), ("ORDERS", "Order")]
        {
            assert_eq!(of(property, ty), Some(NameMatch::Whole), "{property} of {ty}");
        }
        for (property, ty) in
            [("iso_country", "Country"), ("orderId", "SalesOrder"), ("parentcategory", "Category")]
        {
            assert_eq!(of(property, ty), Some(NameMatch::LastWords), "{property} of {ty}");
        }
        for (property, ty) in
            [("y", "Country"), ("message", "Age"), ("der", "Order"), ("countryName", "Country"), ("", "Day")]
        {
            assert_eq!(of(property, ty), None, "{property} of {ty}");
        }
        assert!(is_id_of("TailNum", "tail_num") && !is_id_of("code", "code") && !is_id_of("Id", "id"));
    }

    #[test]
    fn names_of_ids_have_the_end_of_one() {
        assert_eq!(
            ["UpVotes", "orders", "order_ids", "status"].map(is_count_name),
            [true, true, false, false]
        );
        let is_of_id = ["PatientID", "sku_code", "paid", "id"].map(is_id_name);
        assert_eq!(is_of_id, [true, true, false, false]);
    }
}
