//! The expected state of the blog by the outcomes of the commands.
//!
//! Each thing is changed by one writer alone, who waits for one answer before the next command. So a thing is
//! as it was acknowledged last, or, where the last answer was lost, as it was going to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// The writer of an item: its place in [`Record::writers`].
pub type Author = usize;

/// A thing that one writer changes.
#[derive(Debug, Clone)]
pub struct Register<T> {
    certain: T,
    /// Its next state by a command whose answer has not come.
    under_way: Option<T>,
}

impl<T: Clone + PartialEq + Debug> Register<T> {
    pub fn new(certain: T) -> Self {
        Self { certain, under_way: None }
    }

    /// A command that changes it is sent.
    pub fn begin(&mut self, value: T) {
        self.under_way = Some(value);
    }

    pub fn acknowledge(&mut self) {
        self.certain = self.under_way.take().expect("a command under way");
    }

    pub fn refuse(&mut self) {
        self.under_way = None;
    }

    /// Its state, when no command is under way.
    pub fn get(&self) -> &T {
        &self.certain
    }

    /// Whether it may be so.
    pub fn may_be(&self, value: &T) -> bool {
        self.certain == *value || self.under_way.as_ref() == Some(value)
    }

    /// Settles a lost command: from now on the found state counts.
    pub fn settle(&mut self, found: T, what: &str) {
        assert!(self.may_be(&found), "{what} is {found:?} and has to be {self:?}");
        *self = Self::new(found);
    }
}

/// Everything that was written.
#[derive(Debug, Default)]
pub struct Record {
    pub writers: Vec<KnownWriter>,
    pub posts: BTreeMap<String, KnownPost>,
    /// The comments of each post.
    pub comments: BTreeMap<String, BTreeMap<String, KnownComment>>,
    /// Whether a writer likes a post.
    pub likes: BTreeMap<(String, Author), Register<bool>>,
    /// Posts to which something was sent since they were checked.
    pub touched: BTreeSet<String>,
}

#[derive(Debug)]
pub struct KnownWriter {
    pub id: String,
    pub name: Register<String>,
}

#[derive(Debug)]
pub struct KnownPost {
    pub author: Author,
    pub title: Register<String>,
    pub deleted: Register<bool>,
}

#[derive(Debug)]
pub struct KnownComment {
    pub author: Author,
    pub content: String,
    pub deleted: Register<bool>,
}

impl Record {
    pub fn add_post(&mut self, id: &str, author: Author, title: &str) {
        let known =
            KnownPost { author, title: Register::new(title.to_owned()), deleted: Register::new(false) };
        self.touched.insert(id.to_owned());
        assert!(self.posts.insert(id.to_owned(), known).is_none(), "the id {id} was given twice");
    }

    pub fn add_comment(&mut self, post: &str, id: &str, author: Author, content: &str) {
        let known = KnownComment { author, content: content.to_owned(), deleted: Register::new(false) };
        self.touched.insert(post.to_owned());
        let before = self.comments.entry(post.to_owned()).or_default().insert(id.to_owned(), known);
        assert!(before.is_none(), "the id {id} was given twice");
    }

    pub fn post(&mut self, id: &str) -> &mut KnownPost {
        self.touched.insert(id.to_owned());
        self.posts.get_mut(id).expect("a known post")
    }

    pub fn comment(&mut self, post: &str, id: &str) -> &mut KnownComment {
        self.touched.insert(post.to_owned());
        self.comments.get_mut(post).and_then(|of_post| of_post.get_mut(id)).expect("a known comment")
    }

    pub fn like(&mut self, post: &str, author: Author) -> &mut Register<bool> {
        self.touched.insert(post.to_owned());
        self.likes.entry((post.to_owned(), author)).or_insert_with(|| Register::new(false))
    }
}
