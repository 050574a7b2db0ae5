//! A load of a matrix to which a device is fitted.

use disklab_foreign::matrix::MatrixPoint;

use super::run::MatrixLoad;
use super::score::LoadNumbers;

/// A load to be met and its measured numbers: the median, if it was measured several times.
#[derive(Debug, Clone)]
pub(super) struct WantedLoad {
    pub rw: String,
    pub outstanding: u32,
    pub load: MatrixLoad,
    pub measured: LoadNumbers,
    pub points: Vec<MatrixPoint>,
}
