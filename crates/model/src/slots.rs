//! Numbered places for requests in flight.

/// Values with one number each. The numbers in [`Slots::free`] are reused.
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
