//! Permission lists: required, empty, row-scoped, custom roles.

use rookery_domain::access::Subject;
use serde_json::{Value, json};

use super::{admitted, assert_refused};

fn with(permissions: Value) -> Value {
    json!({"collections": {"a": {"permissions": permissions}}, "roles": {"judge": {}}})
}

fn base(member: &str, list: Value) -> Value {
    let mut permissions = json!({"read": [], "write": ["owner"], "delete": ["owner"]});
    permissions[member] = list;
    with(permissions)
}

#[test]
fn lists_that_break_a_rule_are_permission_role_invalid() {
    let refused = |manifest: Value, below: &str| {
        let pointer = format!("/collections/a/permissions{below}");
        assert_refused(&manifest, "permission_role_invalid", &pointer);
    };
    refused(json!({"collections": {"a": {}}}), "");
    refused(with(json!([])), "");
    refused(with(json!({"write": ["owner"], "delete": ["owner"]})), "/read");
    refused(with(json!({"read": [], "delete": ["owner"]})), "/write");
    refused(with(json!({"read": [], "write": ["owner"]})), "/delete");
    refused(base("write", json!([])), "/write");
    refused(base("delete", json!([])), "/delete");
    refused(base("read", json!("anyone")), "/read");
    refused(base("read", json!([1])), "/read/0");
    refused(base("read", json!(["anyone", "agent"])), "/read/1");
    refused(base("read", json!(["nobody"])), "/read/0");
    refused(base("read", json!(["Owner"])), "/read/0");
    refused(base("read", json!(["nobody:own"])), "/read/0");
    refused(base("read", json!(["member:own"])), "/read/0");
    refused(base("read", json!(["judge:all"])), "/read/0");
    refused(base("write", json!(["anyone"])), "/update");
    for row_scoped in ["creator", "editor", "author", "judge:own", "judge:creator"] {
        refused(base("write", json!(["owner", row_scoped])), "/write/1");
        refused(base("countRead", json!([row_scoped])), "/countRead/0");
        for list in ["read", "update", "delete"] {
            admitted(&base(list, json!([row_scoped])));
        }
    }
}

#[test]
fn update_may_be_declared_in_any_way_when_anyone_writes() {
    for update in [json!(["creator"]), json!(["owner"]), json!([]), json!(["anyone"])] {
        let mut manifest = base("update", update);
        manifest["collections"]["a"]["permissions"]["write"] = json!(["anyone"]);
        admitted(&manifest);
    }
}

#[test]
fn update_inherits_write_and_count_read_inherits_nothing() {
    let manifest = admitted(&base("write", json!(["member", "judge"])));
    let lists = &manifest.collections["a"].permissions;
    assert_eq!(lists.update, lists.write);
    assert_eq!(*lists.update, [Subject::Member, Subject::Role("judge".into())]);
    assert!(lists.count_read.is_empty() && lists.read.is_empty());
    let explicit = admitted(&base("update", json!([])));
    assert!(explicit.collections["a"].permissions.update.is_empty());
}

#[test]
fn repetitions_are_dropped_and_author_is_editor() {
    let list = json!(["anyone", "author", "anyone", "editor", "judge:own"]);
    let manifest = admitted(&base("read", list));
    let read = &manifest.collections["a"].permissions.read;
    assert_eq!(
        **read,
        [
            Subject::Anyone,
            Subject::Editor { legacy_author: true },
            Subject::RoleOwn("judge".into())
        ]
    );
}

#[test]
fn a_declared_role_named_editor_takes_the_word() {
    let mut manifest = base("write", json!(["editor"]));
    assert_refused(&manifest, "permission_role_invalid", "/collections/a/permissions/write/0");
    manifest["roles"] = json!({"editor": {}});
    let parsed = admitted(&manifest);
    assert_eq!(*parsed.collections["a"].permissions.write, [Subject::Role("editor".into())]);
}
