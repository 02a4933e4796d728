//! Workload: runs the article's ten requests against one data model's database, many times each, and measures
//! them. The caller opens the database, in any store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::article::{ArticleRequest, cell};
use super::dataset::{Dataset, SeedPost};
use super::read_path::{ArticleRead, ReadPath};
use super::subjects::{COMMENTS_FIRST, FEED_FIRST, LIKES_FIRST, Subjects, USER_POSTS_FIRST};
use super::writes::{ArticleCommand, CompareError, SampleAuthor, WritePath, numbered_name};
use crate::blog::ids::PostId;
use crate::blog::reads::{DataModel, PageRequest, ReadModels};
use onehop_store::Ledger;
use onehop_study::follower::Follower;
use onehop_study::measurement::{ConcurrentCharge, MeasurementRow, Sample};

/// Text of a comment where the data set has no comment for its post.
const COMMENT: &str = "I had not thought of it that way. Thank you for writing this down.";

/// The number of simultaneous commands where their charge is measured.
const AT_ONCE: usize = 10;

/// The charges of the requests.
pub struct WorkloadFigures {
    pub rows: Vec<MeasurementRow>,
    /// Of the API's commands alone: the others write one by one.
    pub concurrent: Vec<ConcurrentCharge>,
}

/// One data model with its data.
pub struct ModelDatabase {
    pub model: DataModel,
    pub reads: ReadModels,
    pub writes: WritePath,
    /// The projections of the data model, if any.
    pub follower: Option<Follower>,
}

/// The requests that every database gets.
pub struct Workload {
    pub dataset: Dataset,
    pub subjects: Subjects,
    /// The runs of each request.
    pub samples: usize,
}

impl Workload {
    /// The same parameters make the same workload.
    #[must_use]
    pub fn new(dataset: Dataset, samples: usize) -> Self {
        Self { dataset, subjects: Subjects::of(&dataset, samples), samples }
    }

    /// The number of requests that [`run`](Self::run) runs on a database of this data model.
    #[must_use]
    pub fn requests(&self, model: DataModel) -> u64 {
        let reads = 6 * plans_of(model).count();
        (self.samples * (reads + 4)) as u64
    }

    /// Runs everything, the reads before the commands, so that they find the data set as it was made. `done`
    /// is called after each request.
    ///
    /// # Errors
    /// The first request that failed.
    pub async fn run(
        &self,
        database: &ModelDatabase,
        mut done: impl FnMut(),
    ) -> Result<WorkloadFigures, CompareError> {
        let mut rows = Vec::new();
        for plan in plans_of(database.model) {
            for request in ArticleRequest::ALL.into_iter().filter(|request| !request.is_command()) {
                let mut samples = Vec::with_capacity(self.samples);
                for number in 0..self.samples {
                    let Some(read) = self.read(request, number) else { continue };
                    let ledger = Arc::new(Ledger::new());
                    let duration = plan.run(&database.reads, &read, &ledger).await?;
                    samples.push(Sample::alone(ledger, duration));
                    done();
                }
                rows.push(row(request, plan, &samples));
            }
        }
        let authors = self.create_authors(database, &mut rows, &mut done).await?;
        rows.extend(self.run_commands(database, &authors, done).await?);
        let concurrent = self.run_at_once(database).await?;
        Ok(WorkloadFigures { rows, concurrent })
    }

    /// C1. The users then write.
    async fn create_authors(
        &self,
        database: &ModelDatabase,
        rows: &mut Vec<MeasurementRow>,
        done: &mut impl FnMut(),
    ) -> Result<Vec<SampleAuthor>, CompareError> {
        let plan = ReadPath { model: database.model, batched: false };
        // Earlier writes are not caused by these requests.
        database.follow().await?;
        let mut samples = Vec::with_capacity(self.samples);
        let mut authors = Vec::with_capacity(self.samples);
        for number in 0..self.samples {
            let ledger = Arc::new(Ledger::new());
            let start = Instant::now();
            authors.push(database.writes.create_user(numbered_name("newcomer", number), &ledger).await?);
            let duration = start.elapsed();
            samples.push(database.sample(ledger, duration).await?);
            done();
        }
        rows.push(row(ArticleRequest::C1, plan, &samples));
        Ok(authors)
    }

    async fn run_commands(
        &self,
        database: &ModelDatabase,
        authors: &[SampleAuthor],
        mut done: impl FnMut(),
    ) -> Result<Vec<MeasurementRow>, CompareError> {
        let plan = ReadPath { model: database.model, batched: false };
        let (mut rows, mut samples) = (Vec::new(), Vec::new());
        for request in [ArticleRequest::C2, ArticleRequest::C3, ArticleRequest::C4] {
            samples.clear();
            for (number, author) in authors.iter().enumerate() {
                let Some(command) = self.command(request, number, author.clone()) else { continue };
                let ledger = Arc::new(Ledger::new());
                let start = Instant::now();
                database.writes.run(command, &ledger).await?;
                let duration = start.elapsed();
                samples.push(database.sample(ledger, duration).await?);
                done();
            }
            rows.push(row(request, plan, &samples));
        }
        Ok(rows)
    }

