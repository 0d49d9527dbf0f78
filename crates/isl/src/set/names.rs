//! Dimensions by name: looking up, renaming, projecting, moving, and joining sets of different spaces.

use crate::convert::{PARAM, SET, int, uint};
use crate::error::{Error, Result};
use crate::ffi;
use crate::set::space::distinct;
use crate::set::{Dim, Set};
use crate::text;

impl Set {
    /// The number of dimensions of a kind.
    ///
    /// # Errors
    /// None on a well-formed set.
    pub fn n(&self, kind: Dim) -> Result<usize> {
        if self.is_params()? && kind != Dim::Param {
            return Ok(0);
        }
        ffi::set_dim(self.context(), &self.handle, kind.raw())
    }

    /// The number of set dimensions.
    ///
    /// # Errors
    /// None on a well-formed set.
    pub fn n_dim(&self) -> Result<usize> {
        self.n(Dim::Set)
    }

    /// The names of the set dimensions in order.
    ///
    /// # Errors
    /// [`Error::UnnamedDim`] if one has none.
    pub fn dim_names(&self) -> Result<Vec<String>> {
        self.names(Dim::Set)
    }

    /// The names of the parameters in order.
    ///
    /// # Errors
    /// None on a well-formed set: parameters have names.
    pub fn param_names(&self) -> Result<Vec<String>> {
        self.names(Dim::Param)
    }

    fn names(&self, kind: Dim) -> Result<Vec<String>> {
        (0..self.n(kind)?)
            .map(|at| {
                ffi::set_get_dim_name(self.context(), &self.handle, kind.raw(), uint(at)?)?.ok_or(Error::UnnamedDim(at))
            })
            .collect()
    }

