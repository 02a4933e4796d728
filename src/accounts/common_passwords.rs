//! Common passwords: refuses a new password that a guesser tries first. It is one if a few characters at most
//! are left of it once its common parts are taken out: common words, keyboard walks, sequences, repeated
//! characters, years, and the username. The parts are patterns and a list of our own; nothing is sent
//! anywhere.

use std::sync::LazyLock;

/// Common parts that a password may be made of and still be common: two words are 65,536 guesses.
const PARTS_MAX: usize = 2;
/// Characters beside the common parts, for instance the digits after a word.
const FILLERS_MAX: usize = 4;
/// The least number of distinct characters; a password of fewer is common.
const DISTINCT_CHARS_MIN: usize = 4;
/// The shortest part that is a walk, a sequence or a repetition.
const PATTERN_CHARS_MIN: usize = 3;
/// A longer password has more beside its common parts than [`FILLERS_MAX`], or is a repetition.
const CHARS_LOOKED_AT_MAX: usize = 64;

/// Rows and columns of keyboards, which people walk in both directions.
const WALKS: [&str; 14] = [
    "1234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "qazwsxedcrfvtgbyhnujmikolp",
    "!@#$%^&*()",
    "йцукенгшщзхъ",
];

/// Words that passwords are made of, in lower case.
const WORDS: &str = "\
    password passwort passwd passw pass secret letmein welcome admin administrator login master monkey dragon sunshine princess \
    football baseball basketball hockey soccer tennis golf superman batman spiderman pokemon starwars iloveyou iloveu love lovely \
    lover trustno shadow michael jordan jessica ashley daniel andrew charlie thomas robert jennifer michelle nicole hunter ranger \
    buster killer george computer internet server samsung google facebook twitter instagram youtube amazon microsoft windows linux \
    ubuntu apple iphone android summer winter spring autumn monday tuesday wednesday thursday friday saturday sunday january \
    february march april may june july august september october november december flower flowers cookie chocolate banana orange \
    purple yellow silver golden diamond freedom whatever nothing forever family friends friend angel angels baby babygirl babyboy \
    tigger ginger pepper cheese matrix phoenix eagle tiger lion mustang ferrari porsche mercedes corvette harley yankees liverpool \
    arsenal chelsea barcelona juventus madrid united hello hallo bonjour hola salut ciao test testing tester guest user default \
    changeme temp temporary sample example demo onehop access system root money lucky happy smile jesus christ heaven god blessed \
    london paris berlin america american canada india china japan germany france england brazil mexico russia anthony joshua \
    matthew william david james richard joseph charles christopher alexander benjamin samuel amanda melissa stephanie samantha \
    elizabeth maria anna sophie laura julia marina natasha carlos antonio francisco alejandro ninja hacker gandalf hobbit frodo \
    pirate cowboy maverick thunder lightning storm snoopy garfield mickey minnie mouse donald winnie pooh bear kitty kitten puppy \
    doggie doggy dolphin rabbit turtle butterfly spider snake falcon panther scorpion steelers cowboys packers patriots lakers \
    celtics jesus1 qwert asdf zxcv abcd abc xyz query blink nirvana metallica slipknot eminem rockstar music guitar piano dancer \
    dance movie cinema school college student teacher doctor police soldier captain general major king queen prince knight wizard \
    magic merlin oscar toby max bailey sammy rocky jackson austin dallas denver boston chicago texas florida michigan peanut \
    coffee cookies pizza burger beer wine vodka whisky tequila sugar honey candy sweet sexy hottie loveme kissme fuckyou fuck \
    bitch asshole merlin1 starter secure security private public office work company business manager boss number";

/// The words, each by itself: every place of a password is compared with all of them.
static EACH_WORD: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.split_whitespace().collect());

/// Whether a guesser tries this password first. The username belongs to the account.
#[must_use]
pub(super) fn is_common(password: &str, username: &str) -> bool {
    let typed: Vec<char> = password.chars().flat_map(char::to_lowercase).collect();
    let unit = repeated_unit(&typed);
    let distinct: std::collections::HashSet<&char> = typed.iter().collect();
    if distinct.len() < DISTINCT_CHARS_MIN || unit.len() < typed.len() && unit.len() <= FILLERS_MAX + 1 {
        return true;
    }
    if unit.len() > CHARS_LOOKED_AT_MAX {
        return false;
    }
    let username: Vec<char> = username.chars().flat_map(char::to_lowercase).collect();
    is_made_of_common_parts(unit, &username)
}

/// The shortest text that the password repeats, at the end perhaps in part.
fn repeated_unit(typed: &[char]) -> &[char] {
    let repeats = |length: &usize| typed.iter().zip(&typed[*length..]).all(|(one, next)| one == next);
    let length = (1..=typed.len() / 2).find(repeats).unwrap_or(typed.len());
    &typed[..length]
}

/// The fewest parts and fillers up to each place, by dynamic programming: for each number of parts the fewest
/// fillers.
fn is_made_of_common_parts(typed: &[char], username: &[char]) -> bool {
    let reversed: Vec<char> = username.iter().rev().copied().collect();
    let nothing_yet = [None; PARTS_MAX + 1];
    let mut fewest = vec![nothing_yet; typed.len() + 1];
    fewest[0][0] = Some(0);
    for start in 0..typed.len() {
        let rest = &typed[start..];
        let ends = part_ends(rest, &[username, &reversed]);
        for parts in 0..=PARTS_MAX {
            let Some(fillers) = fewest[start][parts] else { continue };
            if fillers < FILLERS_MAX {
                lower(&mut fewest[start + 1][parts], fillers + 1);
            }
            for length in ends.iter().filter(|_| parts < PARTS_MAX) {
                lower(&mut fewest[start + length][parts + 1], fillers);
            }
        }
    }
    // Something common has to be in it.
    fewest[typed.len()][1..].iter().any(Option::is_some)
}

