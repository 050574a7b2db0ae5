//! docs/FORMAT.md has every kind of action, and every field of each.

use disklab_protocol::action::Action;
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../docs/FORMAT.md");

/// The names in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The names that serde would have taken instead of one that nothing has.
fn known(action: Value) -> Vec<String> {
    let error = serde_json::from_value::<Action>(action).expect_err("an unknown name").to_string();
    quoted(&error).into_iter().filter(|name| *name != "nothing").map(str::to_owned).collect()
}

/// The cells of the row of FORMAT's table of actions that begins with this kind.
fn row(kind: &str) -> Option<Vec<&'static str>> {
    let (_, plan) = DOCUMENT.split_once("### `plan.json`").expect("its heading");
    let mut rows = plan.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.find(|cells| cells.get(1).is_some_and(|first| quoted(first).contains(&kind)))
}

#[test]
fn every_action_is_in_format() {
    let kinds = known(json!({ "nothing": {} }));
    assert!(kinds.len() > 20, "{kinds:?}");
    for kind in kinds {
        let cells = row(&kind).unwrap_or_else(|| panic!("docs/FORMAT.md lacks the action {kind}"));
        for field in known(json!({ kind.as_str(): { "nothing": 0 } })) {
            let is_there =
                cells[2].split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            assert!(
                is_there.into_iter().any(|word| word == field),
                "docs/FORMAT.md lacks {field} of the action {kind}"
            );
        }
    }
}
