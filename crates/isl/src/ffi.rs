//! The functions of isl that this crate uses: one line each says what isl takes, keeps and gives.
//!
//! The `calls!` macro makes of each line the C declaration and a safe function of the same name without `isl_`. The safe function
//! checks that the arguments share a context, clears the context's error, calls, and lifts the result.
//! The C library is built and linked by `isl-rs`; its own Rust layer is not used, because it leaks printed text and cannot limit operations.
#![allow(unsafe_code, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

use isl_rs as _;

use crate::context::Context;
use crate::error::Result;
use crate::handle::{
    Argument, Bool, Ctx, Give, Keep, Move, Name, Object, Position, Return, Size, Str, Take, Text, same_context,
};

/// The C struct of a context.
#[repr(C)]
pub(crate) struct isl_ctx {
    _private: [u8; 0],
}

unsafe extern "C" {
    pub(crate) fn free(ptr: *mut c_void);
    pub(crate) fn isl_ctx_alloc() -> *mut isl_ctx;
    pub(crate) fn isl_ctx_free(ctx: *mut isl_ctx);
    pub(crate) fn isl_options_set_on_error(ctx: *mut isl_ctx, value: c_int) -> c_int;
    pub(crate) fn isl_ctx_set_max_operations(ctx: *mut isl_ctx, limit: c_ulong);
    pub(crate) fn isl_ctx_reset_operations(ctx: *mut isl_ctx);
    pub(crate) fn isl_ctx_reset_error(ctx: *mut isl_ctx);
    pub(crate) fn isl_ctx_last_error(ctx: *mut isl_ctx) -> c_int;
    pub(crate) fn isl_ctx_last_error_msg(ctx: *mut isl_ctx) -> *const c_char;
}

macro_rules! objects {
    ($($name:ident, $copy:ident, $free:ident;)*) => { $(
        /// The C struct of the same name.
        #[repr(C)]
        pub(crate) struct $name {
            _private: [u8; 0],
        }
        unsafe extern "C" {
            fn $copy(ptr: *mut $name) -> *mut $name;
            fn $free(ptr: *mut $name) -> *mut $name;
        }
        // SAFETY: the functions are isl's for this struct.
        unsafe impl Object for $name {
            unsafe fn copy(ptr: *mut $name) -> *mut $name {
                // SAFETY: by the contract of the trait.
                unsafe { $copy(ptr) }
            }
            unsafe fn free(ptr: *mut $name) {
                // SAFETY: by the contract of the trait.
                unsafe { $free(ptr) };
            }
        }
    )* };
}

objects! {
    isl_aff, isl_aff_copy, isl_aff_free;
    isl_aff_list, isl_aff_list_copy, isl_aff_list_free;
    isl_basic_set, isl_basic_set_copy, isl_basic_set_free;
    isl_basic_set_list, isl_basic_set_list_copy, isl_basic_set_list_free;
    isl_constraint, isl_constraint_copy, isl_constraint_free;
    isl_constraint_list, isl_constraint_list_copy, isl_constraint_list_free;
    isl_local_space, isl_local_space_copy, isl_local_space_free;
    isl_map, isl_map_copy, isl_map_free;
    isl_map_list, isl_map_list_copy, isl_map_list_free;
    isl_mat, isl_mat_copy, isl_mat_free;
    isl_multi_aff, isl_multi_aff_copy, isl_multi_aff_free;
    isl_point, isl_point_copy, isl_point_free;
    isl_pw_multi_aff, isl_pw_multi_aff_copy, isl_pw_multi_aff_free;
    isl_set, isl_set_copy, isl_set_free;
    isl_set_list, isl_set_list_copy, isl_set_list_free;
    isl_space, isl_space_copy, isl_space_free;
    isl_stride_info, isl_stride_info_copy, isl_stride_info_free;
    isl_union_access_info, isl_union_access_info_copy, isl_union_access_info_free;
    isl_union_flow, isl_union_flow_copy, isl_union_flow_free;
    isl_union_map, isl_union_map_copy, isl_union_map_free;
    isl_union_set, isl_union_set_copy, isl_union_set_free;
    isl_val, isl_val_copy, isl_val_free;
}

