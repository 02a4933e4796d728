//! Tests of brute-force protection.

use super::*;
use crate::accounts::username::Username;

const NOW_MS: i64 = 1_800_000_000_000;
const MINUTE_MS: i64 = 60_000;

fn attempts() -> Attempts {
    Attempts::new(AttemptLimits {
        sign_ins_per_address: 4,
        sign_ins_per_username: 2,
        sign_ups_per_address: 3,
        sign_ups_per_username: 2,
        taken_names_per_address: 2,
    })
}

fn name(typed: &str) -> String {
    Username::parse(typed).unwrap().normalized().as_str().to_owned()
}

fn public(key: &str) -> Option<LoginName<'_>> {
    Some(LoginName { key, is_private: false })
}

fn v4(address: u32) -> AttemptOrigin {
    AttemptOrigin::v4(address)
}

fn sign_in<'a>(
    attempts: &'a Attempts,
    typed: &str,
    origin: AttemptOrigin,
    now_ms: i64,
) -> Result<Attempt<'a>, TooManyAttempts> {
    attempts.begin(AttemptKind::SignIn, public(&name(typed)), origin, now_ms)
}

fn fail(attempts: &Attempts, typed: &str, address: u32, now_ms: i64) -> Result<(), &'static str> {
    sign_in(attempts, typed, v4(address), now_ms).map(drop).map_err(|over| over.limit)
}

fn succeed(attempts: &Attempts, typed: &str, address: u32, now_ms: i64) {
    sign_in(attempts, typed, v4(address), now_ms).unwrap().end(AttemptOutcome::Succeeded, now_ms);
}

#[test]
fn an_address_has_so_many_attempts_whatever_the_names() {
    let attempts = attempts();
    for typed in ["ada", "grace", "alan", "edsger"] {
        assert_eq!(fail(&attempts, typed, 1, NOW_MS), Ok(()));
    }
    assert_eq!(fail(&attempts, "barbara", 1, NOW_MS), Err("sign-ins-per-address"));
    assert_eq!(fail(&attempts, "barbara", 2, NOW_MS), Ok(()));
    assert_eq!(fail(&attempts, "barbara", 1, NOW_MS + MINUTE_MS / 4), Ok(()));
}

#[test]
fn networks_of_one_site_share_a_limit() {
    let attempts = attempts();
    let try_all = |first: u64, step: u64| {
        let begun = (0..100).map(|subnet| {
            let origin = AttemptOrigin::v6(first + subnet * step);
            attempts.begin(AttemptKind::SignUp, None, origin, NOW_MS).map(drop)
        });
        begun.filter(Result::is_ok).count()
    };
    assert_eq!(try_all(0x2001_0db8_0001_0000, 1), 12, "a /56 has four times an address's");
    assert_eq!(try_all(0x2001_0db8_0002_0000, 0x100), 48, "a /48 has sixteen times an address's");
    let refused = attempts.begin(AttemptKind::SignUp, None, AttemptOrigin::v6(0x2001_0db8_0002_ffff), NOW_MS);
    assert_eq!(refused.unwrap_err().max, 48);
}

#[test]
fn a_name_has_so_many_failures_from_all_networks() {
    let attempts = attempts();
    for address in [1, 2] {
        assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()), "{address}");
    }
    for address in 1..1_000 {
        assert_eq!(fail(&attempts, "Ada", address, NOW_MS), Err("sign-ins-per-username"), "{address}");
    }
    assert_eq!(fail(&attempts, "grace", 3, NOW_MS), Ok(()), "another name");
}

#[test]
fn known_networks_have_a_few_attempts_more() {
    let attempts = attempts();
    for home in 1..=8 {
        succeed(&attempts, "ada", home, NOW_MS);
    }
    for stranger in [101, 102] {
        assert_eq!(fail(&attempts, "ada", stranger, NOW_MS), Ok(()));
    }
    let more: Vec<_> = (1..=8).filter(|home| fail(&attempts, "ada", *home, NOW_MS).is_ok()).collect();
    assert_eq!(more.len(), RESERVED_PER_USERNAME as usize, "{more:?}");
    assert_eq!(fail(&attempts, "ada", 1, NOW_MS), Err("sign-ins-per-username"), "one for each");
    assert_eq!(fail(&attempts, "ada", 103, NOW_MS), Err("sign-ins-per-username"));
    assert_eq!(fail(&attempts, "ada", 8, NOW_MS + 12_000), Ok(()), "one comes back in 12 s");
}

#[test]
fn strangers_who_never_cease_do_not_lock_a_user_out_at_home() {
    let attempts = attempts();
    succeed(&attempts, "ada", 7, NOW_MS);
    for round in 0..1_000 {
        let now_ms = NOW_MS + round * 100;
        for stranger in [101, 102, 103] {
            let _refused = fail(&attempts, "ada", stranger, now_ms);
        }
    }
    for _ in 0..3 {
        succeed(&attempts, "ada", 7, NOW_MS + 100_000);
    }
}

#[test]
fn a_success_leaves_all_attempts_at_the_name() {
    let attempts = attempts();
    for _ in 0..4 {
        succeed(&attempts, "ada", 1, NOW_MS);
    }
    for address in [2, 3] {
        assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()));
    }
}

