//! Proof of work: solved by whoever works, refused in every other case.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rand::{SeedableRng, rngs::StdRng};
use rookery_domain::{
    ErrorCode, Result, Timestamp,
    challenge::{self, Challenge, ChallengeAnswer, Solved},
    id::AppId,
    sealed::ServerKey,
};
use serde_json::{Value, json};
use uuid::Uuid;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn app() -> AppId {
    AppId::from_uuid(Uuid::from_u128(1))
}

fn key() -> ServerKey {
    ServerKey::new(&[3; 32])
}

fn task() -> Challenge {
    Challenge::new(&key(), app(), "entries", NOW, 50, &mut StdRng::seed_from_u64(1))
}

fn verify(answer: &str) -> Result<Solved> {
    challenge::verify(&key(), app(), "entries", NOW, Some(&ChallengeAnswer::Work(answer.into())))
}

fn edited(edit: impl FnOnce(&mut Value)) -> String {
    let answer = STANDARD.decode(task().solve().expect("solved")).expect("base64");
    let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
    edit(&mut answer);
    STANDARD.encode(answer.to_string())
}

#[test]
fn a_solved_task_is_accepted_and_names_itself() {
    let answer = task().solve().expect("solved");
    let solved = verify(&answer).expect("accepted");
    assert_eq!(solved.expires_at, NOW.plus_seconds(challenge::LIFETIME_S));
    assert_eq!(verify(answer.trim_end_matches('=')).expect("without padding").id, solved.id);
    // A member that a client adds changes neither the verdict nor the name.
    assert_eq!(verify(&edited(|a| a["took"] = json!(12))).expect("accepted").id, solved.id);
    let other = Challenge::new(&key(), app(), "entries", NOW, 50, &mut StdRng::seed_from_u64(2));
    assert_ne!(verify(&other.solve().expect("solved")).expect("accepted").id, solved.id);
}

#[test]
fn the_task_has_the_shape_of_the_protocol() {
    let task = serde_json::to_value(task()).expect("writes");
    let members: Vec<&String> = task.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["algorithm", "challenge", "maxnumber", "salt", "signature"]);
    assert_eq!((&task["algorithm"], &task["maxnumber"]), (&json!("SHA-256"), &json!(50)));
    assert!(task["salt"].as_str().expect("text").ends_with('&'));
}

#[test]
fn a_write_without_an_answer_is_told_to_bring_one() {
    let error = challenge::verify(&key(), app(), "entries", NOW, None).expect_err("none");
    assert_eq!(error.code, ErrorCode::ChallengeRequired);
}

#[test]
fn every_other_answer_is_refused() {
    let answer = task().solve().expect("solved");
    let number = |a: &mut Value| a["number"] = json!(a["number"].as_u64().expect("number") + 1);
    for (answer, words) in [
        (String::new(), "malformed"),
        ("%%%".to_owned(), "malformed"),
        (STANDARD.encode("{}"), "malformed"),
        ("A".repeat(5_000), "malformed"),
        (edited(|a| a["algorithm"] = json!("SHA-1")), "another algorithm"),
        (edited(number), "does not solve"),
        (edited(|a| a["challenge"] = json!("0".repeat(64))), "not issued here"),
        (edited(|a| a["signature"] = json!("0".repeat(64))), "not issued here"),
        (edited(|a| a["signature"] = json!("zz")), "malformed"),
    ] {
        let error = verify(&answer).expect_err(&answer);
        assert_eq!(error.code, ErrorCode::ChallengeVerificationFailed);
        assert!(error.message.contains(words), "{answer}: {}", error.message);
    }
    for (key, app, collection, now, words) in [
        (key(), AppId::from_uuid(Uuid::from_u128(2)), "entries", NOW, "another app"),
        (key(), app(), "others", NOW, "another app"),
        (key(), app(), "entries", NOW.plus_seconds(challenge::LIFETIME_S), "expired"),
        (ServerKey::new(&[4; 32]), app(), "entries", NOW, "not issued here"),
    ] {
        let error = challenge::verify(
            &key,
            app,
            collection,
            now,
            Some(&ChallengeAnswer::Work(answer.as_str().into())),
        )
        .expect_err(words);
        assert_eq!(error.code, ErrorCode::ChallengeVerificationFailed);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn digits_cannot_move_between_salt_and_number() {
    let spliced = edited(|a| {
        let salt = a["salt"].as_str().expect("text").to_owned();
        let number = a["number"].to_string();
        let (head, tail) = number.split_at(1);
        a["salt"] = json!(format!("{salt}{head}"));
        a["number"] = tail.parse::<u64>().map_or(json!(0), |n| json!(n));
    });
    // Either it no longer solves, or the digits stand behind the last `&`, where nothing reads.
    if let Ok(solved) = verify(&spliced) {
        assert_eq!(solved.expires_at, NOW.plus_seconds(challenge::LIFETIME_S));
    }
}

#[test]
fn a_providers_word_is_taken_and_names_its_token() {
    let judge = |evidence| challenge::verify(&key(), app(), "entries", NOW, Some(&evidence));
    let solved = judge(ChallengeAnswer::vouched("a", NOW)).expect("good");
    assert_eq!(solved.expires_at, NOW.plus_seconds(challenge::LIFETIME_S));
    assert_eq!(judge(ChallengeAnswer::vouched("a", NOW)).expect("good").id, solved.id);
    assert_ne!(judge(ChallengeAnswer::vouched("b", NOW)).expect("good").id, solved.id);
    let error = judge(ChallengeAnswer::Refused("was used before")).expect_err("bad");
    assert_eq!(error.code, ErrorCode::ChallengeVerificationFailed);
    assert!(error.message.ends_with("was used before"), "{}", error.message);
}
