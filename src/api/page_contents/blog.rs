//! The pages of the blog: the feed, a post, and a user with the user's posts.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;

use super::formats::{counted, day, percent_encoded, reading_time};
use super::pictures::{avatar, picture};
use super::{Found, LIST_COMMENTS, LIST_POSTS, Reader, markdown, searches};
use crate::blog::commands::normalised_tag;
use crate::http::page_html::{SITE_NAME, escaped};
use crate::http::pages::{PageHead, PageKind, ShownPage};

const FEED_DESCRIPTION: &str = "The latest posts of the blog.";

#[derive(Debug, Deserialize)]
pub(super) struct FeedData {
    pub(super) feed: Connection<PostCard>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Connection<T> {
    pub(super) nodes: Vec<T>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Account {
    pub(super) id: String,
    pub(super) username: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostCard {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) summary: String,
    tags: Vec<String>,
    pub(super) creation_date: String,
    comment_count: u64,
    like_count: u64,
    pub(super) author: Account,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaggedData {
    posts_by_tag: Connection<PostCard>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchData {
    search_posts: SearchedPosts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchedPosts {
    nodes: Vec<PostCard>,
    page_info: PageInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
}

#[derive(Debug, Deserialize)]
struct PostData {
    post: Option<Post>,
}

#[derive(Debug, Deserialize)]
struct Post {
    #[serde(flatten)]
    card: PostCard,
    content: String,
    comments: Connection<Comment>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    id: String,
    content: String,
    creation_date: String,
    update_date: Option<String>,
    author: Account,
}

#[derive(Debug, Deserialize)]
struct ProfileData {
    user: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    username: String,
    posts: Connection<PostCard>,
}

/// The newest posts.
pub(super) async fn feed(reader: &Reader<'_>) -> Found<ShownPage> {
    let (FeedData { feed }, embedded) = reader.feed().await?;
    let mut html = r#"<main id="page" class="page" tabindex="-1"><header class="feed-intro"><h1>Latest posts</h1></header><div class="feed-news" role="status"></div>"#.to_owned();
    if feed.nodes.is_empty() {
        html.push_str(
            r#"<section class="notice"><h2>No posts yet</h2><p>Be the first to write one.</p></section>"#,
        );
    } else {
        html.push_str(r#"<div class="cards feed-cards">"#);
        cards(&mut html, &feed.nodes, true);
        html.push_str("</div>");
    }
    html.push_str("</main>");
    let head = PageHead {
        title: SITE_NAME.to_owned(),
        description: FEED_DESCRIPTION.to_owned(),
        kind: PageKind::Website,
        path: "/".to_owned(),
        place: "/",
        image: None,
        properties: Vec::new(),
        linked_data: Some(json!({
            "@context": "https://schema.org", "@type": "Blog", "name": SITE_NAME, "url": "/",
        })),
        has_reading_font: true,
    };
    Ok(Some(ShownPage { head, html, embedded: vec![embedded] }))
}

/// The newest posts with a tag, which the path has in percent-encoding.
pub(super) async fn tagged(reader: &Reader<'_>, segment: &str) -> Found<ShownPage> {
    let Some(tag) = percent_decoded(segment).as_deref().and_then(normalised_tag) else { return Ok(None) };
    let (TaggedData { posts_by_tag: posts }, embedded) =
        reader.ask("TaggedPosts", json!({ "tag": tag, "first": LIST_POSTS })).await?;
    let name = escaped(&tag);
    let mut html = format!(
        r#"<main id="page" class="page" tabindex="-1"><header class="feed-intro"><h1><bdi>#{name}</bdi></h1></header>"#
    );
    if posts.nodes.is_empty() {
        html.push_str(r#"<section class="notice"><h2>No posts with this tag yet</h2></section>"#);
    } else {
        html.push_str(r#"<div class="cards">"#);
        cards(&mut html, &posts.nodes, true);
        html.push_str("</div>");
    }
    html.push_str("</main>");
    let path = tag_path(&tag);
    let head = PageHead {
        linked_data: Some(json!({
            "@context": "https://schema.org", "@type": "CollectionPage", "name": format!("#{tag}"), "url": path,
        })),
        title: format!("#{tag}"),
        description: format!("Posts about {tag}."),
        kind: PageKind::Website,
        path,
        place: "/",
        image: None,
        properties: Vec::new(),
        has_reading_font: true,
    };
    Ok(Some(ShownPage { head, html, embedded: vec![embedded] }))
}

/// The newest posts with these words in the title.
pub(super) async fn search(reader: &Reader<'_>, words: &str) -> Found<ShownPage> {
    let mut html = format!(
        r#"<main id="page" class="page" tabindex="-1"><header class="feed-intro"><h1>Search</h1></header>{}"#,
        searches::form("Words in the title", words),
    );
    let mut embedded = Vec::new();
    if !words.is_empty() {
        let variables = json!({ "query": words, "first": LIST_POSTS });
        let (SearchData { search_posts: SearchedPosts { nodes, page_info } }, response) =
            reader.ask("SearchPosts", variables).await?;
        html.push_str(r#"<div class="cards">"#);
        cards(&mut html, &nodes, true);
        if nodes.is_empty() {
            html.push_str(match page_info.has_next_page {
                true => r#"<section class="notice"><h2>No recent posts with these words</h2></section>"#,
                false => r#"<section class="notice"><h2>No posts with these words</h2><p>Try fewer words, or the beginning of a word.</p></section>"#,
            });
        }
        html.push_str("</div>");
        embedded.push(response);
    }
    html.push_str("</main>");
    let head = PageHead {
        title: searches::title(words, "Search"),
        description: "Search the titles of the posts.".to_owned(),
        kind: PageKind::Website,
        path: searches::path("/search", words),
        place: "/search",
        image: None,
        properties: Vec::new(),
        linked_data: None,
        has_reading_font: true,
    };
    Ok(Some(ShownPage { head, html, embedded }))
}

/// A post with its first comments.
pub(super) async fn post(reader: &Reader<'_>, id: &str) -> Found<ShownPage> {
    let variables = json!({ "id": id, "firstComments": LIST_COMMENTS });
    let (PostData { post }, embedded) = reader.ask("PostPage", variables).await?;
    let Some(post) = post else { return Ok(None) };
    let html = post_html(&post);
    let Post { card, .. } = post;
    let path = format!("/posts/{}", card.id);
    let author_path = format!("/users/{}", card.author.id);
    let head = PageHead {
        linked_data: Some(json!({
            "@context": "https://schema.org",
            "@type": "BlogPosting",
            "headline": card.title,
            "description": card.summary,
            "datePublished": card.creation_date,
            "url": path,
            "author": { "@type": "Person", "name": card.author.username, "url": author_path },
            "commentCount": card.comment_count,
            "interactionStatistic": {
                "@type": "InteractionCounter",
                "interactionType": "https://schema.org/LikeAction",
                "userInteractionCount": card.like_count,
            },
        })),
        title: card.title,
        description: card.summary,
        kind: PageKind::Article,
        image: None,
        properties: vec![
            ("article:published_time", card.creation_date),
            ("article:author", card.author.username),
        ],
        path,
        place: "/",
        has_reading_font: true,
    };
    Ok(Some(ShownPage { head, html, embedded: vec![embedded] }))
}

fn post_html(Post { card, content, comments }: &Post) -> String {
    let PostCard { id, title, tags, creation_date, comment_count, like_count, author, .. } = card;
    let mut html = format!(
        r#"<main id="page" class="page" tabindex="-1"><article class="post"><header><h1 dir="auto">{title}</h1><div class="post-meta">{avatar}<p><a href="/users/{author_id}"><bdi>{name}</bdi></a><span><time datetime="{creation_date}">{day}</time><span aria-hidden="true"> · </span>{reading_time}</span></p></div>{tags}{cover}</header><div class="markdown">{text}</div><footer class="post-actions"><div class="like"><span class="button button-plain awaits-script">Like</span><span class="like-count">{likes}</span></div></footer></article>"#,
        title = escaped(title),
        avatar = avatar(&author.id, &author.username, "medium"),
        author_id = escaped(&author.id),
        name = escaped(&author.username),
        creation_date = escaped(creation_date),
        day = escaped(&day(creation_date)),
        reading_time = reading_time(content),
        tags = tag_links(tags),
        cover = picture(id, "post-cover"),
        text = markdown::html(content),
        likes = counted(*like_count, "like"),
    );
    let heading = match comment_count {
        0 => "No comments yet".to_owned(),
        count => counted(*count, "comment"),
    };
    put(
        &mut html,
        format_args!(
            r#"<section class="comments"><h2 id="comments-title">{heading}</h2><ol class="comment-list">"#
        ),
    );
    for comment in &comments.nodes {
        comment_item(&mut html, comment);
    }
    html.push_str("</ol></section></main>");
    html
}

fn comment_item(html: &mut String, comment: &Comment) {
    let Comment { id, content, creation_date, update_date, author } = comment;
    let text = markdown::html(content);
    let edited = update_date.as_ref().map_or_else(String::new, |date| {
        format!(
            r#"<span aria-hidden="true"> · </span><span class="comment-edited">edited <time datetime="{}">{}</time></span>"#,
            escaped(date),
            escaped(&day(date)),
        )
    });
    put(
        html,
        format_args!(
            r##"<li><article class="comment" id="comment-{id}"><p class="comment-meta">{avatar}<a href="/users/{author_id}"><bdi>{name}</bdi></a><span aria-hidden="true"> · </span><a href="#comment-{id}"><time datetime="{date}">{day}</time></a>{edited}</p><div class="markdown">{text}</div></article></li>"##,
            id = escaped(id),
            author_id = escaped(&author.id),
            avatar = avatar(&author.id, &author.username, "small"),
            name = escaped(&author.username),
            date = escaped(creation_date),
            day = escaped(&day(creation_date)),
        ),
    );
}

/// A user with the newest of the user's posts.
pub(super) async fn profile(reader: &Reader<'_>, id: &str) -> Found<ShownPage> {
    let (ProfileData { user }, embedded) =
        reader.ask("Profile", json!({ "id": id, "first": LIST_POSTS })).await?;
    let Some(Profile { username, posts }) = user else { return Ok(None) };
    let name = escaped(&username);
    let mut html = format!(
        r#"<main id="page" class="page" tabindex="-1"><header class="profile">{}<div><h1 dir="auto">{name}</h1></div></header>"#,
        avatar(id, &username, "large"),
    );
    if posts.nodes.is_empty() {
        put(
            &mut html,
            format_args!(
                r#"<section class="notice"><h2><bdi>{name}</bdi> has not written anything yet</h2></section>"#
            ),
        );
    } else {
        html.push_str(r#"<div class="cards">"#);
        cards(&mut html, &posts.nodes, false);
        html.push_str("</div>");
    }
    html.push_str("</main>");
    let path = format!("/users/{id}");
    let head = PageHead {
        linked_data: Some(json!({
            "@context": "https://schema.org",
            "@type": "ProfilePage",
            "mainEntity": { "@type": "Person", "name": username, "url": path },
        })),
        description: format!("Posts by {username}."),
        properties: vec![("profile:username", username.clone())],
        title: username,
        kind: PageKind::Profile,
        path,
        place: "/",
        image: None,
        has_reading_font: true,
    };
    Ok(Some(ShownPage { head, html, embedded: vec![embedded] }))
}

fn cards(html: &mut String, posts: &[PostCard], has_author: bool) {
    for PostCard { id, title, summary, tags, creation_date, comment_count, like_count, author } in posts {
        put(
            html,
            format_args!(r#"<article class="post-card">{}<div class="post-card-text">"#, picture(id, "")),
        );
        if has_author {
            put(
                html,
                format_args!(
                    r#"<p class="post-card-author"><a href="/users/{}">{}<bdi>{}</bdi></a></p>"#,
                    escaped(&author.id),
                    avatar(&author.id, &author.username, "small"),
                    escaped(&author.username),
                ),
            );
        }
        put(
            html,
            format_args!(
                r#"<h2 dir="auto"><a href="/posts/{}">{}</a></h2><p class="post-card-summary" dir="auto">{}</p>{}<p class="post-card-meta"><time datetime="{}">{}</time><span aria-hidden="true"> · </span><span>{}</span><span aria-hidden="true"> · </span><span>{}</span></p></div></article>"#,
                escaped(id),
                escaped(title),
                escaped(summary),
                tag_links(tags),
                escaped(creation_date),
                escaped(&day(creation_date)),
                counted(*like_count, "like"),
                counted(*comment_count, "comment"),
            ),
        );
    }
}

/// The tags of a post, each a link to the posts that have it.
fn tag_links(tags: &[String]) -> String {
    let mut html = String::new();
    if tags.is_empty() {
        return html;
    }
    html.push_str(r#"<ul class="tag-links" aria-label="Tags">"#);
    for tag in tags {
        let (path, name) = (tag_path(tag), escaped(tag));
        put(&mut html, format_args!(r#"<li><a href="{path}"><bdi>{name}</bdi></a></li>"#));
    }
    html.push_str("</ul>");
    html
}

/// The path of the page of a tag.
fn tag_path(tag: &str) -> String {
    format!("/tags/{}", percent_encoded(tag))
}

fn percent_decoded(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned)
}

pub(super) fn put(html: &mut String, text: std::fmt::Arguments<'_>) {
    html.write_fmt(text).expect("a String takes all text");
}
