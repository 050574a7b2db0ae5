//! The quantities of disklab, and their notation.
//!
//! | type        | counts                    | written                       | printed      |
//! |-------------|---------------------------|-------------------------------|--------------|
//! | [`Nanos`]   | nanoseconds               | `20s` `8.33 ms` `50us` `2min` | `8.33 ms`    |
//! | [`Bytes`]   | bytes                     | `4k` `50 GiB` `4 TB` `4096`   | `50 GiB`     |
//! | [`Sectors`] | 512-byte sectors          | `2048` `2048 sectors`         | `2048 sectors` |
//! | [`Rate`]    | bytes per second          | `210 MB/s` `190MiB/s`         | `200 MiB/s`  |
//! | [`Seed`]    | nothing: a random stream  | `7`                           | `7`          |
//!
//! Parsing is exact (integers, no floats): `8.33 ms` is 8 330 000 ns. Printing keeps three
//! significant digits, and every whole digit of larger values. So reading a printed value back
//! gives the same within half of the last printed digit. In JSON all five are plain integers.
//!
//! [`average`] has the median and the mean of samples. [`prose`] has numbers without a unit, lists
//! and lines as people read them. [`words!`] declares enums of words, and [`mod@words`] finds the
//! word that a mistyped one was meant to be.

pub mod average;
mod bytes;
mod nanos;
pub mod prose;
mod quantity;
mod random;
mod rate;
mod seed;
pub mod words;

pub use bytes::{Bytes, Sectors};
pub use nanos::Nanos;
pub use quantity::ParseError;
pub use random::Random;
pub use rate::Rate;
pub use seed::Seed;
