//! Patterns that parse paths: `{scheduler}/{workload}-{seed}.json`.

use std::collections::BTreeSet;

/// A pattern for a path. Each name in braces matches one or more characters except `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<PatternPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    Letters(String),
    Name(String),
}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (letters, from) = rest.split_at(open);
            let close = from.find('}').ok_or_else(|| {
                format!(
                    "`{from}`: the closing `}}` is \
                                                              missing"
                )
            })?;
            let name = &from[1..close];
            if name.is_empty()
                || !name.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter))
            {
                return Err(format!(
                    "`{{{name}}}`: a name consists of letters, digits, `_` and `-`"
                ));
            }
            if parts.iter().any(|part| *part == PatternPart::Name(name.to_owned())) {
                return Err(format!("`{{{name}}}` occurs twice"));
            }
            if letters.is_empty() && matches!(parts.last(), Some(PatternPart::Name(_))) {
                return Err(format!("`{{{name}}}`: put text between it and the name before it"));
            }
            if !letters.is_empty() {
                parts.push(PatternPart::Letters(letters.to_owned()));
            }
            parts.push(PatternPart::Name(name.to_owned()));
            rest = &from[close + 1..];
        }
        if parts.is_empty() {
            return Err("it contains no name in braces, such as {policy}".to_owned());
        }
        if !rest.is_empty() {
            parts.push(PatternPart::Letters(rest.to_owned()));
        }
        Ok(Self { parts })
    }
}

impl Pattern {
    /// Returns (name, value) in the order of the pattern, each value as short as possible, or
    /// `None` if the path does not match.
    pub fn read(&self, path: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        matched(&self.parts, path, &mut found, &mut BTreeSet::new()).then_some(found)
    }
}

/// Matches a path. `unlike` holds pairs of lengths, of the rest of the pattern and the rest of the
/// path, that do not match. So each pair is compared once, for any number of names before it.
fn matched(
    parts: &[PatternPart],
    path: &str,
    found: &mut Vec<(String, String)>,
    unlike: &mut BTreeSet<(usize, usize)>,
) -> bool {
    if unlike.contains(&(parts.len(), path.len())) {
        return false;
    }
    let is_like = matched_once(parts, path, found, unlike);
    if !is_like {
        unlike.insert((parts.len(), path.len()));
    }
    is_like
}

fn matched_once(
    parts: &[PatternPart],
    path: &str,
    found: &mut Vec<(String, String)>,
    unlike: &mut BTreeSet<(usize, usize)>,
) -> bool {
    match parts {
        [] => path.is_empty(),
        [PatternPart::Letters(letters), rest @ ..] => {
            let path = path.strip_prefix(letters.as_str());
            path.is_some_and(|path| matched(rest, path, found, unlike))
        }
        [PatternPart::Name(name), rest @ ..] => {
            // A name may end at each place where the next letters begin. The last name takes the
            // rest.
            let ends: Vec<usize> = match rest.first() {
                Some(PatternPart::Letters(letters)) => {
                    path.match_indices(letters.as_str()).map(|(at, _)| at).collect()
                }
                _ => vec![path.len()],
            };
            for end in ends {
                let value = &path[..end];
                if value.contains('/') {
                    return false;
                }
                if value.is_empty() {
                    continue;
                }
                found.push((name.clone(), value.to_owned()));
                if matched(rest, &path[end..], found, unlike) {
                    return true;
                }
                found.pop();
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, path: &str) -> Option<Vec<String>> {
        let found = pattern.parse::<Pattern>().expect("a pattern").read(path)?;
        Some(found.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn paths() {
        let some = |values: &[&str]| {
            Some(values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>())
        };
        let short = some(&["scheduler=bfq", "load=rand", "seed=4k-3"]);
        assert_eq!(
            read("{scheduler}/{load}-{seed}.json", "bfq/rand-4k-3.json"),
            short,
            "as short as can be"
        );
        assert_eq!(read("{a}_{b}", "x_y_z"), some(&["a=x", "b=y_z"]));
        assert_eq!(read("{a}_{b}.txt", "x_y_z.txt"), some(&["a=x", "b=y_z"]));
        assert_eq!(
            read("defrag_{d}_policy_{p}_fio", "defrag_on_policy_latency-rr_fio"),
            some(&["d=on", "p=latency-rr"])
        );
        assert_eq!(read("{a}/{b}", "x/y/z"), None, "no name goes over a folder");
        assert_eq!(read("{a}.json", ".json"), None, "something has to be there");
        assert_eq!(read("x-{a}", "y-1"), None);
    }

    /// Tests the memory of failed pairs. Without it, this takes about 10^16 comparisons, and the
    /// test hangs.
    #[test]
    fn many_names_in_a_long_path_come_to_an_end() {
        let path = "a_".repeat(2000);
        assert_eq!(read("{a}_{b}_{c}_{d}_{e}_{f}.json", &path), None);
    }

    #[test]
    fn what_is_no_pattern() {
        for bad in ["", "abc", "{", "{}", "{a", "{a}{b}", "{a}-{a}", "{a b}"] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }
}
