//! Files for programs that read the site: rules for crawlers, sitemaps, and the newest posts as an Atom feed.

use super::blog::{PostCard, put};
use super::{Found, Reader};
use crate::http::page_html::{SITE_NAME, escaped};
use crate::http::pages::WrittenFile;

const XML: &str = "application/xml; charset=utf-8";
const ATOM: &str = "application/atom+xml; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

const XML_BEGINS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SITEMAP_NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// The most products of a category in its sitemap: as many as one query may ask for.
const SITEMAP_PRODUCTS: u32 = 60;
/// When nothing was posted yet (RFC 4287 wants a date).
const NEVER: &str = "1970-01-01T00:00:00.000Z";

/// The rules for crawlers: everything that a reader without an account sees, except for searches.
pub(super) fn robots(origin: &str) -> WrittenFile {
    let paths = [
        "/graphql",
        "/graphiql",
        "/moderation",
        "/operations",
        "/search",
        "/session",
        "/settings",
        "/signin",
        "/write",
    ];
    let shop = [
        "/shop/account",
        "/shop/cart",
        "/shop/orders",
        "/shop/ranking",
        "/shop/search",
        "/shop/signin",
        "/shop/staff",
    ];
    let mut text = "User-agent: *\n".to_owned();
    for path in paths.into_iter().chain(shop) {
        put(&mut text, format_args!("Disallow: {path}\n"));
    }
    put(&mut text, format_args!("\nSitemap: {origin}/sitemap.xml\n"));
    WrittenFile { media_type: TEXT, text }
}

/// The newest posts as a feed.
pub(super) async fn atom(reader: &Reader<'_>, origin: &str) -> Found<WrittenFile> {
    let posts = reader.feed().await?.0.feed.nodes;
    let origin = escaped(origin);
    let updated = posts.first().map_or(NEVER, |post| post.creation_date.as_str());
    let mut text = format!(
        "{XML_BEGINS}<feed xmlns=\"http://www.w3.org/2005/Atom\">\n  \
         <id>{origin}/</id>\n  <title>{SITE_NAME}</title>\n  <updated>{}</updated>\n  \
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{origin}/feed.atom\"/>\n  \
         <link rel=\"alternate\" type=\"text/html\" href=\"{origin}/\"/>\n",
        escaped(updated),
    );
    for PostCard { id, title, summary, creation_date, author, .. } in &posts {
        let (address, date) = (format!("{origin}/posts/{}", escaped(id)), escaped(creation_date));
        put(
            &mut text,
            format_args!(
                "  <entry>\n    <id>{address}</id>\n    <title>{}</title>\n    \
                 <link rel=\"alternate\" type=\"text/html\" href=\"{address}\"/>\n    \
                 <published>{date}</published>\n    <updated>{date}</updated>\n    \
                 <author><name>{}</name><uri>{origin}/users/{}</uri></author>\n    \
                 <summary>{}</summary>\n  </entry>\n",
                escaped(title),
                escaped(&author.username),
                escaped(&author.id),
                escaped(summary),
            ),
        );
    }
    text.push_str("</feed>\n");
    Ok(Some(WrittenFile { media_type: ATOM, text }))
}

/// The index of the sitemaps: one of the posts, and one of each category, so that each is one query.
pub(super) async fn sitemap_index(reader: &Reader<'_>, origin: &str) -> Found<WrittenFile> {
    let categories = reader.catalogue().await?.0.product_categories;
    let paths = categories.iter().map(|category| format!("/sitemap/category/{}.xml", category.id));
    let paths = std::iter::once("/sitemap/posts.xml".to_owned()).chain(paths);
    Ok(Some(addresses("sitemapindex", "sitemap", origin, paths)))
}

/// The sitemap of the feed and its posts.
pub(super) async fn posts_sitemap(reader: &Reader<'_>, origin: &str) -> Found<WrittenFile> {
    let posts = reader.feed().await?.0.feed.nodes;
    let paths = posts.iter().map(|post| format!("/posts/{}", post.id));
    let paths = ["/", "/shop"].map(ToOwned::to_owned).into_iter().chain(paths);
    Ok(Some(addresses("urlset", "url", origin, paths)))
}

/// The sitemap of a category and its products.
pub(super) async fn category_sitemap(reader: &Reader<'_>, id: &str, origin: &str) -> Found<WrittenFile> {
    let Some(list) = reader.products(id, SITEMAP_PRODUCTS).await?.0 else { return Ok(None) };
    let paths = list.product_ids().map(|product| format!("/shop/product/{product}"));
    let paths = std::iter::once(format!("/shop/category/{id}")).chain(paths);
    Ok(Some(addresses("urlset", "url", origin, paths)))
}

fn addresses(list: &str, item: &str, origin: &str, paths: impl Iterator<Item = String>) -> WrittenFile {
    let mut text = format!("{XML_BEGINS}<{list} xmlns=\"{SITEMAP_NAMESPACE}\">\n");
    for path in paths {
        let address = escaped(&format!("{origin}{path}"));
        put(&mut text, format_args!("  <{item}><loc>{address}</loc></{item}>\n"));
    }
    put(&mut text, format_args!("</{list}>\n"));
    WrittenFile { media_type: XML, text }
}
