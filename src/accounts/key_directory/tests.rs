use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::super::claim_times::CLOCK_LEEWAY_MS;
use super::super::signing_secrets::{KEY_RETIREMENT, KEYS_MAX};
use super::super::token::ACCESS_TOKEN_MINUTES_MAX;
use super::*;

const NOW_MS: i64 = 1_795_166_400_125;
const NAME: &str = "2026-11-20T09-20-00.125Z.key";
const AT_ONCE: Duration = Duration::ZERO;

fn own(data: &TempDir) -> KeyDirectory {
    KeyDirectory::in_data_directory(data.path())
}

fn started(data: &TempDir) -> SigningKeys {
    own(data).read_or_create(NOW_MS).unwrap()
}

/// A data directory of a former version, whose secret file has this content.
fn former(content: &[u8]) -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("secrets/access-token.key");
    private_files::make_directory(parent(&path)).unwrap();
    private_files::write_atomically(&path, content).unwrap();
    (data, path)
}

fn list(secrets: &[u8]) -> Vec<u8> {
    let lines = secrets.iter().map(|byte| format!("{}\n", STANDARD.encode([*byte; 32])));
    format!("onehop token secrets\n# The first signs, all verify.\n{}", lines.collect::<String>())
        .into_bytes()
}

fn secret(byte: u8) -> SigningSecret {
    SigningSecret::from_bytes(vec![byte; 32]).unwrap()
}

fn secrets(directory: &KeyDirectory) -> Vec<SigningSecret> {
    directory.read().unwrap().secrets(i64::MAX).iter().cloned().collect()
}

fn newest_ms(directory: &KeyDirectory) -> i64 {
    directory.read().unwrap().signing(i64::MAX).signs_from_ms
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs this in several threads at once.
fn at_once<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(&work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_key_of_the_first_start_is_that_of_every_later_one() {
    let data = tempfile::tempdir().unwrap();
    let first = started(&data);
    assert_eq!(own(&data).read_or_create(NOW_MS + 1).unwrap(), first);
    assert_eq!(names(own(&data).path()), [NAME]);
    assert_ne!(first, started(&tempfile::tempdir().unwrap()));
}

#[test]
fn processes_that_start_together_share_one_key() {
    let data = tempfile::tempdir().unwrap();
    let starts = at_once(|| started(&data));
    assert!(starts.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(names(own(&data).path()), [NAME], "no unfinished file is left");
}

#[test]
fn only_the_owner_may_read_the_directory_and_its_files() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    own(&data).rotate(AT_ONCE, NOW_MS).unwrap();
    let directory = own(&data);
    assert_eq!((mode(directory.path()), mode(parent(directory.path()))), (0o700, 0o700));
    for name in names(directory.path()) {
        assert_eq!(mode(&directory.path().join(name)), 0o600);
    }
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    let path = own(&data).path().join(NAME);
    set_mode(&path, 0o640);
    for directory in [own(&data), KeyDirectory::given(own(&data).path())] {
        for refused in
            [directory.read_or_create(NOW_MS).unwrap_err(), directory.rotate(AT_ONCE, NOW_MS).unwrap_err()]
        {
            let command = format!("(mode 0640): run `chmod 600 {}`", path.display());
            assert!(refused.to_string().contains(&command), "{refused}");
        }
    }
}

#[test]
fn a_directory_to_which_others_can_add_keys_is_refused() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    let given = KeyDirectory::given(own(&data).path());
    set_mode(given.path(), 0o720);
    let refused = given.read().unwrap_err().to_string();
    assert!(refused.contains(&format!("run `chmod 700 {}`", given.path().display())), "{refused}");
    set_mode(given.path(), 0o750);
    assert!(given.read().is_ok());
}

#[test]
fn a_key_file_of_a_user_who_is_not_trusted_is_refused() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    let path = own(&data).path().join(NAME);
    let owner = fs::metadata(&path).unwrap().uid();
    assert!(key_of_file(&path, &[owner]).is_ok());
    let refused = key_of_file(&path, &[owner + 1]).unwrap_err();
    assert!(matches!(refused, KeyFileFault::Owner), "{refused}");
}

#[test]
fn a_file_that_is_no_key_is_refused_by_its_name_and_kept() {
    let short = STANDARD.encode([1; 9]);
    for (name, content, reason) in [
        (NAME, &*short, "32 to 4096 bytes, this one has 9"),
        (NAME, "not base64!", "holds no base64"),
        (NAME, "", "this one has 0"),
        ("mine.key", "", "the time from which it signs"),
        ("2026-11-20T09:20:00.125Z.key", "", "the time from which it signs"),
        ("2026-11-20T09-20-00Z.key", "", "the time from which it signs"),
    ] {
        let data = tempfile::tempdir().unwrap();
        let path = own(&data).path().join(name);
        private_files::make_directory(own(&data).path()).unwrap();
        private_files::write_atomically(&path, content.as_bytes()).unwrap();
        let refused = own(&data).read_or_create(NOW_MS).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains(reason), "{refused}");
        assert!(content.is_empty() || !refused.contains(content), "{refused}");
        assert_eq!(fs::read_to_string(path).unwrap(), content);
    }
}

