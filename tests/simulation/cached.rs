//! Acts of a browser with a cache: answers are kept with their entity tags, and asked for again.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::process::{GetAnswer, get};

/// An answer in the cache of a browser.
#[derive(Debug, Clone)]
pub struct CachedAnswer {
    process: u32,
    query: String,
    entity_tag: String,
    data: Value,
}

impl Client {
    /// Keeps an answer, or asks whether a kept answer is still the same.
    pub async fn use_cache(&mut self) {
        let world = self.world.clone();
        if self.cached.is_empty() || world.dice.percent(40) {
            return self.keep().await;
        }
        let cached = world.dice.pick(&self.cached).clone();
        let before = self.get(cached.process, &cached.query, None).await;
        let asked = self.get(cached.process, &cached.query, Some(&cached.entity_tag)).await;
        let after = self.get(cached.process, &cached.query, None).await;
        let (Some(before), Some(asked), Some(after)) = (before, asked, after) else { return };
        let (before, after) = (data_of(&before), data_of(&after));
        // Between two equal answers there was no other one, unless something changed and changed back.
        if asked.status == 304 && before.is_some() && before == after && before.as_ref() != Some(&cached.data)
        {
            let now = before.unwrap_or_default();
            let what = format!(
                "not modified, says process {}: {} is {now} and was {}",
                cached.process, cached.query, cached.data
            );
            world.history.broken("an answer that changed is sent again", what);
        }
        world.count(if asked.status == 304 { "answer not modified" } else { "cached answer changed" });
    }

    async fn keep(&mut self) {
        let world = self.world.clone();
        let Some(process) = world.any_process() else { return };
        let posts = world.posts.lock().clone();
        let query = match posts.is_empty() || world.dice.percent(30) {
            true => "{ feed(first: 20) { nodes { title author { username } } } }".to_owned(),
            false => {
                let id = &world.dice.pick(&posts).id;
                format!(
                    "{{ post(id: {id:?}) {{ title likeCount author {{ username }} comments {{ nodes {{ content }} }} }} }}"
                )
            }
        };
        let Some(answer) = self.get(process, &query, None).await else { return };
        let (Some(data), Some(entity_tag)) = (data_of(&answer), answer.entity_tag) else { return };
        self.cached.push(CachedAnswer { process, query, entity_tag, data });
    }

    async fn get(&self, process: u32, query: &str, entity_tag: Option<&str>) -> Option<GetAnswer> {
        let (group, router) = self.world.router_of(process)?;
        let last = self.host();
        let address = IpAddr::V4(Ipv4Addr::new(10, last, 0, 2));
        let request = get(router, address, query, entity_tag);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.world.executor.spawn(group, async move {
            let _ = sender.send(request.await);
        });
        tokio::time::timeout(Duration::from_secs(40), receiver).await.ok()?.ok()
    }
}

fn data_of(answer: &GetAnswer) -> Option<Value> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    (answer.status == 200 && body["errors"].is_null()).then(|| body["data"].clone())
}
