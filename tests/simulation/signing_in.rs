//! Names and passwords at the end of a run: names are free or held, and users sign in with their passwords.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::blog::PASSWORD;
use crate::finale::{ask, send_alone};
use crate::history::NOTHING;
use crate::renames::canonical;
use crate::world::World;

/// The number of free names that are tried.
const NAMES_TRIED_MAX: usize = 12;
/// The number of users whose passwords are tried.
const PASSWORDS_TRIED_MAX: usize = 12;
/// The most passwords of a user that are tried.
const PASSWORDS_MAX: usize = 5;

/// A name without a user is free, and allows no sign-in. A dead command loses no name: its rename is finished
/// or taken back without another command.
pub async fn names_are_free_or_held(world: &Arc<World>, number: u32, users: &BTreeSet<String>) {
    let mut names = BTreeMap::new();
    for user in users {
        let query = format!("{{ user(id: {user:?}) {{ username }} }}");
        let found = ask(world, number, query, json!({})).await;
        if let Some(name) = found["user"]["username"].as_str() {
            names.insert(user.clone(), canonical(name));
        }
    }
    let held: BTreeSet<String> = names.values().cloned().collect();
    let tried = users.iter().flat_map(|user| world.history.values_of(&format!("name of {user}")));
    let tried: BTreeSet<String> = tried.filter(|name| name != NOTHING).collect();
    for name in held.iter().take(NAMES_TRIED_MAX) {
        signs_in(world, number, name, &names).await;
    }
    passwords_are_kept(world, number, &names).await;
    for name in tried.difference(&held).take(NAMES_TRIED_MAX) {
        // A user whom no client knows may have it: the sign-up got no answer, and the password was never
        // changed.
        if !signs_in(world, number, name, &names).await {
            let input = json!({ "i": { "username": name, "password": PASSWORD } });
            let sign_up = "mutation($i: CreateUserInput!) { createUser(input: $i) { accessToken } }";
            let answer = send_alone(world, number, None, sign_up, &input).await;
            if !answer["data"]["createUser"].is_object() {
                let detail = format!("{name:?}: {answer}");
                world.history.broken("a name that no user has can be taken", detail);
            }
        }
    }
}

/// Users sign in with the password of their last confirmed change, or of a change without an answer. No
/// rename and no other change takes it away.
async fn passwords_are_kept(world: &Arc<World>, number: u32, names: &BTreeMap<String, String>) {
    for (user, name) in names.iter().take(PASSWORDS_TRIED_MAX) {
        let passwords = world.passwords.lock().not_replaced(user);
        let suspensions = world.history.values_of(&format!("suspension of {user}"));
        let was_suspended = suspensions.iter().any(|value| value == "1");
        if was_suspended || passwords.len() > PASSWORDS_MAX {
            continue;
        }
        let mut refusals = Vec::new();
        for password in passwords {
            let query = "mutation($i: SignInInput!) { signIn(input: $i) { user { id } } }";
            let input = json!({ "i": { "username": name, "password": password } });
            let answer = send_alone(world, number, None, query, &input).await;
            if answer["data"]["signIn"]["user"]["id"] == user.as_str() {
                refusals.clear();
                break;
            }
            refusals.push(answer["errors"][0]["extensions"]["code"].as_str().unwrap_or("none").to_owned());
        }
        if !refusals.is_empty() && refusals.iter().all(|code| code == "INVALID_CREDENTIALS") {
            let detail =
                format!("{user} of the name {name:?} signs in with none of {} passwords", refusals.len());
            world.history.broken("a user keeps the password", detail);
        }
    }
}

/// Signs in by a name; says whether there is such a user. A user with another name has it also after that.
async fn signs_in(world: &Arc<World>, number: u32, name: &str, names: &BTreeMap<String, String>) -> bool {
    let query = "mutation($i: SignInInput!) { signIn(input: $i) { user { id username } } }";
    let input = json!({ "i": { "username": name, "password": PASSWORD } });
    let mut answer = send_alone(world, number, None, query, &input).await;
    let user = answer["data"]["signIn"]["user"].take();
    let (Some(id), Some(now)) = (user["id"].as_str(), user["username"].as_str().map(canonical)) else {
        return false;
    };
    if let Some(before) = names.get(id).filter(|before| **before != now || *before != name) {
        let detail = format!("{id} has the name {before:?}, and {now:?} after a sign-in as {name:?}");
        world.history.broken("a rename is finished by itself", detail);
    }
    true
}
