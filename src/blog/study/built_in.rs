//! Built-in study: the ten requests of the article over the models V1, V2 and V3 on the generated data set.
//! It is a study directory like any other, whose files are made here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::article::{self, ArticleRequest, cell};
use super::dataset::Dataset;
use super::items;
use crate::blog::reads::DataModel;
use onehop_study::bounds::Bounds;
use onehop_study::data::{DataSurvey, SurveySpec};
use onehop_study::design_study::DesignStudy;
use onehop_study::directory::{DESIGNS_DIRECTORY, REQUESTS_FILE, SETTINGS_FILE, StudyDirectory, StudyErrors};
use onehop_study::measurement::MeasurementRow;
use onehop_study::provisioning::{HighestThroughput, Prices};
use onehop_study::rates::RequestRate;
use onehop_study::report::StudyReport;

/// Physical partitions of the article's containers, as the charges of V2's Q3 and Q6 imply, at some 2.8 RU
/// each.
const ARTICLE_PARTITIONS: f64 = 70.0;
const TITLE: &str = "What each data model costs";
/// The designs by the names of their files.
const DESIGNS: [(&str, &str); 3] = [
    ("v1.graphql", include_str!("../designs/v1.graphql")),
    ("v2.graphql", include_str!("../designs/v2.graphql")),
    ("v3.graphql", include_str!("../model.graphql")),
];
/// The item types, and their data files.
const FILES: [(&str, &str); 4] = [
    ("User", "users.jsonl"),
    ("Post", "posts.jsonl"),
    ("Comment", "comments.jsonl"),
    ("Like", "likes.jsonl"),
];

/// The settings of the study.
#[derive(Debug, Clone)]
pub struct BuiltInStudy {
    pub dataset: Dataset,
    pub data_scale: f64,
    /// The traffic; without it, no throughput and no bill are worked out.
    pub rates: Vec<RequestRate>,
    pub peak_to_mean: Bounds,
    pub index_share: Bounds,
    pub regions: u32,
    pub prices: Prices,
    pub highest_throughput: HighestThroughput,
    /// Whether containers have 70 physical partitions, as the article's.
    pub as_the_article: bool,
}

/// A request without its rate: the keyword and the name, and the selection.
fn document(request: ArticleRequest) -> (&'static str, &'static str) {
    match request {
        ArticleRequest::C1 => ("mutation C1", "createUser(input: $input) { user { id } }"),
        ArticleRequest::Q1 => ("query Q1($id: ID!)", "user(id: $id) { username }"),
        ArticleRequest::C2 => ("mutation C2", "createPost(input: $input) { post { id } }"),
        ArticleRequest::Q2 => (
            "query Q2($id: ID!)",
            "post(id: $id) { title content author { username } commentCount likeCount }",
        ),
        ArticleRequest::Q3 => (
            "query Q3($id: ID!)",
            "user(id: $id) { posts(first: 100) { nodes { title summary author { username } commentCount likeCount } } }",
        ),
        ArticleRequest::C3 => ("mutation C3", "createComment(input: $input) { comment { id } }"),
        ArticleRequest::Q4 => (
            "query Q4($id: ID!)",
            "post(id: $id) { comments(first: 20) { nodes { content author { username } } } }",
        ),
        ArticleRequest::C4 => ("mutation C4", "likePost(input: $input) { post { id } }"),
        ArticleRequest::Q5 => {
            ("query Q5($id: ID!)", "post(id: $id) { likes(first: 50) { nodes { user { username } } } }")
        }
        ArticleRequest::Q6 => (
            "query Q6",
            "feed(first: 100) { nodes { title summary author { username } commentCount likeCount } }",
        ),
    }
}

impl BuiltInStudy {
    /// The study without its data.
    ///
    /// # Errors
    /// A setting that no study may have.
    pub fn directory(&self) -> Result<StudyDirectory, StudyErrors> {
        StudyDirectory::of_texts(&self.settings(), &self.requests(), &DESIGNS)
    }

