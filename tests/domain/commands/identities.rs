//! Users of OpenID Connect providers.

use std::sync::Arc;

use onehop::blog::commands::ExternalSubject;
use onehop_store::Ledger;
use sha2::{Digest as _, Sha256};

use super::harness::Blog;

fn subject(subject: &str, preferred: Option<&str>) -> ExternalSubject {
    ExternalSubject {
        issuer: "https://issuer.example".to_owned(),
        subject: subject.to_owned(),
        preferred_username: preferred.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_subject_keeps_its_user_when_the_provider_renames_it() {
    let blog = Blog::new().await;
    let first = blog.commands.user_for_subject(&subject("1", Some("ada")), &Ledger::new()).await.unwrap();
    let again = blog.commands.user_for_subject(&subject("1", Some("bob")), &Ledger::new()).await.unwrap();
    assert_eq!((first.username.as_str(), again), ("ada", first.clone()));
}

#[tokio::test]
async fn two_subjects_of_one_name_get_two_names() {
    let blog = Blog::new().await;
    let ledger = Ledger::new();
    blog.user("ada").await;
    let one = blog.commands.user_for_subject(&subject("1", Some("Ada")), &ledger).await.unwrap();
    let two = blog.commands.user_for_subject(&subject("2", Some("Ada")), &ledger).await.unwrap();
    let nameless = blog.commands.user_for_subject(&subject("3", None), &ledger).await.unwrap();
    assert!(one.username.starts_with("Ada-") && two.username.starts_with("Ada-"));
    assert!(nameless.username.starts_with("user-"));
    assert_ne!(one.username, two.username);
}

#[tokio::test]
async fn a_subject_whose_names_were_all_registered_gets_a_random_one() {
    let blog = Blog::new().await;
    let ledger = Ledger::new();
    let digest = Sha256::digest("https://issuer.example\0victim");
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    blog.user("victim").await;
    for prefix in ["victim", "user"] {
        for index in 0..10 {
            blog.user(&format!("{prefix}-{}", &digest[index * 6..(index + 1) * 6])).await;
        }
    }
    let victim = subject("victim", Some("victim"));
    let user = blog.commands.user_for_subject(&victim, &ledger).await.unwrap();
    let suffix = user.username.strip_prefix("user-").unwrap();
    assert!(suffix.len() == 12 && !digest.contains(suffix), "{suffix}");
    assert_eq!(blog.commands.user_for_subject(&victim, &ledger).await.unwrap(), user);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_uses_make_one_user() {
    let blog = Arc::new(Blog::new().await);
    let uses = (0..8).map(|_| {
        let blog = Arc::clone(&blog);
        async move { blog.commands.user_for_subject(&subject("1", Some("ada")), &Ledger::new()).await }
    });
    let users: Vec<_> = futures::future::join_all(uses).await.into_iter().collect::<Result<_, _>>().unwrap();
    assert!(users.iter().all(|user| *user == users[0] && user.username == "ada"), "{users:?}");
}
