//! What one request is charged in which logical partition, found by running it: each charge is put down to the post
//! that was asked about, its author, the user who asked, or another place, by the partition key of the operation.
//! What the projections do because of a command is part of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::survey::{Post, Survey};
use crate::blog::containers::{FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::ids::PostId;
use crate::compare::article::ArticleRequest;
use crate::compare::measure::{Database, Workload};
use crate::compare::metered::{Metered, Touch};
use crate::compare::plan::{Question, ReadPlan};
use crate::compare::writes::{Author, Command, CompareError, numbered_name};
use onehop_store::{ContainerName, Ledger, PartitionKey};

/// How often each request is run, unless fewer samples are wanted. The charges of one request hardly differ.
const RUNS_MAX: usize = 20;

/// What a request is charged where, in the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    pub request: ArticleRequest,
    pub about: About,
    pub parts: Vec<Part>,
}

/// Which posts a request was about. Whether a post is in the feed changes what a comment or a like brings about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Any, or none.
    Any,
    /// Those in the feed.
    InFeed,
    /// Those that are too old for the feed.
    Older,
}

/// A charge and where it arose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    pub container: ContainerName,
    pub place: Place,
    /// RU.
    pub request_charge: f64,
}

/// A logical partition, by what it is to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// The post's that is read or written to.
    Post,
    /// The author's of that post.
    Author,
    /// The user's who is read, or who writes.
    User,
    /// The only one of its container.
    Only,
    /// One that the request makes.
    New,
    /// Any other, or all.
    Elsewhere,
}

/// Whom and what one run is about.
#[derive(Debug, Default)]
struct Subject {
    post: Option<PartitionKey>,
    author: Option<PartitionKey>,
    user: Option<PartitionKey>,
}

/// Runs the article's ten requests on a database that was surveyed, and tells their footprints. Its reads and writes
/// work through `meter`, which keeps touches, as that of its follower does.
///
/// # Errors
/// The first request that failed.
pub async fn footprints(
    database: &Database,
    meter: &Metered,
    workload: &Workload,
    survey: &Survey,
) -> Result<Vec<Footprint>, CompareError> {
    let runs = workload.samples.min(RUNS_MAX);
    let prober = Prober { database, meter, workload, survey, runs };
    let mut footprints = prober.questions().await?;
    footprints.extend(prober.commands().await?);
    Ok(footprints)
}

struct Prober<'a> {
    database: &'a Database,
    meter: &'a Metered,
    workload: &'a Workload,
    survey: &'a Survey,
    runs: usize,
}

impl Prober<'_> {
    async fn questions(&self) -> Result<Vec<Footprint>, CompareError> {
        let plan = ReadPlan { model: self.database.model, batched: false };
        let mut footprints = Vec::new();
        for request in ArticleRequest::ALL {
            let mut tally = Tally::default();
            for number in 0..self.runs {
                let Some(question) = self.workload.question(request, number) else { continue };
                drop(self.take_touches());
                plan.ask(&self.database.reads, &question, &Arc::new(Ledger::new())).await?;
                tally.add(self.survey, &Subject::of_question(&question), &self.take_touches());
            }
            if tally.runs > 0 {
                footprints.push(tally.footprint(request, About::Any));
            }
        }
        Ok(footprints)
    }

    /// New posts come last: they push older ones out of the feed.
    async fn commands(&self) -> Result<Vec<Footprint>, CompareError> {
        self.database.follow().await?;
        let mut signing_up = Tally::default();
        let mut writers = Vec::with_capacity(self.runs);
        for number in 0..self.runs {
            drop(self.take_touches());
            let name = numbered_name("visitor", number);
            writers.push(self.database.writes.create_user(name, &Ledger::new()).await?);
            self.database.follow().await?;
            signing_up.add(self.survey, &Subject::default(), &self.take_touches());
        }
        let mut footprints = vec![signing_up.footprint(ArticleRequest::C1, About::Any)];
        // The processor of a server has its memos.
        self.posts(writers.get(..1).unwrap_or_default()).await?;
        let posts = &self.survey.population.posts;
        let (in_feed, older) = posts.split_at(posts.len().min(FEED_POSTS_MAX));
        for request in [ArticleRequest::C3, ArticleRequest::C4] {
            for (about, posts) in [(About::InFeed, in_feed), (About::Older, older)] {
                footprints.extend(self.reactions(request, about, posts, &writers).await?);
            }
        }
        footprints.push(self.posts(&writers).await?);
        Ok(footprints)
    }

    async fn posts(&self, writers: &[Author]) -> Result<Footprint, CompareError> {
        let mut tally = Tally::default();
        for (number, writer) in writers.iter().enumerate() {
            let subject = Subject { user: Some(writer.id.partition_key()), ..Subject::default() };
            if let Some(command) = self.workload.command(ArticleRequest::C2, number, writer.clone()) {
                self.run(command, &subject, &mut tally).await?;
            }
        }
        Ok(tally.footprint(ArticleRequest::C2, About::Any))
    }

    /// Comments on, or likes of, posts that lie evenly apart; `None` without posts.
    async fn reactions(
        &self,
        request: ArticleRequest,
        about: About,
        posts: &[Post],
        writers: &[Author],
    ) -> Result<Option<Footprint>, CompareError> {
        if posts.is_empty() {
            return Ok(None);
        }
        let mut tally = Tally::default();
        for (number, writer) in writers.iter().enumerate() {
            let post = posts[number * posts.len() / writers.len()];
            let subject = Subject {
                post: Some(post.id.partition_key()),
                author: self.survey.population.users.get(post.author).cloned(),
                user: Some(writer.id.partition_key()),
            };
            if let Some(command) = self.workload.command(request, number, writer.clone()) {
                self.run(on(command, post.id), &subject, &mut tally).await?;
            }
        }
        Ok(Some(tally.footprint(request, about)))
    }

    /// Of the requests and of the projections.
    fn take_touches(&self) -> Vec<Touch> {
        let mut touches = self.meter.take_touches();
        touches.extend(self.database.follower.iter().flat_map(|follower| follower.store.take_touches()));
        touches
    }

    async fn run(&self, command: Command, subject: &Subject, tally: &mut Tally) -> Result<(), CompareError> {
        drop(self.take_touches());
        self.database.writes.run(command, &Ledger::new()).await?;
        self.database.follow().await?;
        tally.add(self.survey, subject, &self.take_touches());
        Ok(())
    }
}