#[test]
fn attempts_under_way_count_before_they_have_failed() {
    let attempts = attempts();
    let begin = || sign_in(&attempts, "ada", v4(1), NOW_MS);
    let _under_way = [begin().unwrap(), begin().unwrap()];
    assert!(begin().is_err());
}

#[test]
fn a_known_network_has_a_lane_of_its_own() {
    let attempts = attempts();
    let lane = |typed| sign_in(&attempts, typed, v4(1), NOW_MS).unwrap().hashing_caller().lane;
    assert_eq!(lane("ada"), Lane::SignIn);
    succeed(&attempts, "ada", 1, NOW_MS);
    assert_eq!(lane("ada"), Lane::Known);
    assert_eq!(lane("grace"), Lane::SignIn, "at the name, not at any");
    let sign_up = attempts.begin(AttemptKind::SignUp, public("alan"), v4(1), NOW_MS);
    assert_eq!(sign_up.unwrap().hashing_caller().lane, Lane::SignUp);
}

#[test]
fn a_refusal_says_when_the_same_attempt_may_be_made() {
    let attempts = attempts();
    let sign_up = |now_ms| attempts.begin(AttemptKind::SignUp, None, v4(1), now_ms).map(drop);
    for _ in 0..3 {
        sign_up(NOW_MS).unwrap();
    }
    let refused = sign_up(NOW_MS).unwrap_err();
    assert_eq!((refused.limit, refused.max), ("sign-ups-per-address", 3));
    assert_eq!(refused.retry_after, Duration::from_secs(20));
    assert!(sign_up(NOW_MS + 19_999).is_err());
    assert!(sign_up(NOW_MS + 20_000).is_ok());
}

#[test]
fn without_limits_everybody_may_try_for_ever() {
    let limits = AttemptLimits {
        sign_ins_per_address: 0,
        sign_ins_per_username: 0,
        sign_ups_per_address: 0,
        sign_ups_per_username: 0,
        taken_names_per_address: 0,
    };
    let attempts = Attempts::new(limits);
    for _ in 0..1_000 {
        assert_eq!(fail(&attempts, "ada", 1, NOW_MS), Ok(()));
    }
}

#[test]
fn sign_ups_at_a_taken_name_take_no_sign_in_away() {
    let attempts = attempts();
    let sign_up = |address| attempts.begin(AttemptKind::SignUp, public("ada"), v4(address), NOW_MS);
    for address in [1, 2] {
        sign_up(address).unwrap().end(AttemptOutcome::Failed, NOW_MS);
    }
    assert_eq!(sign_up(3).unwrap_err().limit, "sign-ups-per-username");
    for address in [1, 2] {
        assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()));
    }
}

#[test]
fn invalid_sign_ups_do_not_block_a_free_name() {
    let attempts = attempts();
    for address in 0..10 {
        let sign_up = attempts.begin(AttemptKind::SignUp, public("ada"), v4(address), NOW_MS);
        sign_up.unwrap().end(AttemptOutcome::NotJudged, NOW_MS);
    }
}

#[test]
fn a_network_finds_out_few_private_names() {
    let attempts = Attempts::new(AttemptLimits { taken_names_per_address: 2, ..AttemptLimits::default() });
    let sign_up = |key, address, now_ms| {
        let login = Some(LoginName { key, is_private: true });
        attempts.begin(AttemptKind::SignUp, login, v4(address), now_ms)
    };
    for key in ["a", "b"] {
        sign_up("free", 1, NOW_MS).unwrap().end(AttemptOutcome::Succeeded, NOW_MS);
        sign_up(key, 1, NOW_MS).unwrap().end(AttemptOutcome::Failed, NOW_MS);
    }
    let refused = sign_up("free", 1, NOW_MS + MINUTE_MS).unwrap_err();
    assert_eq!((refused.limit, refused.max), ("taken-names-per-address", 2));
    assert!(refused.to_string().contains("2 attempts an hour"), "{refused}");
    assert!(sign_up("c", 2, NOW_MS).is_ok(), "another network");
    assert!(sign_up("free", 1, NOW_MS + 30 * MINUTE_MS).is_ok(), "half an hour later");
    let public = attempts.begin(AttemptKind::SignUp, public("ada"), v4(1), NOW_MS + MINUTE_MS);
    assert!(public.is_ok(), "a name that is no secret");
}

#[test]
fn networks_are_recalled_once_a_minute() {
    let attempts = attempts();
    assert!(attempts.may_recall("ada", NOW_MS) && !attempts.may_recall("ada", NOW_MS + MINUTE_MS - 1));
    assert!(attempts.may_recall("grace", NOW_MS) && attempts.may_recall("ada", NOW_MS + 2 * MINUTE_MS));
    for stranger in [101, 102] {
        assert_eq!(fail(&attempts, "ada", stranger, NOW_MS), Ok(()));
    }
    let refused = sign_in(&attempts, "ada", v4(7), NOW_MS).unwrap_err();
    assert!(refused.is_about_name());
    attempts.recall("ada", [Prefix::V4(7)]);
    assert_eq!(fail(&attempts, "ada", 7, NOW_MS), Ok(()));
}
