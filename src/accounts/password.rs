//! Passwords: their rules, and hashing them with Argon2id off the async threads.
//! [`hashing_queue`](super::hashing_queue) bounds how many hashes are computed and awaited at once, so that a
//! burst of sign-ins takes neither all memory nor all processors. Whose password it is, and where its hash is
//! kept, is unknown here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash as PhcString, Salt};
use argon2::password_hash::{Error as PhcError, PasswordHasher as _, PasswordVerifier as _};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, Version};
use icu_normalizer::ComposingNormalizerBorrowed;

use super::common_passwords::is_common;
use super::hashing_queue::{Busy, HashingCaller, HashingQueue, Permit};
use onehop_runtime::blocking;

pub use super::hashing_queue::HashingLimits;

/// The fewest characters of a password, counted as Unicode scalar values after NFC.
pub const PASSWORD_CHARS_MIN: usize = 10;
/// The most characters of a password, counted as Unicode scalar values after NFC.
pub const PASSWORD_CHARS_MAX: usize = 200;
/// The most bytes of a password as typed.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// NIST SP 800-132 asks for 16 bytes.
const SALT_BYTES: usize = Salt::RECOMMENDED_LENGTH;

/// A typed password, in NFC, so that every keyboard's é is the same. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// A password to be set.
    ///
    /// # Errors
    /// The rule it breaks.
    pub fn parse(typed: &str) -> Result<Self, PasswordError> {
        if typed.len() > PASSWORD_BYTES_MAX {
            return Err(PasswordError::Bytes { max: PASSWORD_BYTES_MAX, actual: typed.len() });
        }
        let password = Self::normalized(typed);
        let actual = password.0.chars().count();
        if !(PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX).contains(&actual) {
            let (min, max) = (PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX);
            return Err(PasswordError::Length { min, max, actual });
        }
        Ok(password)
    }

    /// A new password for a user with this name.
    ///
    /// # Errors
    /// The broken rule; beside the rules of [`parse`](Self::parse), a common password is refused.
    pub fn choose(typed: &str, username: &str) -> Result<Self, PasswordError> {
        let password = Self::parse(typed)?;
        if is_common(&password.0, username) { Err(PasswordError::Common) } else { Ok(password) }
    }

    /// A password to be compared. A password that breaks the rules is merely wrong: a refusal would answer
    /// faster than a comparison. Input over the byte limit becomes the empty password, which no user has.
    pub fn attempt(typed: &str) -> Self {
        if typed.len() > PASSWORD_BYTES_MAX { Self(String::new()) } else { Self::normalized(typed) }
    }

    fn normalized(typed: &str) -> Self {
        Self(ComposingNormalizerBorrowed::new_nfc().normalize(typed).into_owned())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(..)")
    }
}

/// The rule a password breaks. The message names no field and shows no password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("must have {min} to {max} characters; this one has {actual}")]
    Length { min: usize, max: usize, actual: usize },
    #[error("must have at most {max} bytes; this one has {actual}")]
    Bytes { max: usize, actual: usize },
    #[error("must not be a common password, nor made of the username")]
    Common,
}

/// A password's hash with its salt and cost, stored as a PHC string.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(PhcString);

impl PasswordHash {
    /// # Errors
    /// The text is no PHC string; the error does not repeat it.
    pub fn from_stored(stored: &str) -> Result<Self, HashingFault> {
        Ok(Self(PhcString::new(stored).map_err(|_| HashingFault::Stored)?))
    }

    pub fn to_stored(&self) -> String {
        self.0.to_string()
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(..)")
    }
}

/// The cost of one hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashingCost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

impl HashingCost {
    /// OWASP Password Storage Cheat Sheet, Argon2id: 19 MiB, two passes, one lane.
    pub const OWASP: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
    /// For demonstration users, whose passwords are public, and for tests.
    pub const CHEAP: Self = Self { memory_kib: 8, passes: 1, lanes: 1 };
}

