//! Enums of words that people write, and suggestions for mistyped words.

use std::collections::BTreeMap;

/// Declares an enum whose variants are written as words: `as_str`, `Display` and `ALL`.
///
/// With `: "noun"` after the enum's name the words are parsed too, by `FromStr` and serde (which
/// the calling crate must depend on). The error names the nearest word, or all of them.
///
/// ```
/// disklab_units::words! {
///     /// Sides of a coin.
///     pub enum Side: "side" { Head = "head", Tail = "tail" }
/// }
///
/// assert_eq!(Side::Tail.to_string(), "tail");
/// assert_eq!("head".parse(), Ok(Side::Head));
/// assert_eq!("hed".parse::<Side>().unwrap_err(), "unknown side `hed`; did you mean `head`?");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        #[allow(dead_code)]
        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word of a variant.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident: $noun:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $crate::words! {
            $(#[$meta])*
            #[derive(serde::Serialize, serde::Deserialize)]
            $vis enum $name {
                $($(#[$variant_meta])* #[serde(rename = $word)] $variant = $word),+
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|choice| choice.as_str() == text);
                let words = Self::ALL.iter().map(|choice| choice.as_str());
                found.copied().ok_or_else(|| $crate::words::unknown($noun, text, words))
            }
        }
    };
}

/// Returns the name among `known` that was probably meant, if one is near enough.
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

/// Number of names that a message lists.
const LISTED: usize = 40;

/// Returns a message such as "unknown device `nas4tb`; did you mean `nas-4tb`?". If no name is
/// near, it lists the names, or the first 40 of a longer list.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("no {what} is defined"),
        None if known.len() > LISTED => {
            let others = known.len() - LISTED;
            format!("known: {}, and {others} more", known[..LISTED].join(", "))
        }
        None => format!("known: {}", known.join(", ")),
    };
    format!("unknown {what} `{}`; {hint}", name.escape_debug())
}

/// Returns the thing of the lab with a name, or the message that the lab has none of this name.
pub fn lookup<'a, T>(
    what: &str,
    things: &'a BTreeMap<String, T>,
    name: &str,
) -> Result<&'a T, String> {
    things.get(name).ok_or_else(|| {
        if things.is_empty() {
            format!("unknown {what} `{}`: the lab has no {what}", name.escape_debug())
        } else {
            unknown(what, name, things.keys().map(String::as_str))
        }
    })
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
            "unknown axis `disk`; known: array, policy"
        );
        assert_eq!(unknown("device", "x", []), "unknown device `x`; no device is defined");
        let none = BTreeMap::<String, u8>::new();
        let message = lookup("device", &none, "x").expect_err("no device");
        assert_eq!(message, "unknown device `x`: the lab has no device");
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..43).map(|number| format!("name-{number:02}")).collect();
        let message = unknown("name", "x", names.iter().map(String::as_str));
        assert!(message.starts_with("unknown name `x`; known: name-00, name-01, "), "{message}");
        assert!(message.ends_with(", name-39, and 3 more"), "{message}");
    }
}
