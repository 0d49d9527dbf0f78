//! Single points: fixing, membership, sampling, enumeration.

use crate::convert::{int, integer, integer64, uint, value};
use crate::error::{Error, Result};
use crate::ffi;
use crate::foreach;
use crate::handle::Handle;
use crate::set::{Dim, Set};

impl Set {
    pub(crate) fn extreme(&self, value: &Handle<ffi::isl_val>) -> Result<Option<i64>> {
        match integer(value)? {
            Some(_) => integer64(value).map(Some),
            None => Ok(None),
        }
    }

    /// The points at which a parameter or set dimension has a value; the dimension stays.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn fix(&self, name: &str, number: i64) -> Result<Set> {
        let (kind, at) = self.locate(name)?;
        let number = value(self.context(), number)?;
        ffi::set_fix_val(self.context(), &self.handle, kind.raw(), uint(at)?, &number).map(Set::from)
    }

    /// Replaces parameters by values: they are fixed and leave the space. Names that are no parameters are passed over.
    ///
    /// # Errors
    /// The operation limit.
    pub fn fix_params(&self, values: &[(&str, i64)]) -> Result<Set> {
        let mut set = self.clone();
        for (name, number) in values {
            let at = match set.find_dim(Dim::Param, name) {
                Ok(at) => uint(at)?,
                Err(Error::UnknownDim(_)) => continue,
                Err(other) => return Err(other),
            };
            let context = self.context();
            let fixed = ffi::set_fix_val(context, &set.handle, Dim::Param.raw(), at, &value(context, *number)?)?;
            set = ffi::set_project_out(context, &fixed, Dim::Param.raw(), at, 1)?.into();
        }
        Ok(set)
    }

    /// Whether the point with these values is in the set. Names without a value are existentially quantified.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn contains(&self, point: &[(&str, i64)]) -> Result<bool> {
        let mut set = self.clone();
        for (name, number) in point {
            set = set.fix(name, *number)?;
        }
        Ok(!set.is_empty()?)
    }

    /// Some point of the set: the values of its parameters, then of its dimensions; `None` if the set is empty.
    ///
    /// # Errors
    /// A coordinate that exceeds 64 bits; the operation limit.
    pub fn sample(&self) -> Result<Option<Vec<i64>>> {
        let context = self.context();
        let point = ffi::set_sample_point(context, &self.handle)?;
        if ffi::point_is_void(context, &point)? {
            return Ok(None);
        }
        let mut coordinates = Vec::new();
        for kind in [Dim::Param, Dim::Set] {
            for at in 0..self.n(kind)? {
                coordinates.push(integer64(&ffi::point_get_coordinate_val(context, &point, kind.raw(), int(at)?)?)?);
            }
        }
        Ok(Some(coordinates))
    }

    /// The lexicographically least point of a set without parameters; `None` if the set is empty.
    ///
    /// # Errors
    /// [`Error::Unbounded`]; a coordinate that exceeds 64 bits.
    pub fn lexmin_point(&self) -> Result<Option<Vec<i64>>> {
        self.sorted_point(&self.lexmin()?)
    }

    /// The lexicographically greatest point of a set without parameters; `None` if the set is empty.
    ///
    /// # Errors
    /// [`Error::Unbounded`]; a coordinate that exceeds 64 bits.
    pub fn lexmax_point(&self) -> Result<Option<Vec<i64>>> {
        self.sorted_point(&self.lexmax()?)
    }

    fn sorted_point(&self, extreme: &Set) -> Result<Option<Vec<i64>>> {
        self.refuse_params()?;
        extreme.sample()
    }

    /// An error if the set depends on a parameter.
    pub(crate) fn refuse_params(&self) -> Result<()> {
        for (at, name) in self.param_names()?.into_iter().enumerate() {
            if ffi::set_involves_dims(self.context(), &self.handle, Dim::Param.raw(), uint(at)?, 1)? {
                return Err(Error::Parametric(name));
            }
        }
        Ok(())
    }

    /// All points of a bounded set without parameters, in lexicographic order, if there are at most `limit`.
    ///
    /// # Errors
    /// [`Error::Unbounded`], [`Error::Parametric`]; [`Error::LimitExceeded`] if there are more points; a coordinate beyond 64 bits.
    pub fn points(&self, limit: usize) -> Result<Vec<Vec<i64>>> {
        self.refuse_params()?;
        if !self.is_bounded()? {
            return Err(Error::Unbounded);
        }
        let context = self.context();
        let set = if self.is_params()? { self.params_to_dims(&[])? } else { self.clone() };
        let n = set.n_dim()?;
        let mut points = foreach::points(&set.handle, limit)?
            .iter()
            .map(|point| {
                (0..n)
                    .map(|at| integer64(&ffi::point_get_coordinate_val(context, point, Dim::Set.raw(), int(at)?)?))
                    .collect()
            })
            .collect::<Result<Vec<Vec<i64>>>>()?;
        points.sort_unstable();
        Ok(points)
    }
}
