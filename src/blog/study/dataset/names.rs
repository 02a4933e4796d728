//! Usernames of the data set: ten demo users with short names, then a first and a last name for all others,
//! unique by construction. Names are common in many languages and mean no real person.

use super::streams;
use onehop_study::rng::stream_key;

/// The first users of every data set, for demos and documentation.
pub const DEMO_USERNAMES: [&str; 10] =
    ["ada", "grace", "nils", "mira", "theo", "ines", "otto", "yuki", "lena", "omar"];

/// Coprime to the number of pairs of names, so that multiplying by it visits each pair once.
const STRIDE: u64 = 1_000_003;

/// Each first name begins elsewhere among the last names, so that neighbours do not look like families.
const LAST_NAME_SHIFT: u64 = 37;

/// Appends the username of user `index`: `marta.lindqvist`, or `marta.lindqvist2` once all pairs are taken.
pub fn write_username(rng_seed: u64, index: u32, output: &mut String) {
    if let Some(name) = DEMO_USERNAMES.get(index as usize) {
        output.push_str(name);
        return;
    }
    let position = u64::from(index) - DEMO_USERNAMES.len() as u64;
    let (first_count, last_count) = (FIRST_NAMES.len() as u64, LAST_NAMES.len() as u64);
    let pairs = first_count * last_count;
    let offset = stream_key(rng_seed, streams::NAMES, 0) % pairs;
    let pair = (position % pairs * STRIDE + offset) % pairs;
    let first = pair % first_count;
    let last = (pair / first_count + first * LAST_NAME_SHIFT) % last_count;
    output.push_str(FIRST_NAMES[first as usize]);
    output.push_str(
        SEPARATORS[(stream_key(rng_seed, streams::NAMES, pair) % SEPARATORS.len() as u64) as usize],
    );
    output.push_str(LAST_NAMES[last as usize]);
    let round = position / pairs;
    if round > 0 {
        push_number(round + 1, output);
    }
}

fn push_number(number: u64, output: &mut String) {
    if number >= 10 {
        push_number(number / 10, output);
    }
    output.push(char::from(b'0' + (number % 10) as u8));
}

/// Mostly a full stop, now and then another permitted separator.
const SEPARATORS: [&str; 8] = [".", ".", ".", ".", ".", ".", "_", "-"];

#[rustfmt::skip]
const FIRST_NAMES: [&str; 150] = [
    "adele", "agnes", "aiko", "aino", "akira", "alba", "alma", "amara", "amir", "ana", "anders", "anja",
    "anouk", "anton", "aria", "arne", "arthur", "asha", "astrid", "aurora", "ayla", "basil", "beata", "bela",
    "bianca", "bodil", "bruno", "carla", "carmen", "celia", "chiara", "clara", "dalia", "dario", "david",
    "delia", "dina", "edda", "edith", "elena", "elif", "elio", "elsa", "emil", "enzo", "erik", "esme",
    "esther", "eva", "fabio", "farah", "felix", "fiona", "flora", "frida", "gala", "gemma", "gerda", "gita",
    "greta", "gustav", "hana", "hanna", "hedda", "hugo", "ida", "ilse", "imran", "inga", "irene", "iris",
    "isak", "ivan", "ivo", "jana", "jasper", "joana", "jonas", "jorge", "josefin", "julia", "juno", "kaito",
    "karim", "karin", "katya", "kenji", "kiran", "klara", "lars", "laura", "leif", "leila", "leo", "lidia",
    "liv", "lucia", "luis", "luka", "magnus", "maja", "malik", "marco", "marta", "mateo", "mathilda", "maya",
    "milan", "milo", "mina", "moira", "nadia", "naomi", "nina", "noor", "nora", "olga", "oscar", "pablo",
    "paula", "pavel", "petra", "pilar", "priya", "rafael", "rania", "rosa", "runa", "sami", "sanna", "selma",
    "sigrid", "silvia", "sofia", "stella", "sunniva", "tariq", "tessa", "thea", "tilda", "tomas", "tove",
    "ulla", "vera", "viktor", "viola", "wanda", "yara", "zara", "zofia",
];