#[derive(Debug, thiserror::Error)]
pub enum HashingError {
    /// Too many are waiting already; later there may be room.
    #[error("too many passwords are being checked")]
    Busy,
    #[error(transparent)]
    Fault(#[from] HashingFault),
}

#[derive(Debug, thiserror::Error)]
pub enum HashingFault {
    #[error("the stored password hash cannot be read")]
    Stored,
    #[error("the system gave no random bytes")]
    Randomness(#[source] getrandom::Error),
    #[error("Argon2 failed")]
    Argon2(#[source] PhcError),
    #[error("the hashing task ended early")]
    Task(#[source] tokio::task::JoinError),
}

/// Hashes passwords and compares them. Cheap to clone; clones share the limits.
#[derive(Clone)]
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    /// Compared against when there is no such user: same cost, random output, so no password matches it.
    decoy: PasswordHash,
    queue: HashingQueue,
    comparisons: Arc<AtomicU64>,
}

impl PasswordHasher {
    /// # Errors
    /// Argon2 refuses the cost, or the system gives no random bytes.
    pub fn new(cost: HashingCost, limits: HashingLimits) -> Result<Self, HashingFault> {
        let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, None)
            .map_err(|error| HashingFault::Argon2(error.into()))?;
        let decoy = decoy(&params)?;
        Ok(Self {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            decoy,
            queue: HashingQueue::new(limits),
            comparisons: Arc::default(),
        })
    }

    /// Hashes a password without a user.
    ///
    /// # Errors
    /// As [`hash_for`](Self::hash_for).
    pub async fn hash(&self, password: Password) -> Result<PasswordHash, HashingError> {
        self.hash_for(HashingCaller::default(), password).await
    }

    /// # Errors
    /// [`HashingError::Busy`] when too many wait; a fault otherwise.
    pub async fn hash_for(
        &self,
        caller: HashingCaller,
        password: Password,
    ) -> Result<PasswordHash, HashingError> {
        let argon2 = self.argon2.clone();
        self.off_the_async_threads(caller, move || {
            let salt: [u8; SALT_BYTES] = random_bytes()?;
            let hash = argon2.hash_password_with_salt(password.0.as_bytes(), &salt);
            Ok(PasswordHash(hash.map_err(HashingFault::Argon2)?))
        })
        .await
    }

    /// Whether the password is the one hashed. Without a hash, because there is no such user, the answer is
    /// no after the same work, so that the time taken does not reveal which names exist.
    ///
    /// # Errors
    /// As [`verify_for`](Self::verify_for).
    pub async fn verify(
        &self,
        password: Password,
        stored: Option<PasswordHash>,
    ) -> Result<bool, HashingError> {
        self.verify_for(HashingCaller::default(), password, stored).await
    }

    /// As [`verify`](Self::verify), in the lane and the turn of this caller.
    ///
    /// # Errors
    /// [`HashingError::Busy`] when too many wait; a fault otherwise.
    pub async fn verify_for(
        &self,
        caller: HashingCaller,
        password: Password,
        stored: Option<PasswordHash>,
    ) -> Result<bool, HashingError> {
        let (argon2, comparisons) = (self.argon2.clone(), Arc::clone(&self.comparisons));
        let is_known = stored.is_some();
        let expected = stored.unwrap_or_else(|| self.decoy.clone());
        self.off_the_async_threads(caller, move || {
            comparisons.fetch_add(1, Ordering::Relaxed);
            match argon2.verify_password(password.0.as_bytes(), &expected.0) {
                Ok(()) => Ok(is_known),
                Err(PhcError::PasswordInvalid) => Ok(false),
                Err(error) => Err(HashingFault::Argon2(error)),
            }
        })
        .await
    }

    /// The number of passwords compared so far, with a hash or with the decoy.
    #[must_use]
    pub fn comparisons(&self) -> u64 {
        self.comparisons.load(Ordering::Relaxed)
    }

    /// The permit goes with the work: a caller who gives up does not make room before the work is done.
    async fn off_the_async_threads<T: Send + 'static>(
        &self,
        caller: HashingCaller,
        work: impl FnOnce() -> Result<T, HashingFault> + Send + 'static,
    ) -> Result<T, HashingError> {
        let permit = self.permit(caller).await?;
        let task = blocking::run(move || {
            let _until_done = permit;
            work()
        });
        Ok(task.await.map_err(HashingFault::Task)??)
    }

    async fn permit(&self, caller: HashingCaller) -> Result<Permit, HashingError> {
        self.queue.acquire(caller).await.map_err(|Busy| HashingError::Busy)
    }
}

impl fmt::Debug for PasswordHasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PasswordHasher").field("cost", self.argon2.params()).finish_non_exhaustive()
    }
}