/// The same command on another post.
fn on(command: Command, post: PostId) -> Command {
    match command {
        Command::Comment { author, content, .. } => Command::Comment { author, post, content },
        Command::Like { author, .. } => Command::Like { author, post },
        Command::Post { .. } => command,
    }
}

impl Subject {
    fn of_question(question: &Question) -> Self {
        let nobody = Self::default();
        match question {
            Question::User(user) | Question::PostsOf(user, _) => {
                Self { user: Some(user.partition_key()), ..nobody }
            }
            Question::Post(post) | Question::Comments(post, _) | Question::Likes(post, _) => {
                Self { post: Some(post.partition_key()), ..nobody }
            }
            Question::Feed(_) => nobody,
        }
    }

    fn place(&self, survey: &Survey, touch: &Touch) -> Place {
        let Some(key) = &touch.partition_key else { return Place::Elsewhere };
        let held = survey.container(touch.container).map(|surveyed| &surveyed.held);
        let is = |subject: &Option<PartitionKey>| subject.as_ref() == Some(key);
        match touch.container {
            POSTS if is(&self.post) => Place::Post,
            USERS if is(&self.user) => Place::User,
            USERS if is(&self.author) => Place::Author,
            _ if held.is_some_and(|held| held.len() == 1 && held.contains_key(key)) => Place::Only,
            _ if held.is_some_and(|held| held.contains_key(key)) => Place::Elsewhere,
            _ => Place::New,
        }
    }
}

/// Charges of several runs.
#[derive(Default)]
struct Tally {
    charges: BTreeMap<(ContainerName, Place), f64>,
    runs: usize,
}

impl Tally {
    fn add(&mut self, survey: &Survey, subject: &Subject, touches: &[Touch]) {
        self.runs += 1;
        for touch in touches {
            let place = subject.place(survey, touch);
            *self.charges.entry((touch.container, place)).or_default() += touch.charge.0;
        }
    }

    fn footprint(self, request: ArticleRequest, about: About) -> Footprint {
        let runs = self.runs.max(1) as f64;
        let part = |((container, place), sum)| Part { container, place, request_charge: sum / runs };
        Footprint { request, about, parts: self.charges.into_iter().map(part).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::survey::{Held, Surveyed};
    use super::*;
    use crate::blog::containers::{ACCOUNTS, FEED};
    use onehop_store::RequestCharge;

    fn survey() -> Survey {
        let surveyed = |container, keys: &[&str]| Surveyed {
            container,
            partition_key: "id",
            held: keys.iter().map(|key| (PartitionKey::from(*key), Held::default())).collect(),
        };
        let containers = vec![
            surveyed(USERS, &["ada", "bob", "eve"]),
            surveyed(POSTS, &["p1", "p2"]),
            surveyed(FEED, &["post"]),
            surveyed(ACCOUNTS, &["ada", "bob", "eve"]),
        ];
        Survey { containers, ..Survey::default() }
    }

    fn touch(container: ContainerName, key: &str, charge: f64) -> Touch {
        let partition_key = (!key.is_empty()).then(|| PartitionKey::from(key));
        Touch { container, partition_key, charge: RequestCharge(charge) }
    }

    #[test]
    fn a_charge_is_put_down_to_what_its_logical_partition_is_to_the_request() {
        let key = |text| Some(PartitionKey::from(text));
        let subject = Subject { post: key("p1"), author: key("ada"), user: key("bob") };
        for (container, partition_key, place) in [
            (POSTS, "p1", Place::Post),
            (POSTS, "p2", Place::Elsewhere),
            (POSTS, "p3", Place::New),
            (POSTS, "", Place::Elsewhere),
            (USERS, "ada", Place::Author),
            (USERS, "bob", Place::User),
            (USERS, "eve", Place::Elsewhere),
            (FEED, "post", Place::Only),
            (ACCOUNTS, "ada", Place::Elsewhere),
            (ACCOUNTS, "dan", Place::New),
        ] {
            let touch = touch(container, partition_key, 1.0);
            assert_eq!(subject.place(&survey(), &touch), place, "{container} {partition_key:?}");
        }
    }

    #[test]
    fn charges_are_the_mean_of_the_runs() {
        let key = |text| Some(PartitionKey::from(text));
        let mut tally = Tally::default();
        for (post, charges) in [("p1", [2.0, 3.0]), ("p2", [4.0, 0.0])] {
            let subject = Subject { post: key(post), ..Subject::default() };
            let touches = charges.map(|charge| touch(POSTS, post, charge));
            tally.add(&survey(), &subject, &touches);
        }
        let part = Part { container: POSTS, place: Place::Post, request_charge: 4.5 };
        assert_eq!(tally.footprint(ArticleRequest::Q4, About::Any).parts, [part]);
    }
}
