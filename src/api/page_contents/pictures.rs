//! Generated pictures of posts, and avatars of users, as SVG elements. The id of the item
//! chooses motif, hue and composition. The application draws the same pictures (`web/src/ui/Picture.tsx`), so
//! nothing changes when it takes the page over; `picture-samples.json` there has samples for both.

use std::fmt::Write as _;

use crate::http::page_html::escaped;

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 120.0;

/// A generator of pseudo-random numbers (mulberry32), seeded by the hash of a text.
struct Seeded(u32);

impl Seeded {
    fn of(text: &str) -> Self {
        Self(hash_of(text))
    }

    /// The next number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6d2b_79f5);
        let state = self.0;
        let mut mixed = (state ^ (state >> 15)).wrapping_mul(state | 1);
        mixed ^= mixed.wrapping_add((mixed ^ (mixed >> 7)).wrapping_mul(mixed | 61));
        f64::from(mixed ^ (mixed >> 14)) / 4_294_967_296.0
    }

    /// The next choice, a number from 0 to below `choices`.
    fn choice(&mut self, choices: u32) -> u32 {
        let chosen = self.next() * f64::from(choices);
        (0..choices).rev().find(|choice| f64::from(*choice) <= chosen).unwrap_or(0)
    }
}

/// The 32-bit hash of a text (FNV-1a), over its UTF-16 code units.
pub(super) fn hash_of(text: &str) -> u32 {
    text.encode_utf16().fold(0x811c_9dc5, |hash, unit| (hash ^ u32::from(unit)).wrapping_mul(0x0100_0193))
}

/// The colours of one picture, from the palest to the strongest.
struct Palette {
    paper: String,
    pale: String,
    mid: String,
    strong: String,
    accent: String,
}

impl Palette {
    fn of_hue(hue: u32) -> Self {
        Self {
            paper: format!("hsl({hue} 36% 90%)"),
            pale: format!("hsl({hue} 38% 80%)"),
            mid: format!("hsl({} 40% 62%)", hue + 12),
            strong: format!("hsl({} 46% 36%)", hue + 24),
            accent: format!("hsl({} 66% 58%)", hue + 165),
        }
    }
}

type Motif = fn(&mut Seeded, &Palette, &mut String);

const MOTIFS: [Motif; 6] = [rings, hills, tiles, stripes, petals, dots];

/// The picture of the thing with this id, with further classes.
pub(super) fn picture(id: &str, class: &str) -> String {
    let shapes = shapes(id);
    format!(
        r#"<svg class="picture {class}" viewBox="0 0 160 120" preserveAspectRatio="xMidYMid slice" aria-hidden="true">{shapes}</svg>"#
    )
}

