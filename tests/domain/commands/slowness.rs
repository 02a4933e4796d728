//! A process stands still at every step of a sign-up and of a rename, others act meanwhile, and it goes on.
//! In every outcome, each user can sign in under the name beside the user's texts, and no other user has that
//! name.

use std::collections::HashMap;
use std::sync::Arc;

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{CommandError, CommandLimits, SignIn, UpdateUser, UsernameReservations};
use onehop::blog::containers::USERS;
use onehop::blog::ids::UserId;
use onehop::blog::items::UserItem;
use onehop_store::{Ledger, Store};
use tokio_util::task::TaskTracker;

use super::harness::{Blog, Meddling, PASSWORD, sign_up};

/// The acts of others while one process stands still.
const INTRUSIONS: [&[Act]; 9] = [
    &[],
    &[Act::SignUp("countess")],
    &[Act::SignUp("ada")],
    &[Act::Rename("lovelace"), Act::SignUp("countess"), Act::SignUp("ada")],
    &[Act::Rename("countess")],
    &[Act::Rename("countess"), Act::Rename("ada")],
    &[Act::RollForward, Act::SignUp("ada")],
    &[Act::RollForward, Act::Rename("ada"), Act::SignUp("countess")],
    &[Act::SignUp("countess"), Act::OtherRename("byron"), Act::RollForward, Act::SignUp("ada")],
];

