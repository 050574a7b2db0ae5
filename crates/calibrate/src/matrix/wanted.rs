//! A load of a matrix that a device is fitted to.

use disklab_foreign::matrix::MatrixPoint;

use super::run::MatrixLoad;
use super::score::LoadNumbers;

/// A load to be met, and what was measured of it: the median, where it was measured several times.
#[derive(Debug, Clone)]
pub(super) struct WantedLoad {
    pub rw: String,
    pub outstanding: u32,
    pub load: MatrixLoad,
    pub measured: LoadNumbers,
    pub points: Vec<MatrixPoint>,
}
