//! SIGKILL in the middle of writes, again and again on one data directory.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tokio::task::JoinSet;

use crate::crash::api::{Answer, Api, text};
use crate::crash::check::{check, check_all, check_projections};
use crate::crash::program::{Server, assert_clean};
use crate::crash::record::{KnownWriter, Record, Register};
use crate::crash::writer::{Enough, NAMES, Writer, sign_up};

const KILLS: u32 = 22;
const WRITERS: usize = 6;
/// Where the choices of the writers and the moments of the kills start from.
const SEED: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_and_deletes_survive_every_kill() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut crew = Crew::default();
    for _ in 0..KILLS {
        let (server, api) = start(data);
        crew.look_after_restart(&api, data).await;
        if crew.writers.len() < WRITERS {
            crew.hire(&api, SEED).await;
        }
        // The first kills come early, when the data directory is new.
        let enough = Enough::after(1 + random.next_u32() % 60);
        let writing = crew.write(&api, &enough);
        enough.reached().await;
        server.kill();
        crew.gather(writing).await;
    }

    let (server, api) = start(data);
    crew.look_after_restart(&api, data).await;
    crew.check_everything(&api).await;
    crew.assert_no_name_is_lost(&api).await;
    assert_clean(data);
    assert!(server.stop().success(), "the server stops in time");
    assert_clean(data);
}

/// Starts a server, and a client of it.
pub fn start(data: &Path) -> (Server, Api) {
    let server = Server::start(data);
    let api = Api::new(&server.address);
    (server, api)
}

/// The writers and their record.
#[derive(Default)]
pub struct Crew {
    pub writers: Vec<Writer>,
    record: Arc<Mutex<Record>>,
}

impl Crew {
    fn record(&self) -> std::sync::MutexGuard<'_, Record> {
        self.record.lock().expect("the record")
    }

    /// Signs up one more writer.
    pub async fn hire(&mut self, api: &Api, seed: u64) {
        let author = self.writers.len();
        let name = format!("writer.{author}");
        let answer = sign_up(api, &name, None).await;
        let Answer::Acknowledged(payload) = answer else { panic!("a sign-up: {answer:?}") };
        let (id, name) = (text(&payload["user"]["id"]), Register::new(name));
        self.record().writers.push(KnownWriter { id, name });
        let token = text(&payload["accessToken"]);
        self.writers.push(Writer::new(author, token, Arc::clone(&self.record), seed));
    }

    /// Has all writers write at the same time.
    pub fn write(&mut self, api: &Api, enough: &Arc<Enough>) -> JoinSet<Writer> {
        let mut writing = JoinSet::new();
        for mut writer in self.writers.drain(..) {
            let (api, enough) = (api.clone(), Arc::clone(enough));
            writing.spawn(async move {
                writer.write(&api, &enough).await;
                writer
            });
        }
        writing
    }

    /// Waits until every writer has noticed that the server is gone.
    pub async fn gather(&mut self, writing: JoinSet<Writer>) {
        self.writers = writing.join_all().await;
        self.writers.sort_by_key(|writer| writer.author);
    }

    /// Verifies by way of the running server, which brings the read models up to date, then settles lost
    /// commands and checks touched posts.
    pub async fn look_after_restart(&mut self, api: &Api, data: &Path) {
        assert_clean(data);
        check_projections(api).await;
        let mut wrote = false;
        for writer in &mut self.writers {
            wrote |= writer.resolve(api).await;
        }
        if wrote {
            // It is in the lists when the read models have seen it.
            assert_clean(data);
        }
        let mut record = std::mem::take(&mut *self.record());
        check(api, &mut record).await;
        *self.record() = record;
    }

    /// Checks all posts that were ever written, while the writers rest.
    pub async fn check_everything(&self, api: &Api) {
        let mut record = std::mem::take(&mut *self.record());
        check_all(api, &mut record).await;
        *self.record() = record;
    }

    /// A name without an owner is free: no crash has left it with a rename or sign-up that never came to its
    /// end.
    async fn assert_no_name_is_lost(&self, api: &Api) {
        let taken: BTreeSet<String> =
            self.record().writers.iter().map(|writer| writer.name.get().clone()).collect();
        for name in NAMES {
            match sign_up(api, name, None).await {
                Answer::Acknowledged(_) => assert!(!taken.contains(name), "{name} was taken twice"),
                Answer::Refused(code) if code == "CONFLICT" => {
                    assert!(taken.contains(name), "{name} is lost")
                }
                answer => panic!("a sign-up: {answer:?}"),
            }
        }
    }
}