fn decoy(params: &Params) -> Result<PasswordHash, HashingFault> {
    let salt: [u8; SALT_BYTES] = random_bytes()?;
    let output: [u8; Params::DEFAULT_OUTPUT_LEN] = random_bytes()?;
    let fault = |error| HashingFault::Argon2(PhcError::from(error));
    Ok(PasswordHash(PhcString {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).map_err(HashingFault::Argon2)?,
        salt: Some(Salt::new(&salt).map_err(fault)?),
        hash: Some(Output::new(&output).map_err(fault)?),
    }))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], HashingFault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(HashingFault::Randomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher() -> PasswordHasher {
        PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).unwrap()
    }

    fn password(typed: &str) -> Password {
        Password::parse(typed).unwrap()
    }

    #[test]
    fn length_counts_characters_and_has_a_byte_limit() {
        assert_eq!(
            Password::parse("123456789").unwrap_err().to_string(),
            "must have 10 to 200 characters; this one has 9"
        );
        assert!(Password::parse("1234567890").is_ok());
        assert!(Password::parse(&"é".repeat(200)).is_ok());
        assert!(Password::parse(&"é".repeat(201)).is_err());
        assert!(Password::parse(&"😀".repeat(200)).is_ok());
        assert_eq!(
            Password::parse(&"a".repeat(1025)),
            Err(PasswordError::Bytes { max: PASSWORD_BYTES_MAX, actual: 1025 })
        );
    }

    #[tokio::test]
    async fn neither_a_password_nor_its_hash_is_shown() {
        let secret = password("correct horse battery");
        assert_eq!(format!("{secret:?}"), "Password(..)");
        let hash = hasher().hash(secret).await.unwrap();
        assert_eq!(format!("{hash:?}"), "PasswordHash(..)");
        assert!(!format!("{:?}", hasher()).contains("argon2id$"));
    }

    #[tokio::test]
    async fn the_right_password_is_accepted_and_a_wrong_one_is_not() {
        let hasher = hasher();
        let hash = hasher.hash(password("correct horse battery")).await.unwrap();
        let stored = Some(PasswordHash::from_stored(&hash.to_stored()).unwrap());
        let right = Password::attempt("correct horse battery");
        assert!(hasher.verify(right, stored.clone()).await.unwrap());
        for wrong in ["correct horse batterY", "", "short", &"a".repeat(5000)] {
            assert!(!hasher.verify(Password::attempt(wrong), stored.clone()).await.unwrap());
        }
    }

    #[tokio::test]
    async fn composed_and_decomposed_letters_are_the_same_password() {
        let hasher = hasher();
        let hash = hasher.hash(password("caf\u{e9} au lait")).await.unwrap();
        assert!(hasher.verify(Password::attempt("cafe\u{301} au lait"), Some(hash)).await.unwrap());
    }

    #[tokio::test]
    async fn two_hashes_of_one_password_differ() {
        let hasher = hasher();
        let first = hasher.hash(password("correct horse battery")).await.unwrap();
        assert_ne!(first, hasher.hash(password("correct horse battery")).await.unwrap());
    }

    #[tokio::test]
    async fn the_stored_hash_names_the_owasp_cost() {
        let hasher = PasswordHasher::new(HashingCost::OWASP, HashingLimits::default()).unwrap();
        let hash = hasher.hash(password("correct horse battery")).await.unwrap();
        assert!(hash.to_stored().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }

    #[tokio::test]
    async fn an_unknown_user_takes_the_same_work_as_a_known_one() {
        let hasher = PasswordHasher::new(HashingCost::OWASP, HashingLimits::default()).unwrap();
        let hash = hasher.hash(password("correct horse battery")).await.unwrap();
        assert_eq!(hasher.decoy.0.params, hash.0.params);
        assert_eq!(hasher.decoy.0.algorithm, hash.0.algorithm);
        assert_eq!(hasher.decoy.0.version, hash.0.version);
        assert_eq!(hasher.decoy.to_stored().len(), hash.to_stored().len());
        assert!(!hasher.verify(Password::attempt("correct horse battery"), None).await.unwrap());
    }

    #[tokio::test]
    async fn a_hash_of_another_cost_is_still_compared() {
        let hash = hasher().hash(password("correct horse battery")).await.unwrap();
        let costlier = HashingCost { memory_kib: 64, ..HashingCost::CHEAP };
        let hasher = PasswordHasher::new(costlier, HashingLimits::default()).unwrap();
        assert!(hasher.verify(Password::attempt("correct horse battery"), Some(hash)).await.unwrap());
    }

    #[tokio::test]
    async fn too_many_waiting_are_turned_away_at_once() {
        let limits = HashingLimits { at_once: 1, waiting_max: 1 };
        let hasher = PasswordHasher::new(HashingCost::CHEAP, limits).unwrap();
        let running = hasher.permit(HashingCaller::default()).await.unwrap();
        let mut waiting = Box::pin(hasher.hash(password("correct horse battery")));
        assert!(futures::poll!(&mut waiting).is_pending());
        let turned_away = hasher.hash(password("correct horse battery")).await;
        assert!(matches!(turned_away, Err(HashingError::Busy)));
        drop(running);
        assert!(waiting.await.is_ok());
        assert!(hasher.hash(password("correct horse battery")).await.is_ok());
    }

    #[test]
    fn a_stored_hash_that_cannot_be_read_is_a_fault_without_the_hash() {
        let fault = PasswordHash::from_stored("not a hash").unwrap_err();
        assert_eq!(fault.to_string(), "the stored password hash cannot be read");
    }
}
