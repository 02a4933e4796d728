//! Footprints of the article's requests, found by running them: each charge is attributed to the post that
//! was asked about, its author, the user who asked, or another logical partition, by the partition key of the
//! operation. The projections' work because of a command is part of it.

use std::ops::Range;
use std::sync::Arc;

use super::article::ArticleRequest;
use super::measure::{ModelDatabase, Workload};
use super::read_path::{ArticleRead, ReadPath};
use super::survey::{self, AUTHOR, FEED_AUTHORS, FEED_POSTS, POST, RankedPost, Survey, USER, USER_POSTS};
use super::writes::{ArticleCommand, CompareError, SampleAuthor, numbered_name};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::PostId;
use onehop_store::{Ledger, PartitionKey};
use onehop_study::metered::{MeteredStore, PartitionAccess};
use onehop_study::partitions::{Footprint, FootprintTally, PartitionRole, contents_of};

/// The runs of each request, unless fewer samples are wanted. The charges of one request hardly differ.
const RUNS_MAX: usize = 20;

/// The post, its author and the user that one run is about.
#[derive(Debug, Default)]
struct FootprintSubject {
    post: Option<PartitionKey>,
    author: Option<PartitionKey>,
    user: Option<PartitionKey>,
    /// The groups that other posts and other users belong to, where a run looks each of them up.
    other_posts: Option<&'static str>,
    other_users: Option<&'static str>,
}

/// The charges of the requests of one data model in each logical partition.
#[derive(Debug, Default)]
pub struct ModelFootprints {
    /// Of the reads, by the way in which they are read.
    pub reads: Vec<(ReadPath, Vec<Footprint>)>,
    pub commands: Vec<Footprint>,
}

impl ModelFootprints {
    /// The footprints of one way to read, with the commands.
    #[must_use]
    pub fn of_path(&self, path: ReadPath) -> Vec<Footprint> {
        let reads = self.reads.iter().filter(|(known, _)| *known == path);
        reads.flat_map(|(_, footprints)| footprints).chain(&self.commands).cloned().collect()
    }
}

/// Runs the article's reads on a database that was surveyed, in each way in which its data model is read, and
/// returns their footprints. They work through `meter`, which records touches. Commands change the data that
/// V1 can read, so the reads come before them.
///
/// # Errors
/// The first request that failed.
pub async fn footprints_of_reads(
    database: &ModelDatabase,
    meter: &MeteredStore,
    workload: &Workload,
    survey: &Survey,
) -> Result<Vec<(ReadPath, Vec<Footprint>)>, CompareError> {
    let prober = Prober::new(database, meter, workload, survey);
    let mut reads = Vec::new();
    for path in ReadPath::ALL.into_iter().filter(|path| path.model == database.model) {
        reads.push((path, prober.reads(path).await?));
    }
    Ok(reads)
}

/// The same for the commands. The meter of the database's follower records touches, too.
///
/// # Errors
/// The first request that failed.
pub async fn footprints_of_commands(
    database: &ModelDatabase,
    meter: &MeteredStore,
    workload: &Workload,
    survey: &Survey,
) -> Result<Vec<Footprint>, CompareError> {
    Prober::new(database, meter, workload, survey).commands().await
}

struct Prober<'a> {
    database: &'a ModelDatabase,
    meter: &'a MeteredStore,
    workload: &'a Workload,
    survey: &'a Survey,
    runs: usize,
}

impl<'a> Prober<'a> {
    fn new(
        database: &'a ModelDatabase,
        meter: &'a MeteredStore,
        workload: &'a Workload,
        survey: &'a Survey,
    ) -> Self {
        Self { database, meter, workload, survey, runs: workload.samples.min(RUNS_MAX) }
    }

    async fn reads(&self, path: ReadPath) -> Result<Vec<Footprint>, CompareError> {
        let mut footprints = Vec::new();
        for request in ArticleRequest::ALL {
            let mut tally = FootprintTally::default();
            for number in 0..self.runs {
                let Some(read) = self.workload.read(request, number) else { continue };
                drop(self.take_touches());
                path.run(&self.database.reads, &read, &Arc::new(Ledger::new())).await?;
                FootprintSubject::of_read(&read, self.survey).add_to(
                    &mut tally,
                    self.survey,
                    &self.take_touches(),
                );
            }
            footprints.extend(tally.footprint(&request.name(), None));
        }
        Ok(footprints)
    }

