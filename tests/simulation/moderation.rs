//! Acts of staff in the blog: accounts are suspended and given back, and posts and comments of other users
//! are deleted.

use serde_json::{Value, json};

use crate::client::Client;
use crate::history::{NOTHING, Recent};

impl Client {
    /// One act, as the dice say.
    pub async fn act_as_moderator(&mut self) {
        match self.world.dice.weighted(&self.world.phase().act_weights.moderators) {
            "suspend" => self.suspend(true).await,
            "unsuspend" => self.suspend(false).await,
            "moderate post" => self.moderate_post().await,
            "moderate comment" => self.moderate_comment().await,
            _ => self.read_post().await,
        }
    }

    /// Suspends an account, which ends its sessions, or gives it back.
    async fn suspend(&mut self, suspends: bool) {
        let world = self.world.clone();
        let users: Vec<String> = world.blog_users().into_iter().collect();
        if users.is_empty() {
            return;
        }
        let suspended = world.suspended.lock().clone();
        let again = !suspends && !suspended.is_empty();
        let user = world.dice.pick(if again { &suspended } else { &users }).clone();
        let register = format!("suspension of {user}");
        world.history.set_first(&register, "0");
        world.may_end_sessions(&user);
        let sessions_before = world.users.lock().len();
        let start = world.history.now();
        let write = world.history.begin(&register, if suspends { "1" } else { "0" }, self.number);
        let (command, kind) = match suspends {
            true => ("suspendUser", "SuspendUserInput"),
            false => ("unsuspendUser", "UnsuspendUserInput"),
        };
        let query = format!("mutation($i: {kind}!) {{ {command}(input: $i) {{ user {{ id }} }} }}");
        let input = json!({ "i": { "userId": user, "reason": "Spam." } });
        let sign_ins = if suspends { self.sign_in_beside(&user) } else { Vec::new() };
        let answer = self.command(&query, input).await;
        if self.end(&write, answer).is_ok() && suspends {
            world.passwords.lock().end_sessions(&user, sessions_before, &world);
            world.count("account suspended");
            // A sign-in may also follow another moderator, who gives the account back meanwhile.
            if !world.history.is_written_beside(&register, "0", start) {
                self.use_sessions_of_old_password(&user, sign_ins).await;
            }
        }
        let mut suspended = world.suspended.lock();
        suspended.retain(|other| *other != user);
        if suspends {
            suspended.push(user);
        }
    }

    async fn moderate_post(&mut self) {
        let Some(post) = self.any_post() else { return };
        let query = "mutation($i: DeletePostInput!) { deletePost(input: $i) { deletedPostId } }";
        let input = json!({ "postId": post.id, "reason": "Spam." });
        self.moderate(&format!("post {}", post.id), query, input).await;
    }

    async fn moderate_comment(&mut self) {
        let world = self.world.clone();
        let comment = {
            let comments = world.comments.lock();
            (!comments.is_empty()).then(|| world.dice.pick(&comments).0.clone())
        };
        let Some(comment) = comment else { return };
        let query = "mutation($i: DeleteCommentInput!) { deleteComment(input: $i) { deletedCommentId } }";
        let input = json!({ "commentId": comment, "reason": "Spam." });
        self.moderate(&format!("comment {comment}"), query, input).await;
    }

    /// Deletes an item of another user.
    async fn moderate(&mut self, register: &str, query: &str, input: Value) {
        let world = self.world.clone();
        let write = world.history.begin(register, NOTHING, self.number);
        let start = world.history.now();
        let answer = self.command(query, json!({ "i": input })).await;
        match self.end(&write, answer) {
            Ok(_) => world.count("item of another user deleted"),
            Err(Some(code)) if code == "NOT_FOUND" && register.starts_with("post ") => {
                self.saw("command", register, NOTHING, Recent::All, start);
            }
            Err(_) => {}
        }
    }
}