#[test]
fn files_that_are_no_keys_by_their_names_are_left_alone() {
    let data = tempfile::tempdir().unwrap();
    let first = started(&data);
    for name in ["..data", ".unfinished", "README"] {
        fs::write(own(&data).path().join(name), "x").unwrap();
    }
    assert_eq!(own(&data).read().unwrap(), first);
}

#[test]
fn keys_that_an_orchestrator_links_into_a_directory_are_read() {
    let (data, mount) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = started(&data);
    symlink(own(&data).path(), mount.path().join("..data")).unwrap();
    symlink(Path::new("..data").join(NAME), mount.path().join(NAME)).unwrap();
    set_mode(mount.path(), 0o1777);
    assert_eq!(KeyDirectory::given(mount.path()).read().unwrap(), first);
}

#[test]
fn a_rotation_keeps_the_key_of_the_first_start() {
    let data = tempfile::tempdir().unwrap();
    let first = started(&data).signing(NOW_MS).clone();
    let rotation = own(&data).rotate(AT_ONCE, NOW_MS + 1000).unwrap();
    assert_eq!(rotation.former, Some((first.secret.id(), own(&data).path().join(NAME))));
    let ids: Vec<_> = secrets(&own(&data)).iter().map(SigningSecret::id).collect();
    assert_eq!(ids, [rotation.new, first.secret.id()]);
    assert_eq!((rotation.signs_from_ms, rotation.removed), (NOW_MS + 1000, vec![]));
    assert_eq!(names(own(&data).path()), [NAME, "2026-11-20T09-20-01.125Z.key"]);
}

#[test]
fn a_rotation_removes_a_key_when_its_tokens_have_expired() {
    let retirement_ms = i64::try_from(KEY_RETIREMENT.as_millis()).unwrap();
    let longest_ms = i64::from(ACCESS_TOKEN_MINUTES_MAX) * 60_000 + CLOCK_LEEWAY_MS;
    assert!(retirement_ms > longest_ms + 60_000, "with the time until processes sign with the new key");
    let data = tempfile::tempdir().unwrap();
    let first = started(&data).signing(NOW_MS).secret.id();
    let second = own(&data).rotate(AT_ONCE, NOW_MS + 1000).unwrap().new;
    let end_ms = NOW_MS + 1000 + retirement_ms;
    assert_eq!(own(&data).rotate(AT_ONCE, end_ms - 1).unwrap().removed, []);
    assert_eq!(own(&data).rotate(AT_ONCE, end_ms).unwrap().removed, [first]);
    assert_eq!(own(&data).rotate(AT_ONCE, end_ms + retirement_ms).unwrap().removed.len(), 2);
    assert!(!secrets(&own(&data)).iter().any(|secret| secret.id() == second));
}

#[test]
fn a_key_that_is_to_sign_later_verifies_until_then() {
    let data = tempfile::tempdir().unwrap();
    let first = started(&data).signing(NOW_MS).secret.clone();
    let rotation = own(&data).rotate(Duration::from_secs(60), NOW_MS).unwrap();
    assert_eq!(rotation.signs_from_ms, NOW_MS + 60_000);
    let keys = own(&data).read().unwrap();
    assert_eq!(keys.signing(NOW_MS + 59_999).secret, first);
    assert_eq!(keys.signing(NOW_MS + 60_000).secret.id(), rotation.new);
}

#[test]
fn a_new_key_is_the_newest_also_when_the_clock_was_set_back() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    let rotation = own(&data).rotate(AT_ONCE, NOW_MS - 5000).unwrap();
    assert_eq!(rotation.signs_from_ms, NOW_MS + 1);
    assert_eq!(own(&data).read().unwrap().signing(NOW_MS + 1).secret.id(), rotation.new);
}

#[test]
fn rotations_at_once_lose_no_key() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    let rotations = at_once(|| own(&data).rotate(AT_ONCE, NOW_MS).unwrap().new);
    let stored = secrets(&own(&data));
    assert_eq!(stored.len(), 7);
    assert!(rotations.iter().all(|new| stored.iter().any(|secret| secret.id() == *new)));
}

#[test]
fn a_rotation_that_is_refused_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    started(&data);
    for _ in 1..KEYS_MAX {
        own(&data).rotate(AT_ONCE, NOW_MS).unwrap();
    }
    let keys = secrets(&own(&data));
    let refused = own(&data).rotate(AT_ONCE, NOW_MS).unwrap_err().to_string();
    assert!(refused.contains("more than 8 keys: a rotation removes a key 25 hours after"), "{refused}");
    assert_eq!((secrets(&own(&data)), names(own(&data).path()).len()), (keys, KEYS_MAX));
}

#[test]
fn a_directory_that_is_not_there_is_not_rotated() {
    let data = tempfile::tempdir().unwrap();
    for directory in [own(&data), KeyDirectory::given(&data.path().join("missing"))] {
        let refused = directory.rotate(AT_ONCE, NOW_MS).unwrap_err();
        assert!(matches!(&refused.fault, KeyFileFault::Io(error) if is_absent(error)), "{refused}");
        assert!(refused.to_string().contains(&directory.path().display().to_string()), "{refused}");
    }
    assert_eq!(names(data.path()), [""; 0]);
}

