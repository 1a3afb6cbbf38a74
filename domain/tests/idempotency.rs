//! Which requests are the same one.

use rookery_domain::{
    ErrorCode, Principal, PrincipalKind,
    id::AgentId,
    idempotency::{FirstResponse, IdempotentRequest, StoredResponse},
};

#[test]
fn a_scope_is_who_and_what_and_no_two_of_them_run_together() {
    let (ada, bob) = (AgentId::new().uuid(), AgentId::new().uuid());
    let agent = |id| Principal::new(PrincipalKind::Agent, id);
    let scope = |who, what: &[&str]| IdempotentRequest::new(who, what, [0; 32]).scope;
    let first = scope(agent(ada), &["POST /v1/keys", "key"]);
    assert_eq!(first, IdempotentRequest::new(agent(ada), &["POST /v1/keys", "key"], [1; 32]).scope);
    for other in [
        scope(agent(bob), &["POST /v1/keys", "key"]),
        scope(Principal::new(PrincipalKind::Human, ada), &["POST /v1/keys", "key"]),
        scope(agent(ada), &["POST /v1/key", "skey"]),
        scope(agent(ada), &["POST /v1/keys", "", "key"]),
        scope(agent(ada), &["POST /v1/keyskey"]),
    ] {
        assert_ne!(other, first);
    }
}

#[test]
fn an_answer_is_given_again_for_the_same_body_only() {
    let answer = StoredResponse { status: 201, location: None, body: "{}".to_owned() };
    let first = FirstResponse { body_hash: [1; 32], response: answer.clone() };
    let again =
        |body_hash| first.clone().replay_for(&IdempotentRequest { scope: [0; 32], body_hash });
    assert_eq!(again([1; 32]).unwrap(), answer);
    assert_eq!(again([2; 32]).unwrap_err().code, ErrorCode::Conflict);
}

#[test]
fn a_scope_is_the_same_in_the_next_release() {
    // Answers of the day before an upgrade are found by it: this value may never change.
    let agent = Principal::new(PrincipalKind::Agent, uuid::Uuid::from_u128(1));
    let IdempotentRequest { scope, .. } =
        IdempotentRequest::new(agent, &["POST /v1/keys", "key"], [0; 32]);
    let digits: String = scope.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, "134531780427262ee2bce2cb8ccc5d6a395b65c36e0a5d364b4f167741e2a2e0");
}
