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

#[test]
fn help_lists_every_verb_in_one_group_on_one_line() {
    let mut command = command();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().take_while(|line| *line != "Options:").collect();
    let grouped: usize = GROUPS.iter().map(|(_, count)| count).sum();
    assert_eq!(grouped, command.get_subcommands().filter(|verb| verb.get_name() != "help").count());
    for (heading, _) in GROUPS {
        assert!(lines.contains(&&*format!("{heading}:")), "{heading}: {help}");
    }
    for verb in command.get_subcommands() {
        let name = verb.get_name();
        let begin = format!("  {name:VERB$}");
        let of_verb: Vec<&&str> = lines.iter().filter(|line| line.starts_with(&begin)).collect();
        let [line] = of_verb[..] else { panic!("{name} is on {} lines: {help}", of_verb.len()) };
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}
