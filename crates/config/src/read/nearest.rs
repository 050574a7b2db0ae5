use std::collections::BTreeMap;

/// The name among `known` that was probably meant, if one is near enough to be worth saying.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate)
        })
        .filter(|&(edits, candidate)| edits <= 1 + candidate.chars().count() / 4)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// "there is no device `nas4tb`; did you mean `nas-4tb`?", or, where nothing is near, what there
/// is.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none at all".to_owned(),
        None => format!("known: {}", known.join(", ")),
    };
    format!("there is no {what} `{}`; {hint}", name.escape_debug())
}

/// The thing of a name, or the message that there is none.
pub fn lookup<'a, T>(
    what: &str,
    things: &'a BTreeMap<String, T>,
    name: &str,
) -> Result<&'a T, String> {
    things.get(name).ok_or_else(|| unknown(what, name, things.keys().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        let known = ["rpm", "seek_average", "nas-4tb", "hdd"];
        assert_eq!(nearest("rmp", known), Some("rpm"));
        assert_eq!(nearest("seek-average", known), Some("seek_average"));
        assert_eq!(nearest("seek_avrage", known), Some("seek_average"));
        assert_eq!(nearest("NAS4TB", known), Some("nas-4tb"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn strangers_get_the_list() {
        assert_eq!(
            unknown("axis", "disk", ["array", "policy"]),
            "there is no axis `disk`; known: array, policy"
        );
        assert_eq!(unknown("device", "x", []), "there is no device `x`; there is none at all");
    }
}
