//! The pages of the web store: the catalogue, the products of a category or tag, and a product.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::blog::put;
use super::formats::{Price, counted};
use super::product_pictures::product_picture;
use super::{Found, Reader, searches};
use crate::http::page_html::{escaped, escaped_lines};
use crate::http::pages::{EmbeddedResponse, PageHead, PageKind, ShownPage};

/// Products of the first page of a list, as the application asks for them.
const LIST_PRODUCTS: u32 = 60;
/// The categories of which the catalogue shows products, and how many of each.
const PICKED_CATEGORIES: usize = 4;
const PICKED_PRODUCTS: u32 = 2;
/// The related products of a product's page, and how many are read, since the list has the product itself.
const RELATED_PRODUCTS: usize = 4;
const READ_RELATED: u32 = 5;
const DAY_MS: i64 = 86_400_000;

const BEGIN: &str = concat!(
    r#"<main id="page" class="page page-wide" tabindex="-1"><nav class="shop-bar" aria-label="Shop">"#,
    r#"<a href="/shop">Catalogue</a><a href="/shop/orders">Orders</a><a href="/shop/cart">"#,
    r#"<svg class="cart-icon" viewBox="0 0 24 24" aria-hidden="true">"#,
    r#"<path d="M3 4h2.2l2.3 11.2h10.4L20 7H6"></path><circle cx="9" cy="19.5" r="1.4"></circle>"#,
    r#"<circle cx="16.5" cy="19.5" r="1.4"></circle></svg> Cart </a></nav>"#,
);