fn shapes(id: &str) -> String {
    let random = &mut Seeded::of(id);
    let motif = MOTIFS[random.choice(6) as usize];
    let colours = Palette::of_hue(random.choice(360));
    let mut out = format!(r#"<rect width="160" height="120" fill="{}"></rect>"#, colours.paper);
    motif(random, &colours, &mut out);
    out
}

/// The avatar of an account, in the size of a class.
pub(super) fn avatar(id: &str, name: &str, size: &str) -> String {
    let hue = hash_of(id) % 360;
    let initial = name.chars().find(|character| character.is_alphanumeric()).unwrap_or('?');
    let initial = escaped(&initial.to_uppercase().to_string());
    format!(
        r##"<svg class="avatar avatar-{size}" viewBox="0 0 40 40" aria-hidden="true"><circle cx="20" cy="20" r="20" fill="hsl({hue} 42% 34%)"></circle><path d="M 40 20 A 20 20 0 0 1 0 20 Q 20 34 40 20" fill="hsl({} 48% 42%)"></path><text x="20" y="26.5" text-anchor="middle" fill="#fff">{initial}</text></svg>"##,
        hue + 40
    )
}

fn put(out: &mut String, shape: std::fmt::Arguments<'_>) {
    out.write_fmt(shape).expect("a String takes all text");
}

fn circle(out: &mut String, x: f64, y: f64, radius: f64, fill: &str) {
    put(out, format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"></circle>"#));
}

fn rings(random: &mut Seeded, Palette { pale, mid, strong, accent, .. }: &Palette, out: &mut String) {
    let x = 50.0 + random.next() * 60.0;
    let y = 45.0 + random.next() * 40.0;
    for (radius, fill) in [(64.0, pale), (49.0, mid), (35.0, pale), (22.0, strong), (10.0, accent)] {
        circle(out, x, y, radius, fill);
    }
}

fn hills(random: &mut Seeded, Palette { pale, mid, strong, accent, .. }: &Palette, out: &mut String) {
    let x = 25.0 + random.next() * 110.0;
    let y = 24.0 + random.next() * 14.0;
    circle(out, x, y, 13.0, accent);
    for (base, fill) in [(46.0, pale), (66.0, mid), (88.0, strong)] {
        let heights: [f64; 5] = std::array::from_fn(|_| base + random.next() * 22.0);
        let curve = heights.windows(2).zip(1_u8..).map(|(pair, index)| {
            let x = f64::from(index) * 40.0;
            format!("C {} {}, {} {}, {x} {}", x - 20.0, pair[0], x - 20.0, pair[1], pair[1])
        });
        let curve = curve.collect::<Vec<_>>().join(" ");
        put(
            out,
            format_args!(r#"<path d="M 0 {} {curve} V {HEIGHT} H 0 Z" fill="{fill}"></path>"#, heights[0]),
        );
    }
}

fn tiles(random: &mut Seeded, Palette { pale, mid, strong, accent, .. }: &Palette, out: &mut String) {
    for cell in 0..12 {
        let (x, y) = ((cell % 4) * 40, (cell / 4) * 40);
        let turn = random.choice(4) * 90;
        let fill = [pale, mid, mid, strong, strong, accent][random.choice(6) as usize];
        put(
            out,
            format_args!(
                r#"<path d="M {x} {y} h 40 a 40 40 0 0 1 -40 40 Z" transform="rotate({turn} {} {})" fill="{fill}"></path>"#,
                x + 20,
                y + 20
            ),
        );
    }
}

fn stripes(random: &mut Seeded, Palette { pale, mid, strong, accent, .. }: &Palette, out: &mut String) {
    let slope = if random.next() > 0.5 { 1.0 } else { -1.0 };
    let turn = slope * (25.0 + random.next() * 20.0);
    put(out, format_args!(r#"<g transform="rotate({turn} {} {})">"#, WIDTH / 2.0, HEIGHT / 2.0));
    for (index, fill) in (0_u8..).zip([mid, pale, strong, pale, accent, mid, pale, strong]) {
        let x = -40.0 + f64::from(index) * 32.0 + random.next() * 8.0;
        let width = 8.0 + random.next() * 16.0;
        put(out, format_args!(r#"<rect x="{x}" y="-80" width="{width}" height="280" fill="{fill}"></rect>"#));
    }
    out.push_str("</g>");
}

fn petals(random: &mut Seeded, Palette { pale, mid, strong, accent, .. }: &Palette, out: &mut String) {
    let start = random.next() * 60.0;
    let count = 5 + random.choice(4);
    put(out, format_args!(r#"<g transform="translate({} {})">"#, WIDTH / 2.0, HEIGHT / 2.0));
    put(out, format_args!(r#"<circle r="56" fill="{pale}"></circle>"#));
    for index in 0..count {
        let fill = if index % 2 == 0 { mid } else { strong };
        let turn = start + f64::from(index * 360) / f64::from(count);
        put(
            out,
            format_args!(
                r#"<ellipse cy="-28" rx="11" ry="24" fill="{fill}" transform="rotate({turn})"></ellipse>"#
            ),
        );
    }
    put(out, format_args!(r#"<circle r="11" fill="{accent}"></circle></g>"#));
}

fn dots(random: &mut Seeded, Palette { mid, strong, accent, .. }: &Palette, out: &mut String) {
    let focus_x = random.next() * WIDTH;
    let focus_y = random.next() * HEIGHT;
    let special = random.choice(35);
    for index in 0..35 {
        let (x, y) = (f64::from(20 + (index % 7) * 20), f64::from(20 + (index / 7) * 20));
        let (dx, dy) = (x - focus_x, y - focus_y);
        let near = (1.0 - (dx * dx + dy * dy).sqrt() / 130.0).max(0.0);
        match index == special {
            true => circle(out, x, y, 9.0, accent),
            false => circle(out, x, y, 2.0 + near * 8.0, if near > 0.5 { strong } else { mid }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Ids and the shapes that the application draws for them.
    const SAMPLES: &str = include_str!("../../../web/src/ui/picture-samples.json");

    #[test]
    fn pictures_are_the_applications() {
        let samples: BTreeMap<String, String> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 12, "every motif is drawn");
        for (id, expected) in samples {
            assert_eq!(shapes(&id), expected, "{id}");
        }
    }

    #[test]
    fn avatars_have_the_first_letter_of_a_name() {
        assert!(avatar("a", "_ada", "small").contains(">A</text>"));
        assert!(avatar("a", "<", "small").contains(">?</text>"));
    }
}
