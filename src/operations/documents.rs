//! Documents that the command line sends to the operations API, one for each command.

use serde_json::{Map, Value};

use super::outcomes::SeedTexts;
use crate::blog::study::dataset::Texts;

/// Follows the progress of a mutation.
pub(super) const PROGRESS: &str = "subscription($work: ID!) { progress(work: $work) { step done total } }";

/// Verifies the read models, or repairs them: variable `repair`.
pub const VERIFY: &str = "mutation($work: ID!, $repair: Boolean!) {
    verify(work: $work, repair: $repair) {
        items { container type items } drifts repaired
        unreadable { container partitionKey id files problem }
    }
}";

/// Rebuilds read models: variable `readModel`.
pub const REBUILD: &str = "mutation($work: ID!, $readModel: String) {
    rebuild(work: $work, readModel: $readModel) { changes parked unreadable }
}";

/// Replays dead letters: variable `readModel`.
pub const REPLAY: &str = "mutation($readModel: String) { replay(readModel: $readModel) { changes parked } }";

/// Replays one dead letter: variable `id`.
pub const REPLAY_DEAD_LETTER: &str = "mutation($id: ID!) { replayDeadLetter(id: $id) { changes parked } }";

/// Lists dead letters.
pub const DEAD_LETTERS: &str = "{
    deadLetters {
        deadLetters { id projection container partitionKey items attempts cause error since }
        unlisted
    }
}";

/// Shows one dead letter: variable `id`.
pub const DEAD_LETTER: &str = "query($id: ID!) {
    deadLetter(id: $id) {
        id type projection container partitionKey number nextSequence firstParkedAt lastParkedAt
        items { id sequence attempts cause error expiring }
    }
}";

/// Reads the state of the process.
pub const DIAGNOSIS: &str = "{ diagnosis { version process settings metrics logLines } }";

/// Reads the status of the projections and their leases.
pub const PROJECTIONS: &str = "{
    projections {
        name source pendingChanges lagMs deadLetters leaseCount
        leases(first: 100) { range owner heldHere epoch changes errors pendingChanges lagMs }
    }
}";

/// Backs up the data directory: variables `directory` and `after`.
pub const BACKUP: &str = "mutation($work: ID!, $directory: String!, $after: String) {
    backup(work: $work, directory: $directory, after: $after) {
        items lastWrite begunAt bytesCopied bytesLinked
    }
}";

/// Checks the data directory.
pub const CHECK: &str = "mutation($work: ID!) { check(work: $work) { items entries problems unnamed } }";

/// Locks the demo users.
pub const LOCK_DEMO_USERS: &str = "mutation { lockDemoUsers }";

/// Seeds a data set: variables `users`, `rngSeed`, `texts` and `tags`.
const SEED: &str = "mutation($work: ID!, $users: Int!, $rngSeed: Count!, $texts: SeedTexts!, $tags: Boolean!) {
    seed(work: $work, users: $users, rngSeed: $rngSeed, texts: $texts, tags: $tags) { items seconds demoUsers demoPassword }
}";

/// Seeds a data set of the web store: variables `customers` and `rngSeed`.
const SEED_WEBSTORE: &str = "mutation($work: ID!, $customers: Int!, $rngSeed: Count!) {
    seedWebstore(work: $work, customers: $customers, rngSeed: $rngSeed) { items seconds }
}";

/// Seeds a data set of the web store.
#[must_use]
pub fn webstore_seeding(customers: u32, rng_seed: u64) -> OperationRequest {
    OperationRequest::new(SEED_WEBSTORE).with("customers", customers).with("rngSeed", rng_seed)
}

/// Seeds a data set. Its posts have tags in a demo, and none in the article.
#[must_use]
pub fn seeding(users: u32, rng_seed: u64, texts: Texts, has_tags: bool) -> OperationRequest {
    let operation = OperationRequest::new(SEED).with("users", users).with("rngSeed", rng_seed);
    operation.with("texts", SeedTexts::name(texts)).with("tags", has_tags)
}

/// A document with its variables. It selects one field, whose value is the outcome.
#[derive(Debug, Clone)]
pub struct OperationRequest {
    pub(super) document: &'static str,
    pub(super) variables: Map<String, Value>,
}

impl OperationRequest {
    /// A document without variables.
    #[must_use]
    pub fn new(document: &'static str) -> Self {
        Self { document, variables: Map::new() }
    }

    /// The same with a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Whether it fills a store that may be missing.
    #[must_use]
    pub fn makes_data(&self) -> bool {
        self.document == SEED || self.document == SEED_WEBSTORE
    }

    /// The variables with the name under which progress is followed.
    pub(super) fn variables_of_work(&self, work: &str) -> Value {
        let mut variables = self.variables.clone();
        variables.insert("work".to_owned(), work.into());
        Value::Object(variables)
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    #[test]
    fn each_document_is_valid_by_itself() {
        let all = [
            PROGRESS,
            DIAGNOSIS,
            PROJECTIONS,
            VERIFY,
            REBUILD,
            REPLAY,
            REPLAY_DEAD_LETTER,
            DEAD_LETTERS,
            DEAD_LETTER,
            BACKUP,
            CHECK,
            LOCK_DEMO_USERS,
            SEED,
        ];
        for document in all {
            parse_query(document).unwrap_or_else(|error| panic!("{document}: {error}"));
        }
    }
}
