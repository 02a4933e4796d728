//! Secret rotation at run time: the secret file is read again at an interval.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::secret_file::{SecretFault, SecretFile};
use super::token::Tokens;

/// Between two looks at the file. It has some hundred bytes.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Tokens that follow a file.
#[derive(Debug)]
pub struct Rotation {
    file: SecretFile,
    tokens: Tokens,
}

impl Rotation {
    /// These tokens are verified and signed with what is in this file.
    #[must_use]
    pub fn new(file: SecretFile, tokens: Tokens) -> Self {
        Self { file, tokens }
    }

    /// Looks at the file once, and says whether anything changed. This blocks.
    ///
    /// # Errors
    /// The file cannot be used; the secrets stay as they were.
    pub fn run_once(&self) -> Result<bool, SecretFault> {
        Ok(self.tokens.replace(&self.file.read()?))
    }

    /// Looks at the file until `stop` fires.
    pub async fn run_until(self, stop: CancellationToken) {
        let (rotation, mut is_usable) = (Arc::new(self), true);
        while stop.run_until_cancelled(tokio::time::sleep(LOOK_INTERVAL)).await.is_some() {
            let looking = Arc::clone(&rotation);
            match tokio::task::spawn_blocking(move || looking.run_once()).await {
                Ok(Ok(changed)) => {
                    is_usable = true;
                    if changed {
                        tracing::info!(signs = %rotation.tokens.signing(), "the secrets of access tokens have changed");
                    }
                }
                Ok(Err(error)) if is_usable => {
                    is_usable = false;
                    tracing::warn!(%error, "the secrets of access tokens stay as they were");
                }
                Ok(Err(_)) => {}
                Err(error) => tracing::error!(%error, "the secrets of access tokens were not looked at"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::SessionId;
    use super::super::signing_secrets::{Secrets, SigningSecret};
    use super::super::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, AccessToken, TokenError};
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    /// A process that follows the file of a data directory.
    fn process(data: &tempfile::TempDir) -> (Rotation, Tokens) {
        let file = SecretFile::in_directory(data.path());
        let tokens = Tokens::new(file.read_or_create().unwrap(), ACCESS_TOKEN_LIFETIME_DEFAULT);
        (Rotation::new(file, tokens.clone()), tokens)
    }

    fn change(data: &tempfile::TempDir, change: impl FnOnce(Secrets) -> Secrets) -> Secrets {
        SecretFile::in_directory(data.path()).change(|secrets| Ok(change(secrets))).unwrap()
    }

    /// A new secret that signs.
    fn rotate(data: &tempfile::TempDir) -> Secrets {
        let new = SigningSecret::random().unwrap();
        let id = new.id();
        change(data, |secrets| secrets.with(new).unwrap().signing_with(id.as_str()).unwrap())
    }

    fn issue(tokens: &Tokens) -> AccessToken {
        let session = SessionId::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        tokens.issue("u1", session, NOW_MS).unwrap()
    }

    fn judge(tokens: &Tokens, token: &AccessToken) -> Result<String, TokenError> {
        tokens.verify(token.as_str(), NOW_MS).map(|verified| verified.bearer.user_id)
    }

    #[test]
    fn a_new_secret_signs_and_tokens_of_the_old_one_are_good_until_it_is_dropped() {
        let data = tempfile::tempdir().unwrap();
        let (rotation, tokens) = process(&data);
        let (old, of_old) = (tokens.signing(), issue(&tokens));
        let new = rotate(&data).signing().id();
        assert!(rotation.run_once().unwrap());
        assert!(rotation.run_once().unwrap());
        assert!(!rotation.run_once().unwrap());
        assert_eq!(tokens.signing(), new);
        let of_new = issue(&tokens);
        for token in [&of_old, &of_new] {
            assert_eq!(judge(&tokens, token).as_deref(), Ok("u1"));
        }
        change(&data, |secrets| secrets.without(old.as_str()).unwrap());
        assert!(rotation.run_once().unwrap());
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
        let (rotation, tokens) = process(&data);
        let only = rotate(&data).signing().id();
        let old = tokens.signing();
        change(&data, |secrets| secrets.without(old.as_str()).unwrap());
        assert!(rotation.run_once().unwrap());
        assert_eq!(tokens.signing(), only);
    }

    #[test]
    fn a_file_that_cannot_be_used_leaves_the_secrets_as_they_were() {
        let data = tempfile::tempdir().unwrap();
        let (rotation, tokens) = process(&data);
        let token = issue(&tokens);
        let path = SecretFile::in_directory(data.path()).path().to_owned();
        std::fs::write(&path, "too short").unwrap();
        assert!(rotation.run_once().is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(rotation.run_once().is_err());
        assert!(judge(&tokens, &token).is_ok());
    }
}