macro_rules! calls {
    ($($name:ident = $raw:ident($($arg:ident: $kind:ty),*) -> $ret:ty;)*) => {
        unsafe extern "C" { $(
            fn $raw($($arg: <$kind as Argument>::Raw),*) -> <$ret as Return>::Raw;
        )* }
        $(
            /// Calls the C function of the same name.
            #[allow(clippy::too_many_arguments)]
            pub(crate) fn $name(
                context: &Context, $($arg: <$kind as Argument>::Safe<'_>),*
            ) -> Result<<$ret as Return>::Safe> {
                same_context(true $(&& <$kind as Argument>::belongs(&$arg, context))*)?;
                context.begin();
                // SAFETY: the kinds of arguments and result are those of isl's annotations (`__isl_take`, `__isl_keep`,
                // `__isl_give`), and every argument is a live object of `context`.
                unsafe {
                    let raw = $raw($(<$kind as Argument>::lower($arg)),*);
                    <$ret as Return>::lift(raw, context)
                }
            }
        )*
    };
}

type Int = c_int;
type Uint = c_uint;
/// `enum isl_dim_type`; see [`crate::Dim`].
type DimType = c_int;

calls! {
    val_int_from_si = isl_val_int_from_si(ctx: Ctx, value: c_long) -> Give<isl_val>;
    val_read_from_str = isl_val_read_from_str(ctx: Ctx, text: Str) -> Give<isl_val>;
    val_to_str = isl_val_to_str(v: Keep<isl_val>) -> Text;
    val_is_int = isl_val_is_int(v: Keep<isl_val>) -> Bool;

    space_params_alloc = isl_space_params_alloc(ctx: Ctx, n: Uint) -> Give<isl_space>;
    space_set_alloc = isl_space_set_alloc(ctx: Ctx, n_param: Uint, n_dim: Uint) -> Give<isl_space>;
    space_set_dim_name = isl_space_set_dim_name(s: Take<isl_space>, ty: DimType, pos: Uint, name: Str) -> Give<isl_space>;
    space_add_dims = isl_space_add_dims(s: Take<isl_space>, ty: DimType, n: Uint) -> Give<isl_space>;
    space_from_domain = isl_space_from_domain(s: Take<isl_space>) -> Give<isl_space>;

    local_space_from_space = isl_local_space_from_space(s: Take<isl_space>) -> Give<isl_local_space>;

    aff_zero_on_domain = isl_aff_zero_on_domain(ls: Take<isl_local_space>) -> Give<isl_aff>;
    aff_dim = isl_aff_dim(a: Keep<isl_aff>, ty: DimType) -> Size;
    aff_get_dim_name = isl_aff_get_dim_name(a: Keep<isl_aff>, ty: DimType, pos: Uint) -> Name;
    aff_get_constant_val = isl_aff_get_constant_val(a: Keep<isl_aff>) -> Give<isl_val>;
    aff_get_coefficient_val = isl_aff_get_coefficient_val(a: Keep<isl_aff>, ty: DimType, pos: Int) -> Give<isl_val>;
    aff_get_denominator_val = isl_aff_get_denominator_val(a: Keep<isl_aff>) -> Give<isl_val>;
    aff_get_div = isl_aff_get_div(a: Keep<isl_aff>, pos: Int) -> Give<isl_aff>;
    aff_scale_val = isl_aff_scale_val(a: Take<isl_aff>, v: Take<isl_val>) -> Give<isl_aff>;
    aff_scale_down_val = isl_aff_scale_down_val(a: Take<isl_aff>, v: Take<isl_val>) -> Give<isl_aff>;
    aff_floor = isl_aff_floor(a: Take<isl_aff>) -> Give<isl_aff>;
    aff_add = isl_aff_add(a: Take<isl_aff>, b: Take<isl_aff>) -> Give<isl_aff>;
    aff_set_constant_val = isl_aff_set_constant_val(a: Take<isl_aff>, v: Take<isl_val>) -> Give<isl_aff>;
    aff_set_coefficient_val = isl_aff_set_coefficient_val(a: Take<isl_aff>, ty: DimType, pos: Int, v: Take<isl_val>) -> Give<isl_aff>;
    aff_zero_basic_set = isl_aff_zero_basic_set(a: Take<isl_aff>) -> Give<isl_basic_set>;
    aff_ge_basic_set = isl_aff_ge_basic_set(a: Take<isl_aff>, b: Take<isl_aff>) -> Give<isl_basic_set>;
    aff_list_add = isl_aff_list_add(list: Take<isl_aff_list>, a: Take<isl_aff>) -> Give<isl_aff_list>;
    aff_list_alloc = isl_aff_list_alloc(ctx: Ctx, n: Int) -> Give<isl_aff_list>;

    multi_aff_from_aff_list = isl_multi_aff_from_aff_list(s: Take<isl_space>, list: Take<isl_aff_list>) -> Give<isl_multi_aff>;
    multi_aff_get_at = isl_multi_aff_get_at(m: Keep<isl_multi_aff>, pos: Int) -> Give<isl_aff>;
    multi_aff_size = isl_multi_aff_size(m: Keep<isl_multi_aff>) -> Size;
    pw_multi_aff_isa_multi_aff = isl_pw_multi_aff_isa_multi_aff(m: Keep<isl_pw_multi_aff>) -> Bool;
    pw_multi_aff_as_multi_aff = isl_pw_multi_aff_as_multi_aff(m: Take<isl_pw_multi_aff>) -> Give<isl_multi_aff>;
    pw_multi_aff_n_piece = isl_pw_multi_aff_n_piece(m: Keep<isl_pw_multi_aff>) -> Size;

    constraint_is_equality = isl_constraint_is_equality(c: Keep<isl_constraint>) -> Bool;
    constraint_is_div_constraint = isl_constraint_is_div_constraint(c: Keep<isl_constraint>) -> Bool;
    constraint_get_aff = isl_constraint_get_aff(c: Keep<isl_constraint>) -> Give<isl_aff>;
    constraint_list_size = isl_constraint_list_size(list: Keep<isl_constraint_list>) -> Size;
    constraint_list_get_at = isl_constraint_list_get_at(list: Keep<isl_constraint_list>, pos: Int) -> Give<isl_constraint>;

    basic_set_get_constraint_list = isl_basic_set_get_constraint_list(s: Keep<isl_basic_set>) -> Give<isl_constraint_list>;
    basic_set_list_size = isl_basic_set_list_size(list: Keep<isl_basic_set_list>) -> Size;
    basic_set_list_get_at = isl_basic_set_list_get_at(list: Keep<isl_basic_set_list>, pos: Int) -> Give<isl_basic_set>;
    basic_set_universe = isl_basic_set_universe(s: Take<isl_space>) -> Give<isl_basic_set>;
    basic_set_intersect = isl_basic_set_intersect(a: Take<isl_basic_set>, b: Take<isl_basic_set>) -> Give<isl_basic_set>;

    set_to_str = isl_set_to_str(s: Keep<isl_set>) -> Text;
    set_universe = isl_set_universe(s: Take<isl_space>) -> Give<isl_set>;
    set_empty = isl_set_empty(s: Take<isl_space>) -> Give<isl_set>;
    set_from_basic_set = isl_set_from_basic_set(s: Take<isl_basic_set>) -> Give<isl_set>;
    set_get_basic_set_list = isl_set_get_basic_set_list(s: Keep<isl_set>) -> Give<isl_basic_set_list>;
    set_get_space = isl_set_get_space(s: Keep<isl_set>) -> Give<isl_space>;
    set_dim = isl_set_dim(s: Keep<isl_set>, ty: DimType) -> Size;
    set_is_params = isl_set_is_params(s: Keep<isl_set>) -> Bool;
    set_get_dim_name = isl_set_get_dim_name(s: Keep<isl_set>, ty: DimType, pos: Uint) -> Name;
    set_set_dim_name = isl_set_set_dim_name(s: Take<isl_set>, ty: DimType, pos: Uint, name: Str) -> Give<isl_set>;
    set_find_dim_by_name = isl_set_find_dim_by_name(s: Keep<isl_set>, ty: DimType, name: Str) -> Position;
    set_get_tuple_name = isl_set_get_tuple_name(s: Keep<isl_set>) -> Name;
    set_set_tuple_name = isl_set_set_tuple_name(s: Take<isl_set>, name: Str) -> Give<isl_set>;
    set_reset_tuple_id = isl_set_reset_tuple_id(s: Take<isl_set>) -> Give<isl_set>;
    set_align_params = isl_set_align_params(s: Take<isl_set>, model: Take<isl_space>) -> Give<isl_set>;
    set_intersect = isl_set_intersect(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_set>;
    set_intersect_params = isl_set_intersect_params(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_set>;
    set_union = isl_set_union(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_set>;
    set_subtract = isl_set_subtract(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_set>;
    set_complement = isl_set_complement(a: Take<isl_set>) -> Give<isl_set>;
    set_coalesce = isl_set_coalesce(a: Take<isl_set>) -> Give<isl_set>;
    set_gist = isl_set_gist(a: Take<isl_set>, context_set: Take<isl_set>) -> Give<isl_set>;
    set_make_disjoint = isl_set_make_disjoint(a: Take<isl_set>) -> Give<isl_set>;
    set_compute_divs = isl_set_compute_divs(a: Take<isl_set>) -> Give<isl_set>;
    set_detect_equalities = isl_set_detect_equalities(a: Take<isl_set>) -> Give<isl_set>;
    set_remove_redundancies = isl_set_remove_redundancies(a: Take<isl_set>) -> Give<isl_set>;
    set_lexmin = isl_set_lexmin(a: Take<isl_set>) -> Give<isl_set>;
    set_lexmax = isl_set_lexmax(a: Take<isl_set>) -> Give<isl_set>;
    set_sample_point = isl_set_sample_point(a: Take<isl_set>) -> Give<isl_point>;
    set_simple_hull = isl_set_simple_hull(a: Take<isl_set>) -> Give<isl_basic_set>;
    set_remove_divs = isl_set_remove_divs(a: Take<isl_set>) -> Give<isl_set>;
    set_params = isl_set_params(a: Take<isl_set>) -> Give<isl_set>;
    set_from_params = isl_set_from_params(a: Take<isl_set>) -> Give<isl_set>;
    set_project_out = isl_set_project_out(a: Take<isl_set>, ty: DimType, first: Uint, n: Uint) -> Give<isl_set>;
    set_insert_dims = isl_set_insert_dims(a: Take<isl_set>, ty: DimType, pos: Uint, n: Uint) -> Give<isl_set>;
    set_move_dims = isl_set_move_dims(a: Take<isl_set>, to: DimType, to_pos: Uint, from: DimType, from_pos: Uint, n: Uint) -> Give<isl_set>;
    set_eliminate = isl_set_eliminate(a: Take<isl_set>, ty: DimType, first: Uint, n: Uint) -> Give<isl_set>;
    set_drop_constraints_not_involving_dims = isl_set_drop_constraints_not_involving_dims(a: Take<isl_set>, ty: DimType, first: Uint, n: Uint) -> Give<isl_set>;
    set_drop_constraints_involving_dims = isl_set_drop_constraints_involving_dims(a: Take<isl_set>, ty: DimType, first: Uint, n: Uint) -> Give<isl_set>;
    set_fix_val = isl_set_fix_val(a: Take<isl_set>, ty: DimType, pos: Uint, v: Take<isl_val>) -> Give<isl_set>;
    set_involves_dims = isl_set_involves_dims(a: Keep<isl_set>, ty: DimType, first: Uint, n: Uint) -> Bool;
    set_is_empty = isl_set_is_empty(a: Keep<isl_set>) -> Bool;
    set_is_bounded = isl_set_is_bounded(a: Keep<isl_set>) -> Bool;
    set_is_singleton = isl_set_is_singleton(a: Keep<isl_set>) -> Bool;
    set_is_box = isl_set_is_box(a: Keep<isl_set>) -> Bool;
    set_is_equal = isl_set_is_equal(a: Keep<isl_set>, b: Keep<isl_set>) -> Bool;
    set_is_subset = isl_set_is_subset(a: Keep<isl_set>, b: Keep<isl_set>) -> Bool;
    set_is_disjoint = isl_set_is_disjoint(a: Keep<isl_set>, b: Keep<isl_set>) -> Bool;
    set_dim_min_val = isl_set_dim_min_val(a: Take<isl_set>, pos: Int) -> Give<isl_val>;
    set_dim_max_val = isl_set_dim_max_val(a: Take<isl_set>, pos: Int) -> Give<isl_val>;
    set_get_stride_info = isl_set_get_stride_info(a: Keep<isl_set>, pos: Int) -> Give<isl_stride_info>;
    stride_info_get_stride = isl_stride_info_get_stride(i: Keep<isl_stride_info>) -> Give<isl_val>;
    stride_info_get_offset = isl_stride_info_get_offset(i: Keep<isl_stride_info>) -> Give<isl_aff>;

    point_get_coordinate_val = isl_point_get_coordinate_val(p: Keep<isl_point>, ty: DimType, pos: Int) -> Give<isl_val>;
    point_is_void = isl_point_is_void(p: Keep<isl_point>) -> Bool;

    mat_alloc = isl_mat_alloc(ctx: Ctx, rows: Uint, columns: Uint) -> Give<isl_mat>;
    mat_set_element_val = isl_mat_set_element_val(m: Move<isl_mat>, row: Int, column: Int, v: Take<isl_val>) -> Give<isl_mat>;
    basic_set_from_constraint_matrices = isl_basic_set_from_constraint_matrices(s: Take<isl_space>, eq: Take<isl_mat>, ineq: Take<isl_mat>, c1: DimType, c2: DimType, c3: DimType, c4: DimType) -> Give<isl_basic_set>;
    set_unwrap = isl_set_unwrap(s: Take<isl_set>) -> Give<isl_map>;
    set_flatten = isl_set_flatten(s: Take<isl_set>) -> Give<isl_set>;
    set_identity = isl_set_identity(s: Take<isl_set>) -> Give<isl_map>;
    set_to_union_set = isl_set_to_union_set(s: Take<isl_set>) -> Give<isl_union_set>;
    set_apply = isl_set_apply(s: Take<isl_set>, m: Take<isl_map>) -> Give<isl_set>;
    set_lex_lt_set = isl_set_lex_lt_set(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_map>;
    set_lex_le_set = isl_set_lex_le_set(a: Take<isl_set>, b: Take<isl_set>) -> Give<isl_map>;

    map_to_str = isl_map_to_str(m: Keep<isl_map>) -> Text;
    map_reverse = isl_map_reverse(m: Take<isl_map>) -> Give<isl_map>;
    map_coalesce = isl_map_coalesce(m: Take<isl_map>) -> Give<isl_map>;
    map_lexmin = isl_map_lexmin(m: Take<isl_map>) -> Give<isl_map>;
    map_lexmax = isl_map_lexmax(m: Take<isl_map>) -> Give<isl_map>;
    map_compute_divs = isl_map_compute_divs(m: Take<isl_map>) -> Give<isl_map>;
    map_detect_equalities = isl_map_detect_equalities(m: Take<isl_map>) -> Give<isl_map>;
    map_remove_redundancies = isl_map_remove_redundancies(m: Take<isl_map>) -> Give<isl_map>;
    map_complement = isl_map_complement(m: Take<isl_map>) -> Give<isl_map>;
    map_flatten = isl_map_flatten(m: Take<isl_map>) -> Give<isl_map>;
    map_flatten_domain = isl_map_flatten_domain(m: Take<isl_map>) -> Give<isl_map>;
    map_flatten_range = isl_map_flatten_range(m: Take<isl_map>) -> Give<isl_map>;
    map_make_disjoint = isl_map_make_disjoint(m: Take<isl_map>) -> Give<isl_map>;
    map_domain = isl_map_domain(m: Take<isl_map>) -> Give<isl_set>;
    map_range = isl_map_range(m: Take<isl_map>) -> Give<isl_set>;
    map_params = isl_map_params(m: Take<isl_map>) -> Give<isl_set>;
    map_wrap = isl_map_wrap(m: Take<isl_map>) -> Give<isl_set>;
    map_deltas = isl_map_deltas(m: Take<isl_map>) -> Give<isl_set>;
    map_union = isl_map_union(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_intersect = isl_map_intersect(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_subtract = isl_map_subtract(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_apply_domain = isl_map_apply_domain(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_apply_range = isl_map_apply_range(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_gist = isl_map_gist(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_product = isl_map_product(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_domain_product = isl_map_domain_product(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_range_product = isl_map_range_product(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_flat_range_product = isl_map_flat_range_product(a: Take<isl_map>, b: Take<isl_map>) -> Give<isl_map>;
    map_intersect_domain = isl_map_intersect_domain(m: Take<isl_map>, s: Take<isl_set>) -> Give<isl_map>;
    map_intersect_range = isl_map_intersect_range(m: Take<isl_map>, s: Take<isl_set>) -> Give<isl_map>;
    map_intersect_params = isl_map_intersect_params(m: Take<isl_map>, s: Take<isl_set>) -> Give<isl_map>;
    map_gist_domain = isl_map_gist_domain(m: Take<isl_map>, s: Take<isl_set>) -> Give<isl_map>;
    map_gist_range = isl_map_gist_range(m: Take<isl_map>, s: Take<isl_set>) -> Give<isl_map>;
    map_is_empty = isl_map_is_empty(m: Keep<isl_map>) -> Bool;
    map_is_injective = isl_map_is_injective(m: Keep<isl_map>) -> Bool;
    map_is_single_valued = isl_map_is_single_valued(m: Keep<isl_map>) -> Bool;
    map_is_bijective = isl_map_is_bijective(m: Keep<isl_map>) -> Bool;
    map_is_identity = isl_map_is_identity(m: Keep<isl_map>) -> Bool;
    map_is_equal = isl_map_is_equal(a: Keep<isl_map>, b: Keep<isl_map>) -> Bool;
    map_is_subset = isl_map_is_subset(a: Keep<isl_map>, b: Keep<isl_map>) -> Bool;
    map_is_disjoint = isl_map_is_disjoint(a: Keep<isl_map>, b: Keep<isl_map>) -> Bool;
    map_to_union_map = isl_map_to_union_map(m: Take<isl_map>) -> Give<isl_union_map>;
    map_from_domain_and_range = isl_map_from_domain_and_range(d: Take<isl_set>, r: Take<isl_set>) -> Give<isl_map>;
    map_from_multi_aff = isl_map_from_multi_aff(m: Take<isl_multi_aff>) -> Give<isl_map>;
    map_lex_lt = isl_map_lex_lt(s: Take<isl_space>) -> Give<isl_map>;
    map_lex_le = isl_map_lex_le(s: Take<isl_space>) -> Give<isl_map>;
    map_dim = isl_map_dim(m: Keep<isl_map>, ty: DimType) -> Size;
    map_get_dim_name = isl_map_get_dim_name(m: Keep<isl_map>, ty: DimType, pos: Uint) -> Name;
    map_set_dim_name = isl_map_set_dim_name(m: Take<isl_map>, ty: DimType, pos: Uint, name: Str) -> Give<isl_map>;
    map_get_tuple_name = isl_map_get_tuple_name(m: Keep<isl_map>, ty: DimType) -> Name;
    map_set_tuple_name = isl_map_set_tuple_name(m: Take<isl_map>, ty: DimType, name: Str) -> Give<isl_map>;
    map_reset_tuple_id = isl_map_reset_tuple_id(m: Take<isl_map>, ty: DimType) -> Give<isl_map>;
    map_find_dim_by_name = isl_map_find_dim_by_name(m: Keep<isl_map>, ty: DimType, name: Str) -> Position;
    map_fix_val = isl_map_fix_val(m: Take<isl_map>, ty: DimType, pos: Uint, v: Take<isl_val>) -> Give<isl_map>;
    map_project_out = isl_map_project_out(m: Take<isl_map>, ty: DimType, first: Uint, n: Uint) -> Give<isl_map>;
    map_list_size = isl_map_list_size(list: Keep<isl_map_list>) -> Size;
    map_list_get_at = isl_map_list_get_at(list: Keep<isl_map_list>, pos: Int) -> Give<isl_map>;
    set_list_size = isl_set_list_size(list: Keep<isl_set_list>) -> Size;
    set_list_get_at = isl_set_list_get_at(list: Keep<isl_set_list>, pos: Int) -> Give<isl_set>;
    pw_multi_aff_from_map = isl_pw_multi_aff_from_map(m: Take<isl_map>) -> Give<isl_pw_multi_aff>;
    pw_multi_aff_coalesce = isl_pw_multi_aff_coalesce(m: Take<isl_pw_multi_aff>) -> Give<isl_pw_multi_aff>;
    pw_multi_aff_gist = isl_pw_multi_aff_gist(m: Take<isl_pw_multi_aff>, s: Take<isl_set>) -> Give<isl_pw_multi_aff>;

    union_map_to_str = isl_union_map_to_str(m: Keep<isl_union_map>) -> Text;
    union_map_empty_ctx = isl_union_map_empty_ctx(ctx: Ctx) -> Give<isl_union_map>;
    union_map_get_map_list = isl_union_map_get_map_list(m: Keep<isl_union_map>) -> Give<isl_map_list>;
    union_set_to_str = isl_union_set_to_str(s: Keep<isl_union_set>) -> Text;
    union_set_empty_ctx = isl_union_set_empty_ctx(ctx: Ctx) -> Give<isl_union_set>;
    union_set_get_set_list = isl_union_set_get_set_list(s: Keep<isl_union_set>) -> Give<isl_set_list>;
    union_map_reverse = isl_union_map_reverse(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_coalesce = isl_union_map_coalesce(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_lexmin = isl_union_map_lexmin(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_lexmax = isl_union_map_lexmax(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_compute_divs = isl_union_map_compute_divs(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_detect_equalities = isl_union_map_detect_equalities(m: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_domain = isl_union_map_domain(m: Take<isl_union_map>) -> Give<isl_union_set>;
    union_map_range = isl_union_map_range(m: Take<isl_union_map>) -> Give<isl_union_set>;
    union_map_deltas = isl_union_map_deltas(m: Take<isl_union_map>) -> Give<isl_union_set>;
    union_map_wrap = isl_union_map_wrap(m: Take<isl_union_map>) -> Give<isl_union_set>;
    union_map_union = isl_union_map_union(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_intersect = isl_union_map_intersect(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_subtract = isl_union_map_subtract(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_apply_domain = isl_union_map_apply_domain(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_apply_range = isl_union_map_apply_range(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_gist = isl_union_map_gist(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_range_product = isl_union_map_range_product(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_flat_range_product = isl_union_map_flat_range_product(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_lex_lt_union_map = isl_union_map_lex_lt_union_map(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_lex_le_union_map = isl_union_map_lex_le_union_map(a: Take<isl_union_map>, b: Take<isl_union_map>) -> Give<isl_union_map>;
    union_map_intersect_domain = isl_union_map_intersect_domain(m: Take<isl_union_map>, s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_map_intersect_range = isl_union_map_intersect_range(m: Take<isl_union_map>, s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_map_gist_domain = isl_union_map_gist_domain(m: Take<isl_union_map>, s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_map_gist_range = isl_union_map_gist_range(m: Take<isl_union_map>, s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_map_intersect_params = isl_union_map_intersect_params(m: Take<isl_union_map>, s: Take<isl_set>) -> Give<isl_union_map>;
    union_map_is_empty = isl_union_map_is_empty(m: Keep<isl_union_map>) -> Bool;
    union_map_is_injective = isl_union_map_is_injective(m: Keep<isl_union_map>) -> Bool;
    union_map_is_single_valued = isl_union_map_is_single_valued(m: Keep<isl_union_map>) -> Bool;
    union_map_is_bijective = isl_union_map_is_bijective(m: Keep<isl_union_map>) -> Bool;
    union_map_is_identity = isl_union_map_is_identity(m: Keep<isl_union_map>) -> Bool;
    union_map_is_equal = isl_union_map_is_equal(a: Keep<isl_union_map>, b: Keep<isl_union_map>) -> Bool;
    union_map_is_subset = isl_union_map_is_subset(a: Keep<isl_union_map>, b: Keep<isl_union_map>) -> Bool;
    union_map_is_disjoint = isl_union_map_is_disjoint(a: Keep<isl_union_map>, b: Keep<isl_union_map>) -> Bool;
    union_set_coalesce = isl_union_set_coalesce(s: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_lexmin = isl_union_set_lexmin(s: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_lexmax = isl_union_set_lexmax(s: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_identity = isl_union_set_identity(s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_set_unwrap = isl_union_set_unwrap(s: Take<isl_union_set>) -> Give<isl_union_map>;
    union_set_union = isl_union_set_union(a: Take<isl_union_set>, b: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_intersect = isl_union_set_intersect(a: Take<isl_union_set>, b: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_subtract = isl_union_set_subtract(a: Take<isl_union_set>, b: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_gist = isl_union_set_gist(a: Take<isl_union_set>, b: Take<isl_union_set>) -> Give<isl_union_set>;
    union_set_apply = isl_union_set_apply(s: Take<isl_union_set>, m: Take<isl_union_map>) -> Give<isl_union_set>;
    union_set_intersect_params = isl_union_set_intersect_params(m: Take<isl_union_set>, s: Take<isl_set>) -> Give<isl_union_set>;
    union_set_is_empty = isl_union_set_is_empty(s: Keep<isl_union_set>) -> Bool;
    union_set_is_equal = isl_union_set_is_equal(a: Keep<isl_union_set>, b: Keep<isl_union_set>) -> Bool;
    union_set_is_subset = isl_union_set_is_subset(a: Keep<isl_union_set>, b: Keep<isl_union_set>) -> Bool;
    union_set_is_disjoint = isl_union_set_is_disjoint(a: Keep<isl_union_set>, b: Keep<isl_union_set>) -> Bool;

    union_access_info_from_sink = isl_union_access_info_from_sink(sink: Take<isl_union_map>) -> Give<isl_union_access_info>;
    union_access_info_set_must_source = isl_union_access_info_set_must_source(i: Take<isl_union_access_info>, s: Take<isl_union_map>) -> Give<isl_union_access_info>;
    union_access_info_set_may_source = isl_union_access_info_set_may_source(i: Take<isl_union_access_info>, s: Take<isl_union_map>) -> Give<isl_union_access_info>;
    union_access_info_set_schedule_map = isl_union_access_info_set_schedule_map(i: Take<isl_union_access_info>, s: Take<isl_union_map>) -> Give<isl_union_access_info>;
    union_access_info_compute_flow = isl_union_access_info_compute_flow(i: Take<isl_union_access_info>) -> Give<isl_union_flow>;
    union_flow_get_must_dependence = isl_union_flow_get_must_dependence(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
    union_flow_get_may_dependence = isl_union_flow_get_may_dependence(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
    union_flow_get_must_no_source = isl_union_flow_get_must_no_source(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
    union_flow_get_may_no_source = isl_union_flow_get_may_no_source(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
    union_flow_get_full_must_dependence = isl_union_flow_get_full_must_dependence(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
    union_flow_get_full_may_dependence = isl_union_flow_get_full_may_dependence(f: Keep<isl_union_flow>) -> Give<isl_union_map>;
}
