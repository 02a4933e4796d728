//! A toy schema with one field for each way a request can go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_graphql::{Context, Enum, ErrorExtensions, ID, InputObject, Object, Subscription as Root};
use futures::Stream;
use futures::stream::{iter, unfold};
use tokio::sync::broadcast;

use super::{State, Viewer};

struct Number(i32);

#[Object]
impl Number {
    async fn value(&self, context: &Context<'_>) -> i32 {
        context.data_unchecked::<Arc<State>>().resolved.fetch_add(1, Ordering::SeqCst);
        self.0
    }

    async fn odd(&self) -> async_graphql::Result<Option<bool>> {
        if self.0 % 2 == 0 { Err(async_graphql::Error::new("not odd")) } else { Ok(Some(true)) }
    }

    async fn viewer(&self, context: &Context<'_>) -> Option<String> {
        context.data_unchecked::<Viewer>().0.clone()
    }

    async fn padding(&self, length: usize) -> String {
        "x".repeat(length)
    }

    async fn panics(&self) -> String {
        fault()
    }
}

pub(super) struct Subscription;

#[Root]
impl Subscription {
    async fn numbers(&self, context: &Context<'_>) -> impl Stream<Item = Number> {
        let numbers = context.data_unchecked::<std::sync::Mutex<Option<broadcast::Receiver<i32>>>>();
        let numbers = numbers.lock().unwrap().take().unwrap();
        unfold(numbers, async |mut numbers| Some((Number(numbers.recv().await.ok()?), numbers)))
    }

    async fn counts_to(&self, last: i32) -> impl Stream<Item = i32> {
        iter(1..=last)
    }

    async fn refused(&self) -> async_graphql::Result<impl Stream<Item = i32>> {
        let error = async_graphql::Error::new("nothing to hear")
            .extend_with(|_, error| error.set("code", "NOT_FOUND"));
        let refused: async_graphql::Result<futures::stream::Empty<i32>> = Err(error);
        refused
    }
}

#[derive(Enum, Copy, Clone, PartialEq, Eq)]
enum Tone {
    Warm,
    Cold,
}

#[derive(InputObject)]
struct Greeting {
    name: String,
    #[graphql(default_with = "Tone::Warm")]
    tone: Tone,
    times: Option<i32>,
}

pub(super) struct Query;

#[Object]
impl Query {
    async fn greet(&self, greeting: Greeting) -> String {
        let name = greeting.name.repeat(greeting.times.unwrap_or(1).try_into().unwrap_or(0));
        match greeting.tone {
            Tone::Warm => format!("Welcome, {name}!"),
            Tone::Cold => name,
        }
    }

    async fn item(&self, id: ID) -> String {
        id.to_string()
    }

    async fn page(&self, #[graphql(default = 20)] first: i32, after: Option<String>) -> String {
        format!("{first} after {after:?}")
    }

    async fn viewer(&self, context: &Context<'_>) -> Option<String> {
        context.data_unchecked::<Viewer>().0.clone()
    }

    async fn nested(&self) -> Query {
        Query
    }

    async fn fails(&self) -> async_graphql::Result<Option<String>> {
        Err(async_graphql::Error::new("out of order")
            .extend_with(|_, error| error.set("code", "UNAVAILABLE")))
    }

    async fn fails_without_null(&self) -> async_graphql::Result<String> {
        Err(async_graphql::Error::new("out of order"))
    }

    async fn panics(&self) -> String {
        fault()
    }

    async fn waits(&self, context: &Context<'_>) -> String {
        let state = context.data_unchecked::<Arc<State>>();
        state.begun.notify_one();
        state.released.notified().await;
        "done".to_owned()
    }
}

fn fault() -> String {
    panic!("a secret of the server")
}

pub(super) struct Mutation;

#[Object]
impl Mutation {
    async fn count(&self, context: &Context<'_>) -> usize {
        context.data_unchecked::<Arc<State>>().mutations.fetch_add(1, Ordering::Relaxed) + 1
    }
}
