//! Places for what is under way, used again.

/// Values with a number each, which are used again when [`Slots::free`] has them.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    pub all: Vec<T>,
    pub free: Vec<usize>,
}

impl<T> Slots<T> {
    pub const fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    pub fn put(&mut self, value: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.all[place] = value;
            return place;
        }
        self.all.push(value);
        self.all.len() - 1
    }
}
