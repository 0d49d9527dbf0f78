//! Data flow: which instance wrote what an instance reads.
//!
//! # Input
//! Accesses as relations from instances `S3[i, j]` to array elements `A[k]`; a schedule from instances to times, all of the same length.
//! Accesses of one instance are unordered: an instance does not see its own writes.
//! # Output
//! Dependences from source to sink instances, last writes only, and the reads left without a certain source.
//! # Method
//! isl's `union_access_info` and `union_flow`; Feautrier, "Dataflow analysis of array and scalar references", IJPP 1991.
//! # Complexity
//! Slow over hundreds of statements: a lexicographic maximum for each pair of a sink and its sources.

use crate::error::Result;
use crate::ffi;
use crate::union::UnionMap;

/// The result of [`dataflow`].
#[derive(Debug, Clone)]
pub struct Flow {
    /// Source instance to sink instance, where the source is certainly the last write.
    pub must: UnionMap,
    /// Source instance to sink instance, where the source may be the last write; includes `must`.
    pub may: UnionMap,
    /// The accesses of sinks that certainly read nothing that a source wrote.
    pub must_no_source: UnionMap,
    /// The accesses of sinks that may read nothing that a source certainly wrote; includes `must_no_source`.
    pub may_no_source: UnionMap,
    /// As `must`, with the element: `source -> [sink -> element]`.
    pub full_must: UnionMap,
    /// As `may`, with the element: `source -> [sink -> element]`.
    pub full_may: UnionMap,
}

/// The data flow from sources to sinks under a schedule.
///
/// # Errors
/// Accesses by instances without a time are dropped by isl, not refused. The operation limit.
pub fn dataflow(
    sinks: &UnionMap,
    must_sources: &UnionMap,
    may_sources: &UnionMap,
    schedule: &UnionMap,
) -> Result<Flow> {
    let context = sinks.context();
    let mut info = ffi::union_access_info_from_sink(context, &sinks.handle)?;
    info = ffi::union_access_info_set_must_source(context, &info, &must_sources.handle)?;
    info = ffi::union_access_info_set_may_source(context, &info, &may_sources.handle)?;
    info = ffi::union_access_info_set_schedule_map(context, &info, &schedule.handle)?;
    let flow = ffi::union_access_info_compute_flow(context, &info)?;
    Ok(Flow {
        must: ffi::union_flow_get_must_dependence(context, &flow)?.into(),
        may: ffi::union_flow_get_may_dependence(context, &flow)?.into(),
        must_no_source: ffi::union_flow_get_must_no_source(context, &flow)?.into(),
        may_no_source: ffi::union_flow_get_may_no_source(context, &flow)?.into(),
        full_must: ffi::union_flow_get_full_must_dependence(context, &flow)?.into(),
        full_may: ffi::union_flow_get_full_may_dependence(context, &flow)?.into(),
    })
}