    /// Comments and likes that arrive at the same time on one post, by users who did not write before.
    async fn run_at_once(&self, database: &ModelDatabase) -> Result<Vec<ConcurrentCharge>, CompareError> {
        if database.model != DataModel::V3 {
            return Ok(Vec::new());
        }
        let mut visitors = Vec::with_capacity(AT_ONCE);
        for number in 0..AT_ONCE {
            let username = numbered_name("together", number);
            visitors.push(database.writes.create_user(username, &Ledger::new()).await?);
        }
        database.follow().await?;
        let plan = ReadPath { model: database.model, batched: false };
        let mut charges = Vec::new();
        for request in [ArticleRequest::C3, ArticleRequest::C4] {
            let commands: Vec<_> = visitors
                .iter()
                .filter_map(|visitor| self.command(request, 0, visitor.clone()))
                .map(|command| (command, Arc::new(Ledger::new())))
                .collect();
            let start = Instant::now();
            try_join_all(
                commands.iter().map(|(command, ledger)| database.writes.run(command.clone(), ledger)),
            )
            .await?;
            let duration = start.elapsed();
            let projection_charge = database.follow().await? / AT_ONCE as f64;
            let sample = |(_, ledger)| Sample { projection_charge, ..Sample::alone(ledger, duration) };
            let samples: Vec<_> = commands.into_iter().map(sample).collect();
            charges.push(ConcurrentCharge::of(request.name(), plan.plan(), &samples));
        }
        Ok(charges)
    }

    /// `None` for commands.
    pub(super) fn read(&self, request: ArticleRequest, number: usize) -> Option<ArticleRead> {
        let (user, post) = (self.subjects.user(number), self.subjects.post(number));
        let page = |first| PageRequest::new(first, None);
        Some(match request {
            ArticleRequest::Q1 => ArticleRead::User(user),
            ArticleRequest::Q2 => ArticleRead::Post(post),
            ArticleRequest::Q3 => ArticleRead::PostsOf(user, page(USER_POSTS_FIRST)?),
            ArticleRequest::Q4 => ArticleRead::Comments(post, page(COMMENTS_FIRST)?),
            ArticleRequest::Q5 => ArticleRead::Likes(post, page(LIKES_FIRST)?),
            ArticleRequest::Q6 => ArticleRead::Feed(page(FEED_FIRST)?),
            _ => return None,
        })
    }

    /// By a user of its own, so that no user likes a post twice; `None` for reads and C1.
    pub(super) fn command(
        &self,
        request: ArticleRequest,
        number: usize,
        author: SampleAuthor,
    ) -> Option<ArticleCommand> {
        let post: &SeedPost = &self.subjects.posts[number % self.subjects.posts.len()];
        let id = PostId(post.id);
        Some(match request {
            ArticleRequest::C2 => {
                ArticleCommand::Post { author, title: post.title.clone(), content: post.content.clone() }
            }
            ArticleRequest::C3 => {
                let comment = self.dataset.comments_of(post).next();
                let content = comment.map_or_else(|| COMMENT.to_owned(), |comment| comment.content);
                ArticleCommand::Comment { author, post: id, content }
            }
            ArticleRequest::C4 => ArticleCommand::Like { author, post: id },
            _ => return None,
        })
    }
}

impl ModelDatabase {
    /// Drains the projections. Returns their charge for it, RU.
    pub(super) async fn follow(&self) -> Result<f64, CompareError> {
        match &self.follower {
            Some(follower) => Ok(follower.follow().await?.0),
            None => Ok(0.0),
        }
    }
}

impl ModelDatabase {
    /// The sample of a write, after its projections have followed.
    async fn sample(&self, ledger: Arc<Ledger>, duration: Duration) -> Result<Sample, CompareError> {
        let discarded = || self.follower.as_ref().map(Follower::discarded).unwrap_or_default();
        let before = discarded();
        let projection_charge = self.follow().await?;
        Ok(Sample { ledger, duration, projection_charge, discarded: discarded().since(before) })
    }
}

/// The row of a request, beside the article's figure. The article has no data loader.
fn row(request: ArticleRequest, plan: ReadPath, samples: &[Sample]) -> MeasurementRow {
    let reference = (!plan.batched).then(|| cell(request, plan.model).request_charge);
    MeasurementRow::of(request.name(), plan.plan(), reference, samples)
}

fn plans_of(model: DataModel) -> impl Iterator<Item = ReadPath> {
    ReadPath::ALL.into_iter().filter(move |plan| plan.model == model)
}