    /// The position of a dimension by name.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn find_dim(&self, kind: Dim, name: &str) -> Result<usize> {
        let unknown = || Error::UnknownDim(name.to_string());
        if self.n(kind)? == 0 {
            return Err(unknown());
        }
        let c_name = text::name(name)?;
        ffi::set_find_dim_by_name(self.context(), &self.handle, kind.raw(), &c_name)?.ok_or_else(unknown)
    }

    /// Gives a dimension a name, by position.
    ///
    /// # Errors
    /// A position out of range, or a name that is no identifier or is in use.
    pub fn set_dim_name(&self, kind: Dim, at: usize, name: &str) -> Result<Set> {
        for other in [Dim::Param, Dim::Set] {
            for pos in 0..self.n(other)? {
                let taken = ffi::set_get_dim_name(self.context(), &self.handle, other.raw(), uint(pos)?)?;
                if taken.as_deref() == Some(name) && (other.raw(), pos) != (kind.raw(), at) {
                    return Err(Error::DuplicateDim(name.to_string()));
                }
            }
        }
        let name = text::name(name)?;
        ffi::set_set_dim_name(self.context(), &self.handle, kind.raw(), uint(at)?, &name).map(Set::from)
    }

    /// Gives the set dimensions these names in order.
    ///
    /// # Errors
    /// Not as many names as dimensions; names that are no identifiers or not distinct.
    pub fn with_dim_names(&self, names: &[&str]) -> Result<Set> {
        if names.len() != self.n_dim()? {
            return Err(Error::Isl(format!("{} names for {} dimensions", names.len(), self.n_dim()?)));
        }
        let params = self.param_names()?;
        distinct(names.iter().copied().chain(params.iter().map(String::as_str)))?;
        let mut set = self.handle.clone();
        for (at, name) in names.iter().enumerate() {
            set = ffi::set_set_dim_name(self.context(), &set, SET, uint(at)?, &text::name(name)?)?;
        }
        Ok(set.into())
    }

    /// Renames a parameter or set dimension.
    ///
    /// # Errors
    /// [`Error::UnknownDim`]; a new name that is no identifier or is in use.
    pub fn rename_dim(&self, from: &str, to: &str) -> Result<Set> {
        let (kind, at) = self.locate(from)?;
        self.set_dim_name(kind, at, to)
    }

    /// Where a name stands: among the set dimensions or the parameters.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn locate(&self, name: &str) -> Result<(Dim, usize)> {
        match self.find_dim(Dim::Set, name) {
            Err(Error::UnknownDim(_)) => Ok((Dim::Param, self.find_dim(Dim::Param, name)?)),
            found => Ok((Dim::Set, found?)),
        }
    }

    /// The name of the tuple, `S` in `{ S[i] }`.
    ///
    /// # Errors
    /// None on a well-formed set.
    pub fn tuple_name(&self) -> Result<Option<String>> {
        if self.is_params()? {
            return Ok(None);
        }
        ffi::set_get_tuple_name(self.context(), &self.handle)
    }

    /// Names the tuple; `None` takes the name away.
    ///
    /// # Errors
    /// A name that is no identifier.
    pub fn set_tuple_name(&self, name: Option<&str>) -> Result<Set> {
        match name {
            Some(name) => {
                ffi::set_set_tuple_name(self.context(), &self.handle, &text::tuple_name(name)?).map(Set::from)
            }
            None => ffi::set_reset_tuple_id(self.context(), &self.handle).map(Set::from),
        }
    }

    /// Takes set dimensions away by projection: existentially quantifies them.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn project_out(&self, names: &[&str]) -> Result<Set> {
        let mut set = self.clone();
        for name in names {
            let (kind, at) = set.locate(name)?;
            set = ffi::set_project_out(self.context(), &set.handle, kind.raw(), uint(at)?, 1)?.into();
        }
        Ok(set)
    }

    /// Projects on these set dimensions, in this order; parameters stay. The tuple loses its name.
    ///
    /// # Errors
    /// [`Error::UnknownDim`], [`Error::DuplicateDim`].
    pub fn project_onto(&self, names: &[&str]) -> Result<Set> {
        distinct(names.iter().copied())?;
        for name in names {
            self.find_dim(Dim::Set, name)?;
        }
        let dims = self.dim_names()?;
        let others: Vec<&str> = dims.iter().map(String::as_str).filter(|name| !names.contains(name)).collect();
        let projected = self.set_tuple_name(None)?.project_out(&others)?;
        if !projected.is_params()? && projected.dim_names()? == names {
            return Ok(projected);
        }
        projected.dims_to_params()?.params_to_dims(names)
    }

    /// The same set as a set of parameters: every set dimension becomes a parameter of its name.
    ///
    /// # Errors
    /// [`Error::DuplicateDim`] if a parameter has the name already.
    pub fn dims_to_params(&self) -> Result<Set> {
        if self.is_params()? {
            return Ok(self.clone());
        }
        let (params, dims) = (self.param_names()?, self.dim_names()?);
        distinct(params.iter().chain(&dims).map(String::as_str))?;
        let set = self.set_tuple_name(None)?;
        let moved =
            ffi::set_move_dims(self.context(), &set.handle, PARAM, uint(params.len())?, SET, 0, uint(dims.len())?)?;
        ffi::set_params(self.context(), &moved).map(Set::from)
    }

    /// The inverse of [`Set::dims_to_params`]: these parameters become set dimensions, after those that are there, in this order.
    /// Names that are no parameters become unconstrained dimensions.
    ///
    /// # Errors
    /// [`Error::DuplicateDim`] if a dimension has the name already.
    pub fn params_to_dims(&self, names: &[&str]) -> Result<Set> {
        let context = self.context();
        let mut set = match self.is_params()? {
            true => ffi::set_from_params(context, &self.handle)?.into(),
            false => self.clone(),
        };
        let dims = set.dim_names()?;
        distinct(dims.iter().map(String::as_str).chain(names.iter().copied()))?;
        for name in names {
            let end = uint(set.n_dim()?)?;
            set = match set.find_dim(Dim::Param, name) {
                Ok(at) => ffi::set_move_dims(context, &set.handle, SET, end, PARAM, uint(at)?, 1)?.into(),
                Err(Error::UnknownDim(_)) => {
                    let longer = ffi::set_insert_dims(context, &set.handle, SET, end, 1)?;
                    Set::from(longer).set_dim_name(Dim::Set, end as usize, name)?
                }
                Err(other) => return Err(other),
            };
        }
        Ok(set)
    }

    /// The natural join: the points, over all dimensions of all sets, whose projections lie in each set.
    ///
    /// Dimensions and parameters are identified by name, and what is a dimension of one set is a dimension of the result:
    /// `{ [i] : 0 <= i < 4 }` and `[i, n] -> { [j] : i <= j < n }` give `[n] -> { [i, j] : … }`. Dimensions come in order of first appearance.
    ///
    /// # Errors
    /// Different contexts, or a dimension without a name. No sets at all: [`Error::Isl`], for want of a context.
    pub fn combine(sets: &[Set]) -> Result<Set> {
        let mut dims: Vec<String> = Vec::new();
        let mut all: Option<Set> = None;
        for set in sets {
            for name in set.dim_names()? {
                if !dims.contains(&name) {
                    dims.push(name);
                }
            }
            let flat = set.dims_to_params()?;
            all = Some(match all {
                Some(all) => all.intersect(&flat)?,
                None => flat,
            });
        }
        let all = all.ok_or_else(|| Error::Isl("no sets to combine".to_string()))?;
        all.params_to_dims(&dims.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Inserts unconstrained set dimensions with these names at a position.
    ///
    /// # Errors
    /// A position out of range; a name that is no identifier or is in use.
    pub fn insert_dims(&self, at: usize, names: &[&str]) -> Result<Set> {
        let longer = ffi::set_insert_dims(self.context(), &self.handle, SET, uint(at)?, uint(names.len())?)?;
        let mut set = Set::from(longer);
        for (offset, name) in names.iter().enumerate() {
            set = set.set_dim_name(Dim::Set, at + offset, name)?;
        }
        Ok(set)
    }

    /// Adds parameters, unconstrained, unless they are there.
    ///
    /// # Errors
    /// A name that is no identifier or is a set dimension.
    pub fn with_params(&self, names: &[&str]) -> Result<Set> {
        let mut set = self.clone();
        for name in names {
            if set.find_dim(Dim::Set, name).is_ok() {
                return Err(Error::DuplicateDim((*name).to_string()));
            }
            if set.find_dim(Dim::Param, name).is_err() {
                let end = set.n(Dim::Param)?;
                let context = self.context();
                let mut space = ffi::space_params_alloc(context, context, 1)?;
                space = ffi::space_set_dim_name(context, &space, PARAM, 0, &text::name(name)?)?;
                set = ffi::set_align_params(context, &set.handle, &space)?.into();
                debug_assert_eq!(set.n(Dim::Param), Ok(end + 1));
            }
        }
        Ok(set)
    }

    /// Moves the `n` dimensions of one kind from a position to a position among those of the other kind.
    ///
    /// # Errors
    /// What isl refuses: equal kinds, positions out of range.
    pub fn move_dims(&self, to: Dim, to_at: usize, from: Dim, from_at: usize, n: usize) -> Result<Set> {
        let (to, from) = (to.raw(), from.raw());
        ffi::set_move_dims(self.context(), &self.handle, to, uint(to_at)?, from, uint(from_at)?, uint(n)?)
            .map(Set::from)
    }

    /// Forgets everything about these dimensions; unlike [`Set::project_out`] it keeps them in the space.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn eliminate(&self, names: &[&str]) -> Result<Set> {
        let mut set = self.clone();
        for name in names {
            let (kind, at) = set.locate(name)?;
            set = ffi::set_eliminate(self.context(), &set.handle, kind.raw(), uint(at)?, 1)?.into();
        }
        Ok(set)
    }

    /// Drops the constraints in which the dimension occurs.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn drop_constraints_involving(&self, name: &str) -> Result<Set> {
        let (kind, at) = self.locate(name)?;
        ffi::set_drop_constraints_involving_dims(self.context(), &self.handle, kind.raw(), uint(at)?, 1).map(Set::from)
    }

    /// Drops the constraints in which the dimension does not occur.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn drop_constraints_not_involving(&self, name: &str) -> Result<Set> {
        let (kind, at) = self.locate(name)?;
        ffi::set_drop_constraints_not_involving_dims(self.context(), &self.handle, kind.raw(), uint(at)?, 1)
            .map(Set::from)
    }

    /// Whether a constraint mentions the dimension.
    ///
    /// # Errors
    /// [`Error::UnknownDim`].
    pub fn involves(&self, name: &str) -> Result<bool> {
        let (kind, at) = self.locate(name)?;
        ffi::set_involves_dims(self.context(), &self.handle, kind.raw(), uint(at)?, 1)
    }

    /// The least value of a set dimension; `None` if there is none, or none that does not depend on parameters.
    ///
    /// # Errors
    /// [`Error::UnknownDim`]; a value that exceeds 64 bits.
    pub fn dim_min_val(&self, name: &str) -> Result<Option<i64>> {
        let at = int(self.find_dim(Dim::Set, name)?)?;
        self.extreme(&ffi::set_dim_min_val(self.context(), &self.handle, at)?)
    }

    /// The greatest value of a set dimension; `None` if there is none, or none that does not depend on parameters.
    ///
    /// # Errors
    /// [`Error::UnknownDim`]; a value that exceeds 64 bits.
    pub fn dim_max_val(&self, name: &str) -> Result<Option<i64>> {
        let at = int(self.find_dim(Dim::Set, name)?)?;
        self.extreme(&ffi::set_dim_max_val(self.context(), &self.handle, at)?)
    }
}
