//! Table of the article "How to model and partition data on Azure Cosmos DB using a real-world example"
//! (Thomas Weiss, 2019): measured charges of ten requests under three data models, as data.
//!
//! It knows the article alone, and [`operations`] the store operations of its requests. The requests of this
//! program are measured elsewhere.

mod composition;

pub use composition::{
    ArticleOperation, COMMENTS, FEED_POSTS, LIKES, PHYSICAL_PARTITIONS, POSTS_OF_USER, RepeatedOperation,
    estimate, operations,
};

use crate::blog::reads::DataModel;
use onehop_study::measurement::StudyRequest;

/// A request of the article: `C` are commands, `Q` are questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArticleRequest {
    /// Create or edit a user.
    C1,
    /// Retrieve a user.
    Q1,
    /// Create or edit a post.
    C2,
    /// Retrieve a post.
    Q2,
    /// List a user's posts in short form.
    Q3,
    /// Create a comment.
    C3,
    /// List a post's comments.
    Q4,
    /// Like a post.
    C4,
    /// List a post's likes.
    Q5,
    /// List the most recent posts in short form (the feed).
    Q6,
}

impl ArticleRequest {
    /// All requests, in the order of the article's table.
    pub const ALL: [Self; 10] =
        [Self::C1, Self::Q1, Self::C2, Self::Q2, Self::Q3, Self::C3, Self::Q4, Self::C4, Self::Q5, Self::Q6];

    /// The article's name of the request: `C1`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The request as a study has it.
    #[must_use]
    pub fn request(self) -> StudyRequest {
        StudyRequest { name: self.name(), title: self.title().to_owned(), is_write: self.is_command() }
    }

    /// The purpose of the request, in the article's words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::C1 => "Create/edit a user",
            Self::Q1 => "Retrieve a user",
            Self::C2 => "Create/edit a post",
            Self::Q2 => "Retrieve a post",
            Self::Q3 => "List a user's posts in short form",
            Self::C3 => "Create a comment",
            Self::Q4 => "List a post's comments",
            Self::C4 => "Like a post",
            Self::Q5 => "List a post's likes",
            Self::Q6 => "List the most recent posts in short form (feed)",
        }
    }

    /// Whether the request writes.
    #[must_use]
    pub fn is_command(self) -> bool {
        matches!(self, Self::C1 | Self::C2 | Self::C3 | Self::C4)
    }
}

/// One cell of the article's table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArticleCell {
    pub request: ArticleRequest,
    pub model: DataModel,
    /// RU.
    pub request_charge: f64,
    pub latency_ms: f64,
}

/// The 30 cells, request by request and V1, V2, V3.
pub fn cells() -> impl Iterator<Item = ArticleCell> {
    ArticleRequest::ALL.into_iter().zip(TABLE).flat_map(|(request, row)| {
        DataModel::ALL.into_iter().zip(row).map(move |(model, (latency_ms, request_charge))| ArticleCell {
            request,
            model,
            request_charge,
            latency_ms,
        })
    })
}

/// All requests as a study has them, in the order of the article's table.
#[must_use]
pub fn requests() -> Vec<StudyRequest> {
    ArticleRequest::ALL.map(ArticleRequest::request).into()
}

/// The cell of a request under a data model.
#[must_use]
pub fn cell(request: ArticleRequest, model: DataModel) -> ArticleCell {
    let (latency_ms, request_charge) = TABLE[request as usize][model as usize];
    ArticleCell { request, model, request_charge, latency_ms }
}

/// Latency in ms and request charge in RU, in the order of [`ArticleRequest::ALL`] and [`DataModel::ALL`].
const TABLE: [[(f64, f64); 3]; 10] = [
    [(7.0, 5.71), (7.0, 5.71), (7.0, 5.71)],
    [(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)],
    [(9.0, 8.76), (9.0, 8.76), (9.0, 8.76)],
    [(9.0, 19.54), (2.0, 1.0), (2.0, 1.0)],
    [(130.0, 619.41), (28.0, 201.54), (4.0, 6.46)],
    [(7.0, 8.57), (7.0, 15.27), (7.0, 15.27)],
    [(23.0, 27.72), (4.0, 7.72), (4.0, 7.72)],
    [(6.0, 7.05), (7.0, 14.67), (7.0, 14.67)],
    [(59.0, 58.92), (4.0, 8.92), (4.0, 8.92)],
    [(306.0, 2063.54), (83.0, 532.33), (9.0, 16.97)],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_by_its_request_and_model() {
        assert_eq!(cells().count(), 30);
        for each in cells() {
            assert_eq!(cell(each.request, each.model), each);
        }
    }

    #[test]
    fn the_usernames_of_v1_are_twenty_and_fifty_point_reads() {
        let difference = |request| {
            let charge = |model| cell(request, model).request_charge;
            charge(DataModel::V1) - charge(DataModel::V2)
        };
        assert!((difference(ArticleRequest::Q4) - 20.0).abs() < 1e-9);
        assert!((difference(ArticleRequest::Q5) - 50.0).abs() < 1e-9);
    }
}