#[test]
fn an_empty_directory_that_is_given_gets_its_first_key() {
    let directory = tempfile::tempdir().unwrap();
    let given = KeyDirectory::given(directory.path());
    assert!(given.read().unwrap_err().to_string().contains("there is no key"));
    let rotation = given.rotate(AT_ONCE, NOW_MS).unwrap();
    assert_eq!((rotation.former, given.read().unwrap().iter().count()), (None, 1));
}

#[test]
fn the_secret_file_of_a_former_version_becomes_a_key_file() {
    // Bytes that a text would lose at its end belong to the secret.
    for end in [*b"\n", *b"\r", *b" ", *b"x"] {
        let bytes = [&[7; 31][..], &end].concat();
        let (data, path) = former(&bytes);
        assert_eq!(own(&data).read().unwrap(), started(&data));
        assert_eq!(secrets(&own(&data)), [SigningSecret::from_bytes(bytes).unwrap()]);
        assert!(!path.exists());
        assert_eq!(names(own(&data).path()).len(), 1);
    }
}

#[test]
fn a_list_of_a_former_version_becomes_key_files_in_its_order() {
    let (data, path) = former(&list(&[2, 1, 3]));
    let before = own(&data).read().unwrap();
    assert_eq!(secrets(&own(&data)), [secret(2), secret(1), secret(3)]);
    assert!(path.exists() && !own(&data).path().exists(), "reading changes nothing");
    assert_eq!(started(&data), before);
    assert!(!path.exists());
    assert_eq!(names(own(&data).path()).len(), 3);
}

#[test]
fn a_rotation_takes_the_keys_of_a_former_version_in() {
    let (data, path) = former(&list(&[2, 1]));
    let new = own(&data).rotate(AT_ONCE, newest_ms(&own(&data))).unwrap().new;
    let stored = secrets(&own(&data));
    assert_eq!((stored[0].id(), &stored[1..]), (new, &[secret(2), secret(1)][..]));
    assert!(!path.exists());
}

#[test]
fn a_crash_between_the_steps_of_the_migration_loses_no_key() {
    let content = list(&[2, 1, 3]);
    for taken in 0..=3 {
        let (data, path) = former(&content);
        let keys = own(&data).read().unwrap();
        private_files::make_directory(own(&data).path()).unwrap();
        for key in keys.iter().take(taken) {
            own(&data).write(key).unwrap();
        }
        assert_eq!(own(&data).read().unwrap(), keys, "the order is the same meanwhile");
        assert_eq!(started(&data), keys);
        assert!(!path.exists());
    }
}

#[test]
fn processes_that_migrate_together_lose_no_key() {
    let (data, _) = former(&list(&[2, 1]));
    let before = own(&data).read().unwrap();
    assert!(at_once(|| started(&data)).iter().all(|keys| *keys == before));
    assert_eq!(names(own(&data).path()).len(), 2);
}

#[test]
fn a_secret_file_that_a_former_version_made_later_is_taken_in() {
    let data = tempfile::tempdir().unwrap();
    let first = started(&data).signing(NOW_MS).secret.clone();
    let path = data.path().join("secrets/access-token.key");
    private_files::write_atomically(&path, &[7; 32]).unwrap();
    started(&data);
    let stored = secrets(&own(&data));
    assert!(stored.contains(&first) && stored.contains(&secret(7)) && !path.exists());
}

#[test]
fn a_former_secret_file_that_others_may_read_is_refused_and_kept() {
    let (data, path) = former(&[7; 32]);
    set_mode(&path, 0o644);
    let refused = own(&data).read_or_create(NOW_MS).unwrap_err().to_string();
    assert!(refused.contains(&format!("run `chmod 600 {}`", path.display())), "{refused}");
    assert!(path.exists());
}

#[test]
fn a_former_secret_file_that_is_too_short_is_refused_and_kept() {
    let (data, path) = former(b"too short");
    let refused = own(&data).read_or_create(NOW_MS).unwrap_err().to_string();
    assert!(refused.contains("access-token.key") && refused.contains("has 9"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"too short");
}

#[test]
fn a_secret_file_that_is_given_becomes_a_directory() {
    for (content, old) in [
        (b"thirty-two bytes or more, as RFC 7518 has it\r\n".to_vec(), None),
        (list(&[2, 1]), Some(vec![secret(2), secret(1)])),
    ] {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("secret");
        private_files::write_atomically(&path, &content).unwrap();
        let given = KeyDirectory::given(&path);
        let before = secrets(&given);
        assert!(path.is_file(), "reading changes nothing");
        assert!(old.is_none_or(|old| old == before));
        let now_ms = newest_ms(&given);
        let rotations = at_once(|| given.rotate(AT_ONCE, now_ms).unwrap().new);
        let after = secrets(&given);
        assert_eq!(after[6..], before);
        assert!(after[..6].iter().all(|secret| rotations.contains(&secret.id())));
        assert_eq!((names(outer.path()), mode(&path)), (vec!["secret".to_owned()], 0o700));
    }
}
