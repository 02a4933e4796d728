//! Key reload: a running server reads the key directory again at an interval, and so follows a rotation.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::key_directory::KeyDirectory;
use super::secret_file::KeyFileError;
use super::token::Tokens;
use onehop_runtime::clock::Clock;

/// Between two reads of the directory. It has a few files of some hundred bytes.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// Tokens that follow a key directory.
pub struct KeyReload {
    directory: KeyDirectory,
    tokens: Tokens,
    clock: Arc<dyn Clock>,
}

impl KeyReload {
    /// These tokens are verified and signed with the keys of this directory.
    #[must_use]
    pub fn new(directory: KeyDirectory, tokens: Tokens, clock: Arc<dyn Clock>) -> Self {
        Self { directory, tokens, clock }
    }

    /// Reads the directory once, and says whether anything changed. This blocks.
    ///
    /// # Errors
    /// The directory cannot be used; the secrets stay as they were.
    pub fn run_once(&self) -> Result<bool, KeyFileError> {
        let keys = self.directory.read()?;
        Ok(self.tokens.replace(&keys.secrets(self.clock.now_ms())))
    }

    /// Reads the directory until `stop` fires.
    pub async fn run_until(self, stop: CancellationToken) {
        let (reload, mut is_usable) = (Arc::new(self), true);
        while stop.run_until_cancelled(tokio::time::sleep(READ_INTERVAL)).await.is_some() {
            let reading = Arc::clone(&reload);
            match tokio::task::spawn_blocking(move || reading.run_once()).await {
                Ok(Ok(changed)) => {
                    is_usable = true;
                    if changed {
                        tracing::info!(signs = %reload.tokens.signing(), "the signing keys of access tokens have changed");
                    }
                }
                Ok(Err(error)) if is_usable => {
                    is_usable = false;
                    tracing::warn!(%error, "the signing keys of access tokens stay as they were");
                }
                Ok(Err(_)) => {}
                Err(error) => tracing::error!(%error, "the signing keys of access tokens were not read"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::SessionId;
    use super::super::signing_secrets::KeyId;
    use super::super::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, AccessToken, TokenError};
    use super::*;
    use onehop_runtime::clock::ManualClock;

    const NOW_MS: i64 = 1_800_000_000_000;

    /// A process that follows the keys of a data directory.
    fn process(data: &tempfile::TempDir) -> (KeyReload, Tokens) {
        process_at(data, Arc::new(ManualClock::new(NOW_MS + 1)))
    }

    fn process_at(data: &tempfile::TempDir, clock: Arc<ManualClock>) -> (KeyReload, Tokens) {
        let directory = KeyDirectory::in_data_directory(data.path());
        let keys = directory.read_or_create(NOW_MS).unwrap();
        let tokens = Tokens::new(keys.secrets(NOW_MS), ACCESS_TOKEN_LIFETIME_DEFAULT);
        (KeyReload::new(directory, tokens.clone(), clock), tokens)
    }

    /// A new key that signs.
    fn rotate(data: &tempfile::TempDir) -> KeyId {
        KeyDirectory::in_data_directory(data.path()).rotate(Duration::ZERO, NOW_MS).unwrap().new
    }

    fn delete(data: &tempfile::TempDir, id: &KeyId) {
        let directory = KeyDirectory::in_data_directory(data.path());
        let keys = directory.read().unwrap();
        let key = keys.iter().find(|key| key.secret.id() == *id).unwrap();
        std::fs::remove_file(directory.path_of(key)).unwrap();
    }

    fn issue(tokens: &Tokens) -> AccessToken {
        let session = SessionId::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        tokens.issue("u1", session, NOW_MS).unwrap()
    }

    fn judge(tokens: &Tokens, token: &AccessToken) -> Result<String, TokenError> {
        tokens.verify(token.as_str(), NOW_MS).map(|verified| verified.bearer.subject)
    }

    #[test]
    fn a_new_secret_signs_and_tokens_of_the_old_one_are_good_until_it_is_deleted() {
        let data = tempfile::tempdir().unwrap();
        let (reload, tokens) = process(&data);
        let (old, of_old) = (tokens.signing(), issue(&tokens));
        let new = rotate(&data);
        assert!(reload.run_once().unwrap());
        assert!(reload.run_once().unwrap());
        assert!(!reload.run_once().unwrap());
        assert_eq!(tokens.signing(), new);
        let of_new = issue(&tokens);
        for token in [&of_old, &of_new] {
            assert_eq!(judge(&tokens, token).as_deref(), Ok("u1"));
        }
        delete(&data, &old);
        assert!(reload.run_once().unwrap());
        assert_eq!(judge(&tokens, &of_old), Err(TokenError::Invalid));
        assert_eq!(judge(&tokens, &of_new).as_deref(), Ok("u1"));
    }

    #[test]
    fn of_processes_that_look_in_turns_each_verifies_what_another_signs() {
        let data = tempfile::tempdir().unwrap();
        let [(first, of_first), (second, of_second)] = [process(&data), process(&data)];
        rotate(&data);
        for _ in 0..3 {
            first.run_once().unwrap();
            assert!(judge(&of_second, &issue(&of_first)).is_ok());
            second.run_once().unwrap();
            assert!(judge(&of_first, &issue(&of_second)).is_ok());
        }
        assert_eq!(of_first.signing(), of_second.signing());
    }

    #[test]
    fn when_the_one_that_signs_is_gone_the_new_one_signs_at_once() {
        let data = tempfile::tempdir().unwrap();
        let (reload, tokens) = process(&data);
        let only = rotate(&data);
        let old = tokens.signing();
        delete(&data, &old);
        assert!(reload.run_once().unwrap());
        assert_eq!(tokens.signing(), only);
    }

    #[test]
    fn a_key_that_cannot_be_used_leaves_the_secrets_as_they_were() {
        let data = tempfile::tempdir().unwrap();
        let (reload, tokens) = process(&data);
        let token = issue(&tokens);
        let directory = KeyDirectory::in_data_directory(data.path());
        let path = directory.path_of(directory.read().unwrap().signing(NOW_MS));
        std::fs::write(&path, "too short").unwrap();
        assert!(reload.run_once().is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(reload.run_once().is_err());
        assert!(judge(&tokens, &token).is_ok());
    }

    #[test]
    fn a_key_verifies_before_its_time_and_signs_at_once_then() {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let (reload, tokens) = process_at(&data, Arc::clone(&clock));
        let old = tokens.signing();
        let directory = KeyDirectory::in_data_directory(data.path());
        let new = directory.rotate(Duration::from_secs(60), NOW_MS).unwrap().new;
        assert!(reload.run_once().unwrap());
        clock.advance_ms(59_999);
        assert!(!reload.run_once().unwrap());
        assert_eq!(tokens.signing(), old);
        clock.advance_ms(1);
        assert!(reload.run_once().unwrap());
        assert_eq!(tokens.signing(), new);
    }
}
