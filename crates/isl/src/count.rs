//! Exact numbers of points.

use num_bigint::BigUint;

use crate::convert::integer;
use crate::error::{Error, Result};
use crate::ffi;
use crate::set::Set;

impl Set {
    /// The number of points of a bounded set without parameters.
    ///
    /// # Errors
    /// [`Error::Unbounded`], [`Error::Parametric`].
    pub fn count(&self) -> Result<BigUint> {
        self.refuse_params()?;
        if !self.is_bounded()? {
            return Err(Error::Unbounded);
        }
        let count = ffi::set_count_val(self.context(), &self.handle)?;
        integer(&count)?.and_then(|n| n.to_biguint()).ok_or(Error::Unbounded)
    }
}