    /// New posts come last: they push older ones out of the feed.
    async fn commands(&self) -> Result<Vec<Footprint>, CompareError> {
        self.database.follow().await?;
        let mut signing_up = FootprintTally::default();
        let mut writers = Vec::with_capacity(self.runs);
        for number in 0..self.runs {
            drop(self.take_touches());
            let name = numbered_name("visitor", number);
            writers.push(self.database.writes.create_user(name, &Ledger::new()).await?);
            self.database.follow().await?;
            FootprintSubject::default().add_to(&mut signing_up, self.survey, &self.take_touches());
        }
        let signing_up = signing_up.footprint(&ArticleRequest::C1.name(), None);
        let mut footprints: Vec<Footprint> = signing_up.into_iter().collect();
        // The processor of a server has its memos.
        self.posts(writers.get(..1).unwrap_or_default()).await?;
        let (in_feed, all) = (self.survey.posts_in_feed(), self.survey.posts.len());
        for request in [ArticleRequest::C3, ArticleRequest::C4] {
            for ranks in [0..in_feed, in_feed..all] {
                footprints.extend(self.reactions(request, ranks, &writers).await?);
            }
        }
        footprints.extend(self.posts(&writers).await?);
        Ok(footprints)
    }

    async fn posts(&self, writers: &[SampleAuthor]) -> Result<Option<Footprint>, CompareError> {
        let mut tally = FootprintTally::default();
        for (number, writer) in writers.iter().enumerate() {
            let subject =
                FootprintSubject { user: Some(writer.id.partition_key()), ..FootprintSubject::default() };
            if let Some(command) = self.workload.command(ArticleRequest::C2, number, writer.clone()) {
                self.run(command, &subject, &mut tally).await?;
            }
        }
        Ok(tally.footprint(&ArticleRequest::C2.name(), None))
    }

    /// Comments on, or likes of, posts that lie evenly apart among these ranks; `None` without posts. The
    /// consequences of a comment or a like depend on whether its post is in the feed.
    async fn reactions(
        &self,
        request: ArticleRequest,
        ranks: Range<usize>,
        writers: &[SampleAuthor],
    ) -> Result<Option<Footprint>, CompareError> {
        let posts: &[RankedPost] = &self.survey.posts[ranks.clone()];
        if posts.is_empty() {
            return Ok(None);
        }
        let mut tally = FootprintTally::default();
        for (number, writer) in writers.iter().enumerate() {
            let post = posts[number * posts.len() / writers.len()];
            let subject = FootprintSubject {
                post: Some(post.id.partition_key()),
                author: self.survey.users.get(post.author).cloned(),
                user: Some(writer.id.partition_key()),
                ..FootprintSubject::default()
            };
            if let Some(command) = self.workload.command(request, number, writer.clone()) {
                self.run(on(command, post.id), &subject, &mut tally).await?;
            }
        }
        Ok(tally.footprint(&request.name(), Some(survey::posts(ranks))))
    }

    /// Of the requests and of the projections.
    fn take_touches(&self) -> Vec<PartitionAccess> {
        let mut touches = self.meter.take_touches();
        touches.extend(self.database.follower.iter().flat_map(|follower| follower.store.take_touches()));
        touches
    }

    async fn run(
        &self,
        command: ArticleCommand,
        subject: &FootprintSubject,
        tally: &mut FootprintTally,
    ) -> Result<(), CompareError> {
        drop(self.take_touches());
        self.database.writes.run(command, &Ledger::new()).await?;
        self.database.follow().await?;
        subject.add_to(tally, self.survey, &self.take_touches());
        Ok(())
    }
}

/// The same command on another post.
fn on(command: ArticleCommand, post: PostId) -> ArticleCommand {
    match command {
        ArticleCommand::Comment { author, content, .. } => ArticleCommand::Comment { author, post, content },
        ArticleCommand::Like { author, .. } => ArticleCommand::Like { author, post },
        ArticleCommand::Post { .. } => command,
    }
}

impl FootprintSubject {
    fn of_read(read: &ArticleRead, survey: &Survey) -> Self {
        let none = Self::default();
        match read {
            ArticleRead::User(user) => Self { user: Some(user.partition_key()), ..none },
            ArticleRead::PostsOf(user, _) => {
                Self { user: Some(user.partition_key()), other_posts: Some(USER_POSTS), ..none }
            }
            ArticleRead::Post(post) | ArticleRead::Comments(post, _) | ArticleRead::Likes(post, _) => {
                let author = survey.author_of(*post);
                Self { post: Some(post.partition_key()), author, ..none }
            }
            ArticleRead::Feed(_) => {
                Self { other_posts: Some(FEED_POSTS), other_users: Some(FEED_AUTHORS), ..none }
            }
        }
    }