    /// The data of the study. Nothing is written.
    ///
    /// # Errors
    /// An item that a design does not admit.
    pub fn survey(&self, directory: &mut StudyDirectory) -> Result<DataSurvey, StudyErrors> {
        let mut survey = DataSurvey::of_items(directory, &SurveySpec::of_designs(directory), self.items())?;
        prefer_subjects_of_the_article(&mut survey);
        if self.as_the_article {
            directory.settings.partitions = article_partitions(directory, &survey);
        }
        Ok(survey)
    }

    /// Writes the study as a directory for `onehop study`.
    ///
    /// # Errors
    /// The directory exists, or a file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)?;
        std::fs::create_dir(path.join(DESIGNS_DIRECTORY))?;
        let partitions = self.written_partitions().map_err(io::Error::other)?;
        std::fs::write(path.join(SETTINGS_FILE), self.settings() + &partitions)?;
        std::fs::write(path.join(REQUESTS_FILE), self.requests())?;
        for (file, text) in DESIGNS {
            std::fs::write(path.join(DESIGNS_DIRECTORY).join(file), text)?;
        }
        let mut files = BTreeMap::new();
        for (ty, file) in FILES {
            files.insert(ty, BufWriter::new(std::fs::File::create_new(path.join(file))?));
        }
        for (ty, item) in self.items() {
            if let Some(file) = files.get_mut(ty) {
                writeln!(file, "{item}")?;
            }
        }
        files.values_mut().try_for_each(|file| file.flush())
    }

    /// The section of the settings with the physical partitions, as the article had them; empty otherwise.
    fn written_partitions(&self) -> Result<String, StudyErrors> {
        if !self.as_the_article {
            return Ok(String::new());
        }
        let mut directory = self.directory()?;
        self.survey(&mut directory)?;
        let mut text = String::from("\n[partitions]\n");
        for (container, number) in &directory.settings.partitions {
            let _ = writeln!(text, "{container} = {number}");
        }
        Ok(text)
    }

    /// Puts the article's figures beside the charges, and the names of its requests.
    pub fn refer_to_the_article(report: &mut StudyReport) {
        report.captions.reference = "article".to_owned();
        report.measurements.refer_to(&|row| article_charge(row));
    }

    /// The requests in the article's words.
    pub fn name_requests(report: &mut StudyReport) {
        for request in &mut report.measurements.requests {
            if let Some(known) = ArticleRequest::ALL.into_iter().find(|known| known.name() == request.name) {
                known.title().clone_into(&mut request.title);
            }
        }
    }

    /// `study.toml`
    fn settings(&self) -> String {
        let Self { data_scale, peak_to_mean, index_share, regions, prices, highest_throughput, .. } = self;
        let mut text = format!("name = \"{TITLE}\"\nscale = {data_scale}\n");
        if highest_throughput.of_each > 0.0 {
            let _ = writeln!(text, "highest_throughput = {}", highest_throughput.of_each);
        }
        text += "\n[data]\n";
        for (ty, file) in FILES {
            let _ = writeln!(text, "{ty} = \"{file}\"");
        }
        let _ = writeln!(text, "\n[traffic]\npeak_to_mean = [{}, {}]", peak_to_mean.low, peak_to_mean.high);
        let _ = writeln!(text, "\n[account]\nregions = {regions}");
        let _ = writeln!(text, "\n[indexes]\nshare = [{}, {}]", index_share.low, index_share.high);
        if !highest_throughput.of_containers.is_empty() {
            text += "\n[highest_throughput]\n";
            for (container, throughput) in &highest_throughput.of_containers {
                let _ = writeln!(text, "{container} = {throughput}");
            }
        }
        text += "\n[prices]\n";
        let Prices { manual, autoscale, serverless, reserved, storage } = *prices;
        let named = [
            ("manual", manual),
            ("autoscale", autoscale),
            ("serverless", serverless),
            ("reserved", reserved),
            ("storage", storage),
        ];
        for (name, price) in named {
            if let Some(price) = price {
                let _ = writeln!(text, "{name} = {price}");
            }
        }
        text
    }

    /// `requests.graphql`
    fn requests(&self) -> String {
        let mut text = String::from("# The ten requests of the article.\n");
        for request in ArticleRequest::ALL {
            let name = request.name();
            let rate = self.rates.iter().filter(|rate| rate.request == name);
            let per_second: f64 = rate.map(|rate| rate.per_second).fold(0.0, |sum, rate| sum + rate);
            let (head, selection) = document(request);
            let _ = writeln!(
                text,
                "# {}\n{head} @request(perSecond: {per_second}) {{ {selection} }}",
                request.title()
            );
        }
        text
    }

    /// The items as the write side stores them, each with the name of its type.
    fn items(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        let dataset = &self.dataset;
        (0..dataset.users()).flat_map(move |user| {
            let posts = dataset.posts_of(user).flat_map(move |post| {
                let mut of_post = vec![("Post", post_value(dataset, user, &post))];
                of_post.extend(items::comments(dataset, &post).map(|item| ("Comment", value(&item))));
                of_post.extend(items::likes(dataset, &post).map(|item| ("Like", value(&item))));
                of_post
            });
            std::iter::once(("User", value(&items::user(dataset, user)))).chain(posts)
        })
    }
}