#[derive(Debug, Clone, Copy)]
enum Act {
    SignUp(&'static str),
    /// Of the user whose rename stands still.
    Rename(&'static str),
    /// Of the user who signed up last.
    OtherRename(&'static str),
    RollForward,
}

struct Scene<'a> {
    blog: &'a Blog,
    /// Keeps the names of one scene apart from the names of others in the same store.
    number: usize,
    /// All who were ever created, as far as their creators were told.
    users: Vec<UserId>,
}

impl<'a> Scene<'a> {
    fn new(blog: &'a Blog, number: usize) -> Self {
        blog.store.next(Meddling::Nothing);
        Self { blog, number, users: Vec::new() }
    }

    fn name(&self, name: &str) -> String {
        format!("{name}{}", self.number)
    }

    async fn sign_up(&mut self, name: &str) -> Option<UserId> {
        let result = self.blog.sign_up(&self.name(name)).await;
        self.note(result)
    }

    fn note(&mut self, result: Result<UserItem, CommandError>) -> Option<UserId> {
        let id = result.ok()?.id;
        self.users.push(id);
        Some(id)
    }

    async fn rename(&self, user_id: UserId, name: &str) {
        let input = UpdateUser { user_id, username: self.name(name) };
        // Refused or not: only the outcome counts.
        let _ = self.blog.commands.update_user(input, &Ledger::new()).await;
    }

    /// The same in a process of its own, to be run slowly.
    fn renaming(
        &self,
        user_id: UserId,
        name: &str,
    ) -> impl Future<Output = Result<UserItem, CommandError>> + Send + use<> {
        let commands = self.blog.another(CommandLimits::default());
        let input = UpdateUser { user_id, username: self.name(name) };
        async move { commands.update_user(input, &Ledger::new()).await }
    }

    fn signing_up(&self, name: &str) -> impl Future<Output = Result<UserItem, CommandError>> + Send + use<> {
        let commands = self.blog.another(CommandLimits::default());
        let input = sign_up(&self.name(name), None);
        async move { commands.create_user(input, &Ledger::new()).await }
    }

    async fn act(&mut self, act: Act, ada: Option<UserId>) {
        match (act, ada) {
            (Act::SignUp(name), _) => drop(self.sign_up(name).await),
            (Act::Rename(name), Some(ada)) => self.rename(ada, name).await,
            (Act::OtherRename(name), _) => {
                if let Some(other) = self.users.last().copied() {
                    self.rename(other, name).await;
                }
            }
            (Act::RollForward, Some(ada)) => {
                let names = UsernameReservations::new(self.blog.store.clone());
                names.roll_forward(ada, &Ledger::new()).await.unwrap();
            }
            (Act::Rename(_) | Act::RollForward, None) => {}
        }
    }

    /// Lets a command stand still before its n-th write while others act, and then go on.
    async fn run_slowly(
        &mut self,
        step: usize,
        command: impl Future<Output = Result<UserItem, CommandError>> + Send + 'static,
        intrusion: &[Act],
        ada: Option<UserId>,
    ) -> Result<UserItem, CommandError> {
        let store = Arc::clone(&self.blog.store);
        let gate = store.hold().await;
        store.next(Meddling::Pause(step));
        let slow = TaskTracker::new().spawn(command);
        store.until_held(1).await;
        for act in intrusion {
            self.act(*act, ada).await;
        }
        drop(gate);
        slow.await.unwrap()
    }

    async fn assert_that_names_are_unique_and_held(&self, context: &str) {
        let mut holders: HashMap<String, UserId> = HashMap::new();
        let ledger = Ledger::new();
        for id in &self.users {
            let item = self.blog.store.read(USERS, &id.partition_key(), &id.to_string(), &ledger).await;
            let user: UserItem = item.unwrap().expect("a user who was created").decode().unwrap();
            let other = holders.insert(user.username.to_lowercase(), *id);
            assert!(other.is_none_or(|other| other == *id), "{context}: {} is taken twice", user.username);
            let input = SignIn {
                username: user.username.clone(),
                password: PASSWORD.to_owned(),
                caller: HashingCaller::default(),
            };
            let signed_in = self.blog.commands.sign_in(input, &ledger).await;
            assert_eq!(signed_in.map(|user| user.id).ok(), Some(*id), "{context}: {} is lost", user.username);
        }
    }
}

#[tokio::test]
async fn a_slow_rename_takes_no_name_twice_and_loses_none() {
    let blog = Blog::new().await;
    for (number, intrusion) in INTRUSIONS.iter().cycle().enumerate().take(4 * INTRUSIONS.len()) {
        let step = number / INTRUSIONS.len();
        let mut scene = Scene::new(&blog, number);
        let ada = scene.sign_up("ada").await.unwrap();
        let slow = scene.renaming(ada, "countess");
        let _ = scene.run_slowly(step, slow, intrusion, Some(ada)).await;
        scene.assert_that_names_are_unique_and_held(&format!("step {step}, {intrusion:?}")).await;
    }
}

#[tokio::test]
async fn a_slow_sign_up_takes_no_name_twice_and_loses_none() {
    let intrusions: [&[Act]; 3] = [
        &[Act::SignUp("Countess")],
        &[Act::SignUp("Countess"), Act::OtherRename("byron")],
        &[Act::SignUp("Countess"), Act::OtherRename("byron"), Act::SignUp("COUNTESS")],
    ];
    let blog = Blog::new().await;
    for (number, intrusion) in intrusions.iter().cycle().enumerate().take(2 * intrusions.len()) {
        let step = number / intrusions.len();
        let mut scene = Scene::new(&blog, number);
        let slow = scene.signing_up("countess");
        let result = scene.run_slowly(step, slow, intrusion, None).await;
        scene.note(result);
        scene.assert_that_names_are_unique_and_held(&format!("step {step}, {intrusion:?}")).await;
    }
}

#[tokio::test]
async fn a_slow_take_over_of_a_name_loses_to_its_former_owner() {
    let intrusions: [&[Act]; 4] = [
        &[Act::Rename("ada")],
        &[Act::Rename("ada"), Act::Rename("countess")],
        &[Act::Rename("byron"), Act::SignUp("countess"), Act::Rename("ada")],
        &[Act::RollForward, Act::Rename("ada")],
    ];
    let blog = Blog::new().await;
    // The Create that is refused, the user rewritten as read, the reservation taken over, the new user.
    for (number, intrusion) in intrusions.iter().cycle().enumerate().take(4 * intrusions.len()) {
        let step = number / intrusions.len();
        let mut scene = Scene::new(&blog, number);
        let ada = scene.sign_up("ada").await.unwrap();
        blog.store.next(Meddling::CrashBefore(3));
        scene.rename(ada, "countess").await;
        let slow = scene.signing_up("ada");
        let result = scene.run_slowly(step, slow, intrusion, Some(ada)).await;
        scene.note(result);
        scene.assert_that_names_are_unique_and_held(&format!("step {step}, {intrusion:?}")).await;
    }
}
