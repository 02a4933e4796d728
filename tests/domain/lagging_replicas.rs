//! Commands of two processes on an account whose replicas lag: a command of one process neither overlooks
//! the acknowledged writes of the other one nor takes them for a conflict.

use std::sync::Arc;

use onehop::accounts::audience::Audience;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::password::HashingCost;
use onehop::app::{App, AppOptions, Member, OpenStore, container_specs};
use onehop::blog::commands::{
    ChangePassword, CreateComment, CreatePost, CreateUser, Refusal, SignIn, UpdateComment, UpdatePost,
    UpdateUser,
};
use onehop::blog::items::{CommentItem, PostItem, UserItem};
use onehop::domain::accounts::sessions::{SessionSettings, Sessions};
use onehop_change_feed::Sharing;
use onehop_runtime::clock::SystemClock;
use onehop_store::Ledger;
use onehop_testing::lagging_account::LaggingAccount;

use crate::commands::harness;
use crate::webstore::shop::Shop;

/// Two processes, of which the second lags behind the first from some time on.
struct TwoProcesses {
    account: LaggingAccount,
    ahead: App,
    behind: App,
}

async fn app(account: &LaggingAccount, owner: &str) -> App {
    let (store, recent) = account.connect();
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    let member = Member { owner: owner.to_owned(), sharing: Sharing::with_others() };
    App::over(&OpenStore::Shared { store, recent }, member, options).await.expect("the app opens")
}

impl TwoProcesses {
    async fn new() -> Self {
        let account = LaggingAccount::new(&container_specs(), Arc::new(SystemClock));
        let (ahead, behind) = (app(&account, "ahead").await, app(&account, "behind").await);
        Self { account, ahead, behind }
    }

    async fn user(&self) -> UserItem {
        let input = CreateUser {
            username: "ada".to_owned(),
            password: harness::PASSWORD.to_owned(),
            idempotency_key: None,
            caller: HashingCaller::default(),
        };
        self.ahead.commands.create_user(input, &Ledger::new()).await.expect("a user")
    }

    async fn post(&self, user: &UserItem) -> Arc<PostItem> {
        let input = CreatePost {
            user_id: user.id,
            title: "A title".to_owned(),
            content: "Some content.".to_owned(),
            tags: Vec::new(),
            idempotency_key: None,
        };
        self.ahead.commands.create_post(input, &Ledger::new()).await.expect("a post")
    }

    async fn comment(&self, user: &UserItem) -> CommentItem {
        let post_id = self.post(user).await.id;
        let input =
            CreateComment { user_id: user.id, post_id, content: "First.".to_owned(), idempotency_key: None };
        self.ahead.commands.create_comment(input, &Ledger::new()).await.expect("a comment").comment
    }
}

fn rename(user: &UserItem, username: &str) -> UpdateUser {
    UpdateUser { user_id: user.id, username: username.to_owned() }
}

fn retitle(user: &UserItem, post: &PostItem, title: &str, if_version: Option<i32>) -> UpdatePost {
    UpdatePost {
        user_id: user.id,
        post_id: post.id,
        title: Some(title.to_owned()),
        content: None,
        tags: None,
        if_version,
    }
}

fn edit(comment: &CommentItem, content: &str, if_version: Option<i32>) -> UpdateComment {
    UpdateComment {
        user_id: comment.user_id,
        post_id: comment.post_id,
        comment_id: comment.id,
        content: content.to_owned(),
        if_version,
    }
}

#[tokio::test]
async fn a_rename_to_the_name_of_before_is_written_though_a_replica_still_has_that_name() {
    let processes = TwoProcesses::new().await;
    let user = processes.user().await;
    processes.account.lag();
    let ledger = Ledger::new();
    processes.ahead.commands.update_user(rename(&user, "grace"), &ledger).await.expect("a rename");
    let renamed = processes.behind.commands.update_user(rename(&user, "ada"), &ledger).await;
    assert_eq!(renamed.expect("a rename").version, user.version + 2, "it was written");
    let again = processes.ahead.commands.update_user(rename(&user, "ada"), &ledger).await;
    assert_eq!(again.expect("a rename").username, "ada");
}

