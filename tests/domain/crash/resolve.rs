//! After a restart: the fate of the creation whose answer was lost.

use serde_json::{Value, json};

use crate::crash::api::{Answer, Api, text};
use crate::crash::check::{post_answer, posts_of};
use crate::crash::writer::{Lost, Writer, sign_up};

impl Writer {
    /// Finds out the fate of a lost creation: asks again where it had a key, and else looks. Says whether
    /// that may have written.
    pub async fn resolve(&mut self, api: &Api) -> bool {
        let lost = self.lost.take();
        let asks_again = matches!(
            lost,
            Some(Lost::Post { key: Some(_), .. } | Lost::Comment { key: Some(_), .. } | Lost::SignUp { .. })
        );
        match lost {
            None => {}
            Some(Lost::Post { title, key: Some(key) }) => {
                let answer = self.send_post(api, &title, Some(&key)).await;
                let Answer::Acknowledged(payload) = answer else { panic!("a repeated post: {answer:?}") };
                self.record().add_post(&text(&payload["post"]["id"]), self.author, &title);
            }
            Some(Lost::Post { title, key: None }) => {
                let user = self.record().writers[self.author].id.clone();
                let posts = posts_of(api, &user, "V1").await;
                if let Some(post) = posts.iter().find(|post| post["title"] == *title) {
                    self.record().add_post(&text(&post["id"]), self.author, &title);
                }
            }
            Some(Lost::Comment { post, content, key: Some(key) }) => {
                match self.send_comment(api, &post, &content, Some(&key)).await {
                    Answer::Acknowledged(payload) => {
                        let id = text(&payload["comment"]["id"]);
                        self.record().add_comment(&post, &id, self.author, &content);
                    }
                    Answer::Refused(code) if code == "NOT_FOUND" => {
                        let is_gone = self.record().post(&post).deleted.may_be(&true);
                        assert!(is_gone, "the post {post} is lost");
                    }
                    answer => panic!("a repeated comment: {answer:?}"),
                }
            }
            Some(Lost::Comment { post, content, key: None }) => {
                let found = post_answer(api, &post).await;
                let comments = found["comments"]["nodes"].as_array().map_or(&[][..], Vec::as_slice);
                if let Some(comment) = comments.iter().find(|comment| comment["content"] == *content) {
                    self.record().add_comment(&post, &text(&comment["id"]), self.author, &content);
                }
            }
            Some(Lost::SignUp { name, key }) => {
                let answer = sign_up(api, &name, Some(&key)).await;
                assert!(matches!(answer, Answer::Acknowledged(_)), "the name {name} is lost: {answer:?}");
            }
        }
        self.settle_name(api).await;
        asks_again
    }

    async fn settle_name(&self, api: &Api) {
        let id = self.record().writers[self.author].id.clone();
        let user = api.ask("query($id: ID!) { user(id: $id) { username } }", json!({ "id": id })).await;
        let found: &Value = &user["user"]["username"];
        self.record().writers[self.author].name.settle(text(found), "a name");
    }
}