    fn add_to(&self, tally: &mut FootprintTally, survey: &Survey, touches: &[PartitionAccess]) {
        tally.add(touches, |touch| self.role(survey, touch));
    }

    fn role(&self, survey: &Survey, touch: &PartitionAccess) -> PartitionRole {
        let Some(key) = &touch.partition_key else { return PartitionRole::Elsewhere };
        let sizes = contents_of(&survey.contents, touch.container).map(|contents| &contents.sizes);
        let is = |subject: &Option<PartitionKey>| subject.as_ref() == Some(key);
        match touch.container {
            POSTS if is(&self.post) => PartitionRole::entity(POST),
            USERS if is(&self.user) => PartitionRole::entity(USER),
            USERS if is(&self.author) => PartitionRole::entity(AUTHOR),
            POSTS if self.other_posts.is_some() => group(self.other_posts),
            USERS if self.other_users.is_some() => group(self.other_users),
            _ if sizes.is_some_and(|sizes| sizes.len() == 1 && sizes.contains_key(key)) => {
                PartitionRole::Only
            }
            _ if sizes.is_some_and(|sizes| sizes.contains_key(key)) => PartitionRole::Elsewhere,
            _ => PartitionRole::New,
        }
    }
}

fn group(name: Option<&'static str>) -> PartitionRole {
    name.map_or(PartitionRole::Elsewhere, |name| PartitionRole::Group(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::containers::{ACCOUNTS, FEED};
    use onehop_store::{ChargeSource, ContainerName, OperationKind, RequestCharge};
    use onehop_study::partitions::{ContainerContents, PartitionSize};

    fn survey() -> Survey {
        let contents = |container, keys: &[&str]| ContainerContents {
            container,
            partition_key: "id",
            sizes: keys.iter().map(|key| (PartitionKey::from(*key), PartitionSize::default())).collect(),
            item_bytes_max: 0,
            single: None,
        };
        let contents = vec![
            contents(USERS, &["ada", "bob", "eve"]),
            contents(POSTS, &["p1", "p2"]),
            contents(FEED, &["post"]),
            contents(ACCOUNTS, &["ada", "bob", "eve"]),
        ];
        Survey { contents, ..Survey::default() }
    }

    fn touch(container: ContainerName, key: &str) -> PartitionAccess {
        let partition_key = (!key.is_empty()).then(|| PartitionKey::from(key));
        PartitionAccess {
            container,
            partition_key,
            kind: OperationKind::Query,
            source: ChargeSource::Estimated,
            charge: RequestCharge(1.0),
            across: None,
        }
    }

    #[test]
    fn a_charge_is_attributed_to_the_role_of_its_logical_partition() {
        let key = |text| Some(PartitionKey::from(text));
        let subject = FootprintSubject { post: key("p1"), author: key("ada"), user: key("bob"), ..none() };
        for (container, partition_key, role) in [
            (POSTS, "p1", PartitionRole::entity(POST)),
            (POSTS, "p2", PartitionRole::Elsewhere),
            (POSTS, "p3", PartitionRole::New),
            (POSTS, "", PartitionRole::Elsewhere),
            (USERS, "ada", PartitionRole::entity(AUTHOR)),
            (USERS, "bob", PartitionRole::entity(USER)),
            (USERS, "eve", PartitionRole::Elsewhere),
            (FEED, "post", PartitionRole::Only),
            (ACCOUNTS, "ada", PartitionRole::Elsewhere),
            (ACCOUNTS, "dan", PartitionRole::New),
        ] {
            let touch = touch(container, partition_key);
            assert_eq!(subject.role(&survey(), &touch), role, "{container} {partition_key:?}");
        }
    }

    fn none() -> FootprintSubject {
        FootprintSubject::default()
    }

    #[test]
    fn look_ups_of_a_list_are_attributed_to_its_group() {
        let page = crate::blog::reads::PageRequest::new(10, None).unwrap();
        let feed = FootprintSubject::of_read(&ArticleRead::Feed(page), &survey());
        for (container, partition_key, role) in [
            (POSTS, "p1", PartitionRole::Group(FEED_POSTS.to_owned())),
            (USERS, "eve", PartitionRole::Group(FEED_AUTHORS.to_owned())),
            (POSTS, "", PartitionRole::Elsewhere),
            (FEED, "post", PartitionRole::Only),
        ] {
            assert_eq!(feed.role(&survey(), &touch(container, partition_key)), role, "{container}");
        }
    }
}
