//! Names of users: clients rename themselves, also beside a change of the password.

use serde_json::json;

use crate::blog::OTHER_DEVICE_PERCENT;
use crate::client::Client;

/// Few names, so that clients compete for them.
pub const NAMES: [&str; 7] = ["ada", "Ada", "brontë", "capek", "dante", "eliot", "ＤＡＮＴＥ"];
/// The longest times after which another tab writes beside a rename, in milliseconds: at once, and as long as
/// a process may keep the name of an author.
const RENAME_MS_MAX: [u64; 2] = [400, 60_000];

impl Client {
    pub async fn rename(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let names = self.changes_and_back(&format!("username {me}"), || self.some_name());
        for (place, name) in names.into_iter().enumerate() {
            self.wait_before(place).await;
            let mut other = self.other_device_elsewhere();
            let device = if world.dice.percent(OTHER_DEVICE_PERCENT) { &mut other } else { &mut *self };
            device.rename_to(&me, &name).await;
            // Posts have the new name first, and then the feed has it.
            match world.dice.below(4) {
                0 | 1 => device.read_feed().await,
                2 => device.read_own().await,
                _ => {}
            }
        }
    }

    /// Most names are free: clients compete for few.
    fn some_name(&self) -> String {
        match self.world.dice.percent(60) {
            true => self.world.next("fox").replace(' ', "-"),
            false => (*self.world.dice.pick(&NAMES)).to_owned(),
        }
    }

    /// Changes the password, and sometimes the name on another device, meanwhile or at once after that.
    pub async fn change_password_and_name(&mut self) {
        let Some(me) = self.me() else { return };
        let name = self.some_name();
        match self.world.dice.below(4) {
            0 => {
                let mut other = self.other_device_elsewhere();
                tokio::join!(self.change_password(), other.rename_to(&me, &name));
            }
            1 => {
                self.change_password().await;
                self.other_device_elsewhere().rename_to(&me, &name).await;
            }
            _ => self.change_password().await,
        }
    }

    async fn rename_to(&mut self, me: &str, name: &str) {
        let world = self.world.clone();
        let history = &world.history;
        let (claim, write) = (
            history.begin(&format!("name of {me}"), &canonical(name), self.number),
            history.begin(&format!("username {me}"), &written(name), self.number),
        );
        for _ in 0..world.dice.below(6) {
            self.write_in_another_tab(me, *world.dice.pick(&RENAME_MS_MAX));
        }
        let query = "mutation($i: UpdateUserInput!) { updateUser(input: $i) { user { id username } } }";
        let answer = self.command(query, json!({ "i": { "username": name } })).await;
        let is_repeated = answer.1;
        if self.end(&write, answer).is_ok() {
            if is_repeated {
                history.repeated(&claim);
            }
            history.done(&claim);
        } else if history.is_refused(&write) {
            history.refused(&claim);
        }
    }
}

/// Names that are one for the server: by case and width.
pub fn canonical(name: &str) -> String {
    written(name).to_lowercase()
}

/// A name as the server writes it.
fn written(name: &str) -> String {
    if name == "ＤＡＮＴＥ" { "DANTE".to_owned() } else { name.to_owned() }
}
