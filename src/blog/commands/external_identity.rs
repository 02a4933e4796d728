//! Users who sign in elsewhere: a subject of an OpenID Connect provider is mapped to a user, who is created
//! on first use.
//!
//! Three items in three logical partitions, in this order: the subject with a new user id, a reservation for
//! that id, the user. A repeat after a crash reads the id from the subject and goes on; the names it tries
//! are derived from the subject, so it finds the reservation made before. Should a sign-up have taken that
//! reservation over, the user id is blocked, and the subject gets a new one with If-Match.
//!
//! Derived names can be foreseen, and registered by an attacker to keep the subject out. When all of them are
//! taken, the subject gets a name with a random suffix. After a crash at that point its reservation stays
//! behind, which the next claim of that name takes over.

use crate::accounts::username::{USERNAME_CHARS_MAX, Username};
use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::{SubjectItem, UserItem, types};
use onehop_store::{ETag, Fault, Ledger, NewItem, PartitionKey, WriteOp};

use super::names::{self, ClaimOutcome, UserLookup, WriteAttempt};
use super::{CommandError, Commands, Refusal};
use crate::domain::digest::sha256_hex;
use crate::domain::error::contended;

/// Attempts of the protocol after others changed the items it had read.
const ATTEMPTS_MAX: u32 = 8;
/// Digits of the subject's hash in a name's suffix.
const SUFFIX_DIGITS: usize = 6;
/// Suffixes that a subject's hash of 64 digits gives.
const SUFFIXES_MAX: usize = 10;
/// Hexadecimal digits of a random suffix: 48 bits.
const RANDOM_DIGITS: usize = 12;
/// Random suffixes that are tried when all derived names are taken.
const RANDOM_SUFFIXES_MAX: usize = 4;
/// The name of users without a usable name from their provider.
const NAMELESS: &str = "user";

/// The person behind a validated token of an OpenID Connect provider.
#[derive(Debug, Clone)]
pub struct ExternalSubject {
    pub issuer: String,
    pub subject: String,
    /// The provider's name for the person; made valid, and unique by a suffix.
    pub preferred_username: Option<String>,
}

impl Commands {
    /// The user behind the subject, created on first use.
    ///
    /// # Errors
    /// `ACCOUNT_SUSPENDED`; `Unavailable` when others kept changing the same items.
    pub async fn user_for_subject(
        &self,
        subject: &ExternalSubject,
        ledger: &Ledger,
    ) -> Result<UserItem, CommandError> {
        let digest = sha256_hex(&[&subject.issuer, &subject.subject]);
        let id = format!("subject:{digest}");
        for _ in 0..ATTEMPTS_MAX {
            let Some((user_id, etag)) = self.subject(&id, ledger).await? else {
                let create = WriteOp::Create(self.new_subject(&id));
                self.names.attempt(ACCOUNTS, &PartitionKey::from(id.as_str()), create, ledger).await?;
                continue;
            };
            match self.names.find(user_id, ledger).await? {
                UserLookup::User(stored) if stored.user.suspended => {
                    return Err(Refusal::account_suspended().into());
                }
                UserLookup::User(stored) => return Ok(stored.user),
                UserLookup::Abandoned => self.replace_subject(&id, etag, ledger).await?,
                UserLookup::Missing => {
                    let candidates = candidates(subject.preferred_username.as_deref(), &digest);
                    if let Some(user) = self.create_external(user_id, &candidates, ledger).await? {
                        return Ok(user);
                    }
                }
            }
        }
        Err(contended("the user of an external subject").into())
    }

    async fn subject(&self, id: &str, ledger: &Ledger) -> Result<Option<(UserId, ETag)>, Fault> {
        match self.store.read(ACCOUNTS, &PartitionKey::from(id), id, ledger).await? {
            Some(item) => Ok(Some((item.decode::<SubjectItem>()?.user_id, item.etag))),
            None => Ok(None),
        }
    }

    fn new_subject(&self, id: &str) -> NewItem {
        let item_type = types::SUBJECT.to_owned();
        NewItem::encode(id, &SubjectItem { id: id.to_owned(), item_type, user_id: UserId(self.new_id()) })
    }