#[rustfmt::skip]
const LAST_NAMES: [&str; 160] = [
    "abara", "adeyemi", "ahlgren", "almeida", "amano", "andrade", "arslan", "bakker", "baran", "barbosa",
    "bauer", "belmonte", "bergstrom", "bianchi", "birkeland", "bjork", "blanchet", "bondar", "borg", "brandt",
    "brook", "calder", "campos", "cardoso", "castell", "cermak", "chaudhry", "cordeiro", "costa", "dahl",
    "danso", "delgado", "demir", "dijkstal", "dubois", "duran", "eklund", "elstad", "engstrom", "escobedo",
    "espinosa", "fabre", "falk", "farkas", "ferreira", "fiala", "fischbach", "fjeld", "forsberg", "fuentes",
    "gallo", "garnier", "gruber", "gunnarsen", "haddad", "hagen", "halvorsen", "hamada", "hartwig", "hedlund",
    "heikkila", "herrero", "hofer", "holm", "horvath", "ibarra", "ishida", "ivers", "jansma", "joubert",
    "kaplan", "karlsen", "kaya", "keller", "kimura", "kivela", "kjeldsen", "klima", "koller", "kowal",
    "krause", "kubo", "kulkarni", "laine", "lambrecht", "larkin", "laurier", "lehto", "lemaire", "lindqvist",
    "lombard", "lund", "lysne", "machado", "maeda", "marchetti", "marek", "medeiros", "mehta", "meijer",
    "mendez", "mikkola", "miyake", "molina", "moreau", "mwangi", "nagy", "navarro", "niemi", "nilsen",
    "novak", "nowicki", "nyberg", "oduya", "okafor", "olander", "oliveira", "orlov", "osei", "ostberg",
    "paredes", "pereira", "petrov", "pinto", "prochazka", "quist", "ramires", "rasmus", "ricci", "riedel",
    "rinaldi", "rousset", "ruud", "saito", "salonen", "sandoval", "santos", "sauer", "seidel", "shah",
    "sikora", "skov", "soler", "sorensen", "steiner", "strand", "sundby", "suzuki", "tamm", "tanaka",
    "teixeira", "thorsen", "toth", "ueda", "vancura", "vidal", "virtanen", "weiland", "winther", "zeman",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::accounts::Username;

    fn username(index: u32) -> String {
        let mut output = String::new();
        write_username(7, index, &mut output);
        output
    }

    #[test]
    fn no_name_is_listed_twice() {
        assert_eq!(FIRST_NAMES.iter().collect::<HashSet<_>>().len(), FIRST_NAMES.len());
        assert_eq!(LAST_NAMES.iter().collect::<HashSet<_>>().len(), LAST_NAMES.len());
    }

    #[test]
    fn usernames_are_unique_among_fifty_thousand_users() {
        let names: HashSet<String> = (0..50_000).map(username).collect();
        assert_eq!(names.len(), 50_000);
    }

    #[test]
    fn usernames_can_be_chosen_and_none_looks_like_another() {
        let mut keys = HashSet::new();
        for index in 0..50_000 {
            let name = Username::choose(&username(index)).unwrap();
            assert!(name.keys().into_iter().all(|key| keys.insert(key)), "{name}");
        }
    }

    #[test]
    fn usernames_have_3_to_30_characters_of_the_allowed_set() {
        for index in (0..30_000).chain([u32::MAX - 1, u32::MAX]) {
            let name = username(index);
            assert!((3..=30).contains(&name.len()), "{name}");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte))
            );
        }
    }

    #[test]
    fn a_number_is_added_only_once_the_pairs_are_used_up() {
        let pairs = (FIRST_NAMES.len() * LAST_NAMES.len()) as u32;
        assert!(username(10 + pairs - 1).bytes().all(|byte| !byte.is_ascii_digit()));
        assert_eq!(username(10 + pairs), format!("{}2", username(10)));
        assert_eq!(username(10 + 11 * pairs), format!("{}12", username(10)));
    }
}