fn lower(place: &mut Option<usize>, fillers: usize) {
    *place = Some(place.map_or(fillers, |known| known.min(fillers)));
}

/// The lengths of the common parts with which a text begins.
fn part_ends(rest: &[char], usernames: &[&[char]]) -> Vec<usize> {
    let words = EACH_WORD.iter().filter(|word| begins_with_word(rest, word)).map(|word| word.len());
    let names = usernames.iter().filter(|name| name.len() >= PATTERN_CHARS_MIN && rest.starts_with(name));
    let patterns = [run(rest, 0), run(rest, 1), run(rest, -1), walk(rest)];
    let patterns = patterns.into_iter().flat_map(|longest| PATTERN_CHARS_MIN..=longest);
    let year = begins_with_year(rest).then_some(4);
    words.chain(names.map(|name| name.len())).chain(patterns).chain(year).collect()
}

fn begins_with_word(rest: &[char], word: &str) -> bool {
    rest.len() >= word.len() && word.chars().zip(rest).all(|(letter, typed)| stands_for(*typed, letter))
}

/// A year of the last century or of this one.
fn begins_with_year(rest: &[char]) -> bool {
    matches!(rest, ['1', '9', decade, year, ..] | ['2', '0', decade, year, ..]
        if decade.is_ascii_digit() && year.is_ascii_digit())
}

/// Digits and signs that people write for letters.
fn stands_for(typed: char, letter: char) -> bool {
    typed == letter
        || matches!(
            (typed, letter),
            ('0', 'o')
                | ('1' | '!' | '|', 'i' | 'l')
                | ('3', 'e')
                | ('4' | '@', 'a')
                | ('5' | '$', 's')
                | ('7' | '+', 't')
                | ('8', 'b')
                | ('9', 'g')
        )
}

/// The length of the run in these steps of code points: 0 repeats, 1 and -1 are sequences.
fn run(rest: &[char], step: i64) -> usize {
    let next = |pair: &[char]| i64::from(u32::from(pair[1])) - i64::from(u32::from(pair[0])) == step;
    rest.windows(2).take_while(|pair| next(pair)).count() + 1
}

/// The length of the text's walk over a keyboard.
fn walk(rest: &[char]) -> usize {
    let along = |keys: Vec<char>| {
        let starts = (0..keys.len()).filter(|start| rest.first() == Some(&keys[*start]));
        starts
            .map(|start| keys[start..].iter().zip(rest).take_while(|(key, typed)| key == typed).count())
            .max()
    };
    let both_ways = |row: &&str| [row.chars().collect(), row.chars().rev().collect()];
    WALKS.iter().flat_map(both_ways).filter_map(along).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_guessers_try_first_is_common() {
        for password in [
            "1111111111",
            "aaaaaaaaaaaa",
            "ababababab",
            "abcabcabcabc",
            "1212121212",
            "1234567890",
            "0987654321",
            "0123456789",
            "abcdefghij",
            "qwertyuiop",
            "QWERTZUIOP",
            "poiuytrewq",
            "1q2w3e4r5t",
            "1qaz2wsx3edc",
            "qwerty12345",
            "asdfghjkl;",
            "password123",
            "Password1!",
            "p@ssw0rd2024",
            "passwordpassword",
            "iloveyou12",
            "welcome2025",
            "Summer2024!",
            "letmein1234",
            "dragon!sunshine",
            "administrator",
            "football99",
            "123456abcdef",
            "qwertyqwerty",
            "aaaaabbbbb",
            "1111122222",
            "pass1234word",
            "yxcvbnm123",
        ] {
            assert!(is_common(password, "somebody"), "{password}");
        }
    }

    #[test]
    fn the_username_is_no_password() {
        for password in
            ["ada.lovelace", "Ada.Lovelace1", "ecalevol.ada", "ada.lovelace2024", "ada.lovelaceada.lovelace"]
        {
            assert!(is_common(password, "ada.lovelace"), "{password}");
            assert!(!is_common(password, "grace") || password.len() > 20, "{password}");
        }
    }

    #[test]
    fn passwords_of_their_own_are_taken() {
        for password in [
            "correct horse",
            "one and two",
            "a long password",
            "kumquat-zeppelin-94",
            "one-hop-at-a-time",
            "only for the load run",
            "vX8#pq2Lm!z",
            "not the password",
            "tr0ub4dor&3xy",
            "ένας κωδικός",
            "山田たろうの犬です",
            "4815162342",
            "zebra lamp kitchen",
            "password of my own choice",
        ] {
            assert!(!is_common(password, "ada"), "{password}");
        }
    }

    #[test]
    fn the_longest_password_is_looked_at_quickly() {
        assert!(is_common(&"a".repeat(200), "ada"));
        assert!(is_common(&"password".repeat(25), "ada"));
        assert!(!is_common(&"password and something else ".repeat(3), "ada"));
    }
}