/// The place of the button of a card.
const ADD_TO_CART_IN_CARD: &str = r#"<div class="quick-add awaits-script"><span class="button button-plain">Add to cart</span><p></p></div>"#;
const SOLD_OUT_IN_CARD: &str = r#"<div class="quick-add"><p class="sold-out">Sold out</p></div>"#;
/// On the page of a product.
const SOLD_OUT: &str = r#"<p class="sold-out">Sold out</p>"#;
/// The place of the form of the application.
const ADD_TO_CART: &str = concat!(
    r#"<div class="add-to-cart awaits-script" aria-hidden="true"><div class="field"><span>Quantity</span>"#,
    r#"<input type="number" disabled="" /></div><span class="button">Add to cart</span>"#,
    r#"<p class="add-to-cart-done"></p></div>"#,
);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CatalogueData {
    pub(super) product_categories: Vec<Named>,
    product_tags: Vec<Named>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
    name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProductsData {
    node: Option<List>,
}

#[derive(Debug, Deserialize)]
pub(super) struct List {
    #[serde(rename = "__typename")]
    kind: String,
    name: String,
    products: Products,
}

#[derive(Debug, Deserialize)]
struct Products {
    nodes: Vec<ProductCard>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProductCard {
    id: String,
    name: String,
    price: Price,
    is_sold_out: bool,
    category: Named,
    tags: Vec<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchData {
    search_products: Vec<ProductCard>,
}

#[derive(Debug, Deserialize)]
struct ProductData {
    product: Option<Product>,
}

#[derive(Debug, Deserialize)]
struct Product {
    #[serde(flatten)]
    card: ProductCard,
    sku: String,
    description: String,
}

/// The kind of a list of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedBy {
    Category,
    Tag,
}

impl List {
    /// The ids of the products.
    pub(super) fn product_ids(&self) -> impl Iterator<Item = &str> {
        self.products.nodes.iter().map(|product| product.id.as_str())
    }
}

impl ProductsData {
    /// The list, where the node is one.
    pub(super) fn list(self) -> Option<List> {
        self.node
    }
}

impl Reader<'_> {
    /// The first products of a category or tag.
    pub(super) async fn products(
        &self,
        id: &str,
        first: u32,
    ) -> Result<(Option<List>, EmbeddedResponse), super::Unread> {
        let (data, embedded): (ProductsData, _) =
            self.ask("Products", json!({ "id": id, "first": first })).await?;
        Ok((data.list(), embedded))
    }
}

/// The catalogue: products of some categories, all categories and all tags.
pub(super) async fn catalogue(reader: &Reader<'_>, now_ms: i64) -> Found<ShownPage> {
    let (CatalogueData { product_categories: categories, product_tags: tags }, response) =
        reader.catalogue().await?;
    let mut embedded = vec![response];
    let mut html =
        format!(r#"{BEGIN}<header class="shop-intro"><h1>Shop</h1></header><div class="catalogue">"#);
    if !categories.is_empty() {
        html.push_str(
            r#"<section><h2>Picks of the day</h2><ul class="product-grid" aria-label="Picks of the day">"#,
        );
        for category in chosen_of_day(&categories, PICKED_CATEGORIES, now_ms) {
            // Without the products of a category the application asks for them.
            let Ok((Some(list), response)) = reader.products(&category.id, PICKED_PRODUCTS).await else {
                continue;
            };
            cards(&mut html, &list.products.nodes, "h3");
            embedded.push(response);
        }
        html.push_str(r#"</ul></section><section><h2>Browse by category</h2><ul class="category-links">"#);
        for Named { id, name } in &categories {
            let (id, picture, name) = (escaped(id), product_picture(name, "", ""), escaped(name));
            put(
                &mut html,
                format_args!(r#"<li><a href="/shop/category/{id}">{picture}<bdi>{name}</bdi></a></li>"#),
            );
        }
        html.push_str("</ul></section>");
    }
    if !tags.is_empty() {
        html.push_str("<section><h2>Browse by tag</h2>");
        tag_links(&mut html, &tags);
        html.push_str("</section>");
    }
    html.push_str("</div></main>");
    let head = PageHead {
        title: "Shop".to_owned(),
        description: "Browse the shop by category and by tag.".to_owned(),
        kind: PageKind::Website,
        path: "/shop".to_owned(),
        place: "/shop",
        image: None,
        properties: Vec::new(),
        linked_data: None,
        has_reading_font: false,
    };
    Ok(Some(ShownPage { head, html, embedded }))
}

/// Some of a list, spread over it, and others each day.
fn chosen_of_day<T>(items: &[T], count: usize, now_ms: i64) -> Vec<&T> {
    if items.len() <= count {
        return items.iter().collect();
    }
    let day = usize::try_from(now_ms.div_euclid(DAY_MS)).unwrap_or(0);
    let stride = items.len() / count;
    (0..count).map(|index| &items[(day + index * stride) % items.len()]).collect()
}

/// The products of a category or tag.
pub(super) async fn list(reader: &Reader<'_>, id: &str, of: ListedBy) -> Found<ShownPage> {
    let (list, embedded) = reader.products(id, LIST_PRODUCTS).await?;
    let (kind, folder, relation) = match of {
        ListedBy::Category => ("ProductCategory", "category", "in"),
        ListedBy::Tag => ("ProductTag", "tag", "with"),
    };
    let Some(List { name, products, .. }) = list.filter(|list| list.kind == kind) else { return Ok(None) };
    let shown = escaped(&name);
    let mut html = format!(
        r#"{BEGIN}<header class="shop-intro"><p class="breadcrumb"><a href="/shop">All products</a></p><h1 dir="auto">{shown}</h1></header>"#
    );
    if products.nodes.is_empty() {
        put(
            &mut html,
            format_args!(
                r#"<section class="notice"><h2>No products {relation} this {folder} yet</h2></section>"#
            ),
        );
    } else {
        list_controls(&mut html, &products.nodes);
        let count = counted(u64::try_from(products.nodes.len()).unwrap_or(u64::MAX), "product");
        put(
            &mut html,
            format_args!(
                r#"<p class="shop-count">{count}</p><ul class="product-grid" aria-label="{shown}">"#
            ),
        );
        cards(&mut html, &products.nodes, "h2");
        html.push_str("</ul>");
    }
    html.push_str("</main>");
    let items = products.nodes.iter().zip(1_u32..).map(|(product, position)| {
        json!({ "@type": "ListItem", "position": position, "url": format!("/shop/product/{}", product.id) })
    });
    let head = PageHead {
        linked_data: Some(json!({
            "@context": "https://schema.org",
            "@type": "ItemList",
            "name": name,
            "itemListElement": items.collect::<Vec<_>>(),
        })),
        description: format!("Products {relation} {name}."),
        title: name,
        kind: PageKind::Website,
        path: format!("/shop/{folder}/{id}"),
        place: "/shop",
        image: None,
        properties: Vec::new(),
        has_reading_font: false,
    };
    Ok(Some(ShownPage { head, html, embedded: vec![embedded] }))
}

/// The products with these words in the name.
pub(super) async fn search(reader: &Reader<'_>, words: &str) -> Found<ShownPage> {
    let mut html = format!(
        r#"{BEGIN}<header class="shop-intro"><p class="breadcrumb"><a href="/shop">All products</a></p><h1>Search</h1></header>{}"#,
        searches::form("Words in the name", words),
    );
    let mut embedded = Vec::new();
    if !words.is_empty() {
        let variables = json!({ "query": words, "first": LIST_PRODUCTS });
        let (SearchData { search_products: products }, response) =
            reader.ask("SearchProducts", variables).await?;
        if products.is_empty() {
            html.push_str(r#"<section class="notice"><h2>No products with these words</h2><p>Try fewer words, or the beginning of a word.</p><a class="button" href="/shop">Browse the shop</a></section>"#);
        } else {
            let count = u32::try_from(products.len()).unwrap_or(u32::MAX);
            let first = if count == LIST_PRODUCTS { "The first " } else { "" };
            put(
                &mut html,
                format_args!(
                    r#"<p class="shop-count">{first}{}</p><ul class="product-grid" aria-label="Products found">"#,
                    counted(u64::from(count), "product"),
                ),
            );
            cards(&mut html, &products, "h2");
            html.push_str("</ul>");
        }
        embedded.push(response);
    }
    html.push_str("</main>");
    let head = PageHead {
        title: searches::title(words, "Search the shop"),
        description: "Search the names of the products.".to_owned(),
        kind: PageKind::Website,
        path: searches::path("/shop/search", words),
        place: "/shop/search",
        image: None,
        properties: Vec::new(),
        linked_data: None,
        has_reading_font: false,
    };
    Ok(Some(ShownPage { head, html, embedded }))
}

/// A product, with related ones.
pub(super) async fn product(reader: &Reader<'_>, id: &str) -> Found<ShownPage> {
    let (ProductData { product }, response) = reader.ask("ProductPage", json!({ "id": id })).await?;
    let Some(Product { card, sku, description }) = product else { return Ok(None) };
    let mut embedded = vec![response];
    let mut html = product_html(&card, &sku, &description);
    let source = card.tags.first().unwrap_or(&card.category);
    // Without related products the application asks for them.
    if let Ok((Some(list), response)) = reader.products(&source.id, READ_RELATED).await {
        let mut related = list.products.nodes;
        related.retain(|product| product.id != card.id);
        related.truncate(RELATED_PRODUCTS);
        embedded.push(response);
        if !related.is_empty() {
            html.push_str(
                r#"<section class="related"><h2>You may also like</h2><ul class="product-grid" aria-label="You may also like">"#,
            );
            cards(&mut html, &related, "h3");
            html.push_str("</ul></section>");
        }
    }
    html.push_str("</main>");
    let ProductCard { id, name, price, is_sold_out, category, .. } = card;
    let availability =
        if is_sold_out { "https://schema.org/OutOfStock" } else { "https://schema.org/InStock" };
    let path = format!("/shop/product/{id}");
    let head = PageHead {
        linked_data: Some(json!([
            {
                "@context": "https://schema.org",
                "@type": "Product",
                "name": name,
                "sku": sku,
                "description": description,
                "category": category.name,
                "url": path,
                "offers": {
                    "@type": "Offer",
                    "price": price.amount,
                    "priceCurrency": price.currency_code,
                    "availability": availability,
                    "url": path,
                },
            },
            {
                "@context": "https://schema.org",
                "@type": "BreadcrumbList",
                "itemListElement": [
                    { "@type": "ListItem", "position": 1, "name": "Shop", "item": "/shop" },
                    {
                        "@type": "ListItem",
                        "position": 2,
                        "name": category.name,
                        "item": format!("/shop/category/{}", category.id),
                    },
                ],
            },
        ])),
        title: name,
        description,
        kind: PageKind::Product,
        path,
        place: "/shop",
        image: None,
        properties: vec![
            ("product:price:amount", price.amount),
            ("product:price:currency", price.currency_code),
        ],
        has_reading_font: false,
    };
    Ok(Some(ShownPage { head, html, embedded }))
}

fn product_html(card: &ProductCard, sku: &str, description: &str) -> String {
    let ProductCard { name, price, category, tags, .. } = card;
    let mut html = format!(
        r#"{BEGIN}<article class="product">{picture}<div class="product-facts"><p class="breadcrumb product-category"><a href="/shop">All products</a><span aria-hidden="true"> / </span><a href="/shop/category/{category_id}"><bdi>{category_name}</bdi></a></p><h1 dir="auto">{name}</h1><p class="price product-price">{price}</p><p class="product-description" dir="auto">{description}</p>"#,
        picture = product_picture(name, &category.name, "product-picture"),
        category_id = escaped(&category.id),
        category_name = escaped(&category.name),
        name = escaped(name),
        price = escaped(&price.in_words()),
        description = escaped_lines(description),
    );
    html.push_str(if card.is_sold_out { SOLD_OUT } else { ADD_TO_CART });
    tag_links(&mut html, tags);
    put(&mut html, format_args!(r#"<p class="product-sku">Item no. {}</p></div></article>"#, escaped(sku)));
    html
}

/// Products behind a filter of a list, at least, as in the application.
const FILTER_PRODUCTS_MIN: usize = 2;

/// The place of the filters and of the sort order of the application.
fn list_controls(html: &mut String, products: &[ProductCard]) {
    let mut choices: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for Named { id, name } in
        products.iter().flat_map(|product| product.tags.iter().chain([&product.category]))
    {
        choices.entry(id).or_insert((name, 0)).1 += 1;
    }
    let narrows = |(_, count): &(&str, usize)| (FILTER_PRODUCTS_MIN..products.len()).contains(count);
    let mut choices: Vec<_> = choices.into_values().filter(narrows).collect();
    choices.sort_unstable();
    html.push_str(r#"<div class="list-controls awaits-script" aria-hidden="true">"#);
    if !choices.is_empty() {
        html.push_str(r#"<div class="list-filters"><span class="chip">All</span>"#);
        for (name, count) in choices {
            let name = escaped(name);
            put(
                html,
                format_args!(
                    r#"<span class="chip"><bdi>{name}</bdi> <span class="chip-count">{count}</span></span>"#
                ),
            );
        }
        html.push_str("</div>");
    }
    html.push_str(r#"<div class="list-sort"><span>Sort by</span><select disabled=""><option>Name</option></select></div></div>"#);
}

fn cards(html: &mut String, products: &[ProductCard], heading: &str) {
    for ProductCard { id, name, price, is_sold_out, category, .. } in products {
        let order = if *is_sold_out { SOLD_OUT_IN_CARD } else { ADD_TO_CART_IN_CARD };
        put(
            html,
            format_args!(
                r#"<li><article class="product-card">{picture}<{heading} dir="auto"><a href="/shop/product/{id}">{name}</a></{heading}><p class="price">{price}</p>{order}</article></li>"#,
                picture = product_picture(name, &category.name, ""),
                id = escaped(id),
                name = escaped(name),
                price = escaped(&price.in_words()),
            ),
        );
    }
}

fn tag_links(html: &mut String, tags: &[Named]) {
    if tags.is_empty() {
        return;
    }
    html.push_str(r#"<ul class="tag-links" aria-label="Tags">"#);
    for Named { id, name } in tags {
        let (id, name) = (escaped(id), escaped(name));
        put(html, format_args!(r#"<li><a href="/shop/tag/{id}"><bdi>{name}</bdi></a></li>"#));
    }
    html.push_str("</ul>");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `web/src/shop/picks-of-day.test.ts` has the same numbers.
    #[test]
    fn picks_are_the_applications() {
        let items: Vec<u32> = (0..10).collect();
        assert_eq!(chosen_of_day(&items, 4, 0), [&0, &2, &4, &6]);
        assert_eq!(chosen_of_day(&items, 4, 3 * DAY_MS + 5), [&3, &5, &7, &9]);
        assert_eq!(chosen_of_day(&items, 4, 9 * DAY_MS), [&9, &1, &3, &5]);
        assert_eq!(chosen_of_day(&items[..2], 4, 9 * DAY_MS), [&0, &1]);
    }
}