    /// Gives the subject another user id; refused when another process did so first, which is as good.
    async fn replace_subject(&self, id: &str, etag: ETag, ledger: &Ledger) -> Result<(), Fault> {
        let replace = WriteOp::Replace { item: self.new_subject(id), if_match: Some(etag) };
        let _: WriteAttempt = self.names.attempt(ACCOUNTS, &PartitionKey::from(id), replace, ledger).await?;
        Ok(())
    }

    /// Creates the user under the first name that is free; `None` when its id was blocked meanwhile.
    async fn create_external(
        &self,
        id: UserId,
        candidates: &[Username],
        ledger: &Ledger,
    ) -> Result<Option<UserItem>, CommandError> {
        let last_resort = std::iter::repeat_with(|| self.random_name()).take(RANDOM_SUFFIXES_MAX).flatten();
        let may_be_given = |name: &Username| self.protected_names().check_new(name).is_ok();
        for name in candidates.iter().cloned().chain(last_resort).filter(may_be_given) {
            let wanted = names::account(&name.normalized().clone().into(), id, None);
            if let ClaimOutcome::Granted = self.names.claim_name(&name, &wanted, ledger).await? {
                return Ok(self.names.create_user(id, &name, ledger).await?);
            }
        }
        Err(contended("every name for an external subject").into())
    }

    /// A name that cannot be foreseen. The last digits of an id are random.
    fn random_name(&self) -> Option<Username> {
        let id = self.new_id().simple().to_string();
        Username::choose(&format!("{NAMELESS}-{}", &id[id.len() - RANDOM_DIGITS..])).ok()
    }
}

/// The names to try for a subject, always the same: the preferred one, then with suffixes of the subject's
/// hash.
fn candidates(preferred: Option<&str>, digest: &str) -> Vec<Username> {
    let base = preferred.and_then(usable).unwrap_or_else(|| NAMELESS.to_owned());
    let start: String = base.chars().take(USERNAME_CHARS_MAX - SUFFIX_DIGITS - 1).collect();
    let suffixes = (0..SUFFIXES_MAX).map(|index| &digest[index * SUFFIX_DIGITS..(index + 1) * SUFFIX_DIGITS]);
    let with_suffix: Vec<String> = suffixes.map(|suffix| format!("{start}-{suffix}")).collect();
    let plain = (base != NAMELESS).then_some(base);
    let parsed = |name: String| Username::choose(&name).ok();
    let mut names: Vec<Username> = plain.into_iter().chain(with_suffix).filter_map(parsed).collect();
    // A right-to-left name may take no suffix of Latin letters.
    let nameless = (0..SUFFIXES_MAX).map(|index| &digest[index * SUFFIX_DIGITS..(index + 1) * SUFFIX_DIGITS]);
    names.extend(nameless.map(|suffix| format!("{NAMELESS}-{suffix}")).filter_map(parsed));
    names
}

/// The usable part of a preferred name: of an address the part before the `@`, of that part the allowed
/// characters.
fn usable(preferred: &str) -> Option<String> {
    let local = preferred.split('@').next().unwrap_or(preferred);
    let allowed = local.chars().filter(|found| found.is_alphanumeric() || "_-.".contains(*found));
    let name: String = allowed.take(USERNAME_CHARS_MAX).collect();
    Username::choose(&name).ok().map(|name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn names(preferred: Option<&str>) -> Vec<String> {
        candidates(preferred, DIGEST).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_valid_preferred_name_comes_first_and_then_with_suffixes() {
        assert_eq!(names(Some("ada"))[..3], ["ada", "ada-012345", "ada-6789ab"]);
    }

    #[test]
    fn of_an_address_the_part_before_the_at_sign_is_used() {
        assert_eq!(names(Some("ada.lovelace@example.com"))[0], "ada.lovelace");
        assert_eq!(names(Some("Ada Lovelace"))[0], "AdaLovelace");
    }

    #[test]
    fn without_a_usable_name_there_is_still_one() {
        for preferred in [None, Some(""), Some("@"), Some("??")] {
            assert_eq!(names(preferred)[0], "user-012345");
        }
    }

    #[test]
    fn long_and_right_to_left_names_have_candidates_too() {
        let long = "a".repeat(100);
        assert!(names(Some(&long)).iter().all(|name| name.chars().count() <= USERNAME_CHARS_MAX));
        assert!(names(Some("שלום")).contains(&"user-012345".to_owned()));
    }
}
