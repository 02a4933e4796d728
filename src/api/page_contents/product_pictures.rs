//! Drawings of products as SVG elements, from words of their names: "Bell" gives the shape and "amber" the
//! colour. The application draws from the same file of shapes (`web/src/shop/product-drawing.ts`), so nothing
//! changes when it takes the page over; `product-picture-samples.json` there has samples for both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

use super::pictures::hash_of;

/// Shapes and colours by their words.
const DRAWINGS: &str = include_str!("../../../web/src/shop/product-shapes.json");
/// The shape for names without a known word.
const DEFAULT_SHAPE: &str = "parcel";
/// The colour of a name without a known colour: any hue, with this saturation and lightness.
const UNNAMED_COLOUR: (u32, u32) = (46, 46);

static SHAPES: LazyLock<Drawings> =
    LazyLock::new(|| serde_json::from_str(DRAWINGS).expect("the program was tested with its drawings"));

#[derive(Deserialize)]
struct Drawings {
    colours: BTreeMap<String, Hsl>,
    accents: Vec<Hsl>,
    neutrals: BTreeMap<String, String>,
    shapes: BTreeMap<String, Vec<Part>>,
}

/// Hue in degrees, saturation and lightness in percent.
#[derive(Deserialize, Clone, Copy)]
struct Hsl(u32, u32, u32);

impl Hsl {
    fn text(self) -> String {
        let Self(hue, saturation, lightness) = self;
        format!("hsl({hue} {saturation}% {lightness}%)")
    }
}

/// A path in a colour of the palette: filled, or a line of a width.
#[derive(Deserialize)]
struct Part {
    tone: String,
    d: String,
    line: Option<f64>,
}

/// The colours of one product.
struct Palette {
    body: String,
    shade: String,
    light: String,
    accent: String,
}

impl Palette {
    fn of(name: &str) -> Self {
        let hash = hash_of(name);
        let (saturation, lightness) = UNNAMED_COLOUR;
        let named = words(name).find_map(|word| SHAPES.colours.get(&word).copied());
        let body = named.unwrap_or(Hsl(hash % 360, saturation, lightness));
        let Hsl(hue, saturation, lightness) = body;
        Self {
            body: body.text(),
            shade: Hsl(hue, saturation, lightness.saturating_sub(11).max(8)).text(),
            light: Hsl(hue, saturation, (lightness + 16).min(94)).text(),
            accent: SHAPES.accents[hash as usize % SHAPES.accents.len()].text(),
        }
    }

    fn colour(&self, tone: &str) -> &str {
        match tone {
            "body" => &self.body,
            "shade" => &self.shade,
            "light" => &self.light,
            "accent" => &self.accent,
            neutral => SHAPES.neutrals.get(neutral).map_or("", String::as_str),
        }
    }
}

/// The picture of the product or category with this name, with further classes. The name of the product's
/// category serves where its own has no known word.
pub(super) fn product_picture(name: &str, category: &str, class: &str) -> String {
    let palette = Palette::of(name);
    let shape = shape_of(name).or_else(|| shape_of(category)).or_else(|| SHAPES.shapes.get(DEFAULT_SHAPE));
    let mut out = format!(
        concat!(
            r#"<svg class="picture product-shot {class}" viewBox="0 0 160 120" "#,
            r#"preserveAspectRatio="xMidYMid slice" aria-hidden="true">"#,
            r#"<rect class="shot-ground" width="160" height="120"></rect>"#,
            r#"<circle cx="80" cy="60" r="54" fill="{halo}" opacity="0.28"></circle>"#,
            r#"<ellipse class="shot-shadow" cx="80" cy="108" rx="50" ry="4"></ellipse>"#,
        ),
        class = class,
        halo = palette.light,
    );
    for Part { tone, d, line } in shape.into_iter().flatten() {
        let colour = palette.colour(tone);
        let written = match line {
            None => write!(out, r#"<path d="{d}" fill="{colour}"></path>"#),
            Some(width) => write!(
                out,
                r#"<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round"></path>"#
            ),
        };
        written.expect("a String takes all text");
    }
    out.push_str("</svg>");
    out
}

/// The shape of the first word that names one, in the singular or in the plural.
fn shape_of(name: &str) -> Option<&'static Vec<Part>> {
    words(name).find_map(|word| {
        let singular = word.strip_suffix('s').unwrap_or(&word);
        SHAPES.shapes.get(&word).or_else(|| SHAPES.shapes.get(singular))
    })
}

/// The words of a name in small Latin letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let words = name.split(|character: char| !character.is_ascii_alphabetic());
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webstore::dataset::WebstoreDataset;

    /// Names and the pictures that the application draws for them.
    const SAMPLES: &str = include_str!("../../../web/src/shop/product-picture-samples.json");

    #[derive(Deserialize)]
    struct Sample {
        name: String,
        category: String,
        drawn: String,
    }

    #[test]
    fn pictures_of_products_are_the_applications() {
        let samples: Vec<Sample> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 6, "each way to a shape is drawn");
        for Sample { name, category, drawn } in samples {
            assert_eq!(product_picture(&name, &category, ""), drawn, "{name}");
        }
    }

    #[test]
    fn every_product_of_the_data_set_has_its_shape_and_colour() {
        let dataset = WebstoreDataset::new(4_000, 1, 1_767_225_600_000);
        for index in 0..dataset.products() {
            let product = dataset.product(index);
            let category = dataset.category(product.category).name;
            let shapes = (shape_of(&product.name), shape_of(&category));
            let (Some(shape), Some(of_category)) = shapes else { panic!("{}", product.name) };
            assert!(std::ptr::eq(shape, of_category), "{} in {category}", product.name);
            assert!(words(&product.name).any(|word| SHAPES.colours.contains_key(&word)), "{}", product.name);
        }
    }
}
