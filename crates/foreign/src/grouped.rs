//! Groups jobs that ran together.

/// Groups items with the first item that they are like, in the order of these first items.
pub fn grouped<T>(
    items: impl IntoIterator<Item = T>,
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| alike(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}
