//! Reads of clients in the blog, whose answers go to the history.

use serde_json::{Value, json};

use crate::blog::TAGS;
use crate::client::{Answer, Client};
use crate::history::NOTHING;
use crate::world::KnownPost;

/// The order of lists of posts.
const NEWEST_FIRST: bool = true;

impl Client {
    /// Records that a list has its order, also beside writes.
    fn saw_order(&self, view: &str, nodes: &[Value], is_newest_first: bool) {
        let dates: Vec<&str> = nodes.iter().filter_map(|node| node["creationDate"].as_str()).collect();
        let follows = |pair: &[&str]| if is_newest_first { pair[0] >= pair[1] } else { pair[0] <= pair[1] };
        if !dates.windows(2).all(follows) {
            let detail = format!("{view} of client {}: {dates:?}", self.number);
            self.world.history.broken("a list has its order", detail);
        }
    }

    pub async fn read_post(&mut self) {
        let Some(post) = self.any_post() else { return };
        let start = self.world.history.now();
        let query = "query($id: ID!) { post(id: $id) { title viewerHasLiked author { id username } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({ "id": post.id })).await else { return };
        let recent = self.recent(reached);
        let title = data["post"]["title"].as_str().unwrap_or(NOTHING);
        let register = format!("post {}", post.id);
        self.saw("post", &register, title, recent, start);
        self.saw_author("post", &register, &data["post"]["author"], (recent, start));
        if let (Some(likes), Some(me)) = (data["post"]["viewerHasLiked"].as_bool(), self.me()) {
            let register = format!("like of {} by {me}", post.id);
            self.world.history.set_first(&register, "0");
            self.saw("liked", &register, if likes { "1" } else { "0" }, recent, start);
        }
    }

    pub async fn read_own(&mut self) {
        let Some(me) = self.me() else { return };
        let own: Vec<KnownPost> =
            self.world.posts.lock().iter().filter(|post| post.author == me).cloned().collect();
        let start = self.world.history.now();
        let query = "{ viewer { id username posts(first: 100) { nodes { id title creationDate } } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({})).await else { return };
        let recent = self.recent(reached);
        let Some(name) = data["viewer"]["username"].as_str() else { return };
        self.saw("viewer", &format!("username {me}"), name, recent, start);
        let Some(nodes) = data["viewer"]["posts"]["nodes"].as_array() else { return };
        self.saw_order("posts of a user", nodes, NEWEST_FIRST);
        for post in own {
            let listed = nodes.iter().find(|node| node["id"] == post.id.as_str());
            let title = listed.and_then(|node| node["title"].as_str()).unwrap_or(NOTHING);
            self.saw("posts of a user", &format!("post {}", post.id), title, recent, start);
        }
    }

    /// Reads one comment. It may have gone with its post.
    pub async fn read_comment(&mut self, id: &str) {
        let start = self.world.history.now();
        let query = "query($id: ID!) { node(id: $id) { ... on Comment { content } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({ "id": id })).await else { return };
        if let Some(content) = data["node"]["content"].as_str() {
            self.saw("comment", &format!("comment {id}"), content, self.recent(reached), start);
        }
    }

    pub async fn read_comments(&mut self) {
        let Some(post) = self.any_post() else { return };
        let of_post: Vec<String> = self
            .world
            .comments
            .lock()
            .iter()
            .filter(|(_, of, _)| *of == post.id)
            .map(|(id, ..)| id.clone())
            .collect();
        let start = self.world.history.now();
        let Some((nodes, reached)) = self.comments_of(&post.id).await else { return };
        let recent = self.recent(reached);
        for id in of_post {
            let listed = nodes.iter().find(|node| node["id"] == id.as_str());
            let content = listed.and_then(|node| node["content"].as_str()).unwrap_or(NOTHING);
            let register = format!("comment {id}");
            self.saw("comments of a post", &register, content, recent, start);
            if let Some(comment) = listed {
                self.saw_author("comments of a post", &register, &comment["author"], (recent, start));
            }
        }
    }

    /// All comments of a post, sometimes in small pages, and whether each page reached the client's position.
    async fn comments_of(&mut self, post: &str) -> Option<(Vec<Value>, bool)> {
        let first = if self.world.dice.percent(50) { 100 } else { self.world.dice.between(1, 5) };
        let query = format!(
            "query($id: ID!, $after: String) {{ post(id: $id) {{ comments(first: {first}, after: $after) {{ \
             nodes {{ id content creationDate author {{ id username }} }} pageInfo {{ hasNextPage endCursor }} }} }} }}"
        );
        let (mut nodes, mut after, mut all_reached) = (Vec::new(), Value::Null, true);
        loop {
            let variables = json!({ "id": post, "after": after });
            let Answer::Data { mut data, reached } = self.ask(&query, variables).await else { return None };
            let mut page = data["post"]["comments"].take();
            nodes.append(page["nodes"].as_array_mut()?);
            all_reached &= reached;
            if page["pageInfo"]["hasNextPage"] != true {
                self.saw_order("comments of a post", &nodes, !NEWEST_FIRST);
                return Some((nodes, all_reached));
            }
            after = page["pageInfo"]["endCursor"].take();
        }
    }

    async fn read_tagged(&mut self) {
        let tag = *self.world.dice.pick(&TAGS);
        let start = self.world.history.now();
        let query = "query($tag: String!) { postsByTag(tag: $tag, first: 100) { nodes { id title creationDate author { id username } } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({ "tag": tag })).await else { return };
        let Some(nodes) = data["postsByTag"]["nodes"].as_array() else { return };
        self.saw_order("tag", nodes, NEWEST_FIRST);
        let recent = self.recent(reached);
        let known: Vec<KnownPost> = self.world.posts.lock().clone();
        for post in known {
            let listed = nodes.iter().find(|node| node["id"] == post.id.as_str());
            if let Some(title) = listed.and_then(|node| node["title"].as_str()) {
                self.saw(&format!("tag {tag}"), &format!("post {}", post.id), title, recent, start);
            }
            if let Some(entry) = listed {
                self.saw_author("tag", &format!("post {}", post.id), &entry["author"], (recent, start));
            }
        }
    }

    /// Reads the feed, or the posts with a tag. Posts of other pages or tags are not listed.
    pub async fn read_feed(&mut self) {
        if self.world.dice.percent(30) {
            return self.read_tagged().await;
        }
        let known: Vec<KnownPost> = self.world.posts.lock().clone();
        let start = self.world.history.now();
        let query = "{ feed(first: 100) { nodes { id title creationDate author { id username } } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({})).await else { return };
        let Some(nodes) = data["feed"]["nodes"].as_array() else { return };
        self.saw_order("feed", nodes, NEWEST_FIRST);
        let recent = self.recent(reached);
        // A full feed leaves older posts out. So does a feed that a deletion has just made shorter.
        let has_all = self.world.titles.lock().len() < self.world.feed_length();
        let oldest = nodes.last().and_then(|node| node["creationDate"].as_str());
        for post in known {
            let listed = nodes.iter().find(|node| node["id"] == post.id.as_str());
            let title = listed.and_then(|node| node["title"].as_str());
            let has_it = has_all || oldest.is_some_and(|oldest| oldest < post.created.as_str());
            if let Some(title) = title.or(has_it.then_some(NOTHING)) {
                self.saw("feed", &format!("post {}", post.id), title, recent, start);
            }
            if let Some(entry) = listed {
                self.saw_author("feed", &format!("post {}", post.id), &entry["author"], (recent, start));
            }
        }
    }
}
