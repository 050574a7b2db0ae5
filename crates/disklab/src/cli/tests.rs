use super::*;

#[test]
fn the_path_of_verbs_names_a_document() {
    let path = |words: &[&str]| {
        let words = std::iter::once("disklab").chain(words.iter().copied());
        verb(&command().try_get_matches_from(words).expect("a command line"))
    };
    assert_eq!(path(&["kernel", "list", "--json"]), "kernel-list");
    assert_eq!(path(&["doctor"]), "doctor");
}

#[test]
fn mistakes_on_the_command_line_are_told_in_short() {
    let error = command().try_get_matches_from(["disklab", "repor"]).expect_err("no verb");
    let message = in_short(&error);
    assert!(message.starts_with("unrecognized subcommand 'repor'"), "{message}");
    assert!(message.contains("'report'") && !message.contains("Usage"), "{message}");
}