#[tokio::test]
async fn a_text_of_before_is_written_though_a_replica_still_has_that_text() {
    let processes = TwoProcesses::new().await;
    let user = processes.user().await;
    let comment = processes.comment(&user).await;
    let ledger = Ledger::new();
    let shops = [&processes.ahead, &processes.behind].map(|app| Shop::new(&app.webstore_commands));
    let id = shops[0].create_category("Cups").await.expect("a category");
    processes.account.lag();
    processes.ahead.commands.update_comment(edit(&comment, "Second.", None), &ledger).await.expect("an edit");
    let edited = processes.behind.commands.update_comment(edit(&comment, "First.", None), &ledger).await;
    assert_eq!(edited.expect("an edit").text_version, 3);
    for (shop, name, version) in [(&shops[0], "Mugs", 2), (&shops[1], "Cups", 3)] {
        assert_eq!(shop.rename_category(id, name).await.expect("a rename"), version);
    }
}

#[tokio::test]
async fn an_edit_of_the_last_version_is_no_conflict_though_a_replica_lacks_that_version() {
    let processes = TwoProcesses::new().await;
    let user = processes.user().await;
    let (post, comment) = (processes.post(&user).await, processes.comment(&user).await);
    let ledger = Ledger::new();
    let (ahead, behind) = (&processes.ahead.commands, &processes.behind.commands);
    processes.account.lag();
    ahead.update_post(retitle(&user, &post, "Two", Some(1)), &ledger).await.expect("an edit");
    let edited = behind.update_post(retitle(&user, &post, "Three", Some(2)), &ledger).await;
    assert_eq!(edited.expect("an edit").text_version, 3);
    ahead.update_comment(edit(&comment, "Two.", Some(1)), &ledger).await.expect("an edit");
    let edited = behind.update_comment(edit(&comment, "Three.", Some(2)), &ledger).await;
    assert_eq!(edited.expect("an edit").text_version, 3);
    // An edit of a version that does not exist is one.
    let refused = [
        harness::refusal(behind.update_post(retitle(&user, &post, "Nine", Some(9)), &ledger).await),
        harness::refusal(behind.update_comment(edit(&comment, "Nine.", Some(9)), &ledger).await),
    ];
    for Refusal { current_version, .. } in refused {
        assert_eq!(current_version, Some(3));
    }
}

#[tokio::test]
async fn a_rename_keeps_the_last_password_though_a_replica_still_has_the_one_before() {
    let processes = TwoProcesses::new().await;
    let user = processes.user().await;
    processes.account.lag();
    let sessions = [&processes.ahead, &processes.behind].map(|app| {
        let (store, clock) = (Arc::clone(&app.recent), Arc::clone(&app.clock));
        Sessions::new(store, clock, Audience::named("onehop"), SessionSettings::default())
    });
    let ledger = Ledger::new();
    let change = ChangePassword {
        user_id: user.id,
        username: user.username.clone(),
        current_password: harness::PASSWORD.to_owned(),
        new_password: "another horse battery".to_owned(),
        caller: HashingCaller::default(),
    };
    processes.ahead.commands.change_password(change, &sessions[0], &ledger).await.expect("a change");
    processes.behind.commands.update_user(rename(&user, "grace"), &ledger).await.expect("a rename");
    for (password, is_current) in [("another horse battery", true), (harness::PASSWORD, false)] {
        let input = SignIn {
            username: "grace".to_owned(),
            password: password.to_owned(),
            caller: HashingCaller::default(),
        };
        let started = processes.behind.commands.start_session(input, &sessions[1], &ledger).await;
        assert_eq!(started.is_ok(), is_current, "{password}");
    }
}

#[tokio::test]
async fn the_account_of_a_session_is_found_though_a_replica_lacks_it() {
    let processes = TwoProcesses::new().await;
    let ledger = Ledger::new();
    processes.account.lag();
    let user = processes.user().await;
    let customer = Shop::new(&processes.ahead.webstore_commands).sign_up("ada@example.com", None).await;
    let customer = customer.expect("a customer");
    let found = processes.behind.commands.user(user.id, &ledger).await.expect("an answer");
    assert_eq!(found.expect("a user").username, user.username);
    let found = processes.behind.webstore_commands.customer(customer.id, &ledger).await.expect("an answer");
    assert_eq!(found.expect("a customer").email_address, customer.email_address);
}