/// The items of the data set have no value that JSON lacks.
fn value(item: &impl Serialize) -> Value {
    serde_json::to_value(item).unwrap_or_default()
}

/// The store leaves out an empty list of tags; data files have it.
fn post_value(dataset: &Dataset, user: u32, post: &super::dataset::SeedPost) -> Value {
    let mut item = value(&items::post(dataset, user, post));
    if item["tags"].is_null() {
        item["tags"] = json!([]);
    }
    item
}

/// The article's figures speak of a post with 20 comments and 50 likes, and of a user with about 27 posts.
fn prefer_subjects_of_the_article(survey: &mut DataSurvey) {
    const SUBJECTS: usize = 50;
    const USER_POSTS: u64 = 27;
    let counted = |survey: &DataSurvey, (ty, by): (&str, &str)| -> BTreeMap<String, u64> {
        let groups = survey.of(ty).and_then(|found| found.grouped(&[by]));
        let groups = groups.into_iter().flat_map(|found| found.groups());
        groups.map(|group| (group.key.clone(), group.items)).collect()
    };
    let [comments, likes, posts] =
        [("Comment", "post"), ("Like", "post"), ("Post", "author")].map(|of| counted(survey, of));
    let count = |counts: &BTreeMap<String, u64>, id: &str| counts.get(id).copied().unwrap_or(0);
    if let Some(found) = survey.types.get_mut("Post") {
        found.prefer(SUBJECTS, |id, _| {
            count(&comments, id).abs_diff(article::COMMENTS) + count(&likes, id).abs_diff(article::LIKES)
        });
    }
    if let Some(found) = survey.types.get_mut("User") {
        found.prefer(SUBJECTS, |id, _| count(&posts, id).abs_diff(USER_POSTS));
    }
}

/// As many as the article had, at most one for each logical partition.
fn article_partitions(directory: &StudyDirectory, survey: &DataSurvey) -> BTreeMap<String, u32> {
    let mut partitions: BTreeMap<String, u32> = BTreeMap::new();
    let study = DesignStudy::new(directory, survey, onehop_store::charges::Calibration::current());
    for data in study.designs() {
        for container in data.design.model.containers() {
            let logical = data.logical_partitions(&container.name, directory.settings.scale).number;
            // A float to an integer saturates.
            let number = logical.clamp(1.0, ARTICLE_PARTITIONS) as u32;
            let known = partitions.entry(container.name.to_string()).or_default();
            *known = number.max(*known);
        }
    }
    partitions
}

/// The article's figure of a row without a data loader.
fn article_charge(row: &MeasurementRow) -> Option<f64> {
    let model = DataModel::ALL.into_iter().find(|model| format!("{model:?}") == row.plan.model)?;
    let request = ArticleRequest::ALL.into_iter().find(|request| request.name() == row.request)?;
    (!row.plan.batched).then(|| cell(request, model).request_charge)
}
