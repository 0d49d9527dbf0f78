//! Literals of C that mean exactly a number of the kernel.
//!
//! Floats are the shortest decimals that read back as the same bits; float32 has the suffix `f`.

use nestegg_ir::{Dtype, Number};

use super::text::{Precedence, Text};

/// A number as a literal of that dtype.
pub(crate) fn literal(number: Number, dtype: Dtype) -> Text {
    match (dtype, number) {
        (Dtype::Bool, _) => Text::primary(if number.to_f64() == 0.0 { "false" } else { "true" }),
        (Dtype::Float64, _) => float(number.to_f64(), format!("{:?}", number.to_f64()), "INFINITY"),
        (Dtype::Float32, _) => {
            let value = number.to_f64() as f32;
            float(f64::from(value), format!("{value:?}f"), "INFINITY")
        }
        (Dtype::Int32, Number::Int(value)) if i32::try_from(value).is_ok() => int(value),
        (Dtype::Int32 | Dtype::Int64, Number::Int(value)) => long(value),
        (Dtype::Int32 | Dtype::Int64, Number::Float(value)) => {
            float(value.get(), format!("{:?}", value.get()), "INFINITY").cast(Dtype::Float64, dtype)
        }
    }
}

fn float(value: f64, text: String, infinity: &str) -> Text {
    if value.is_infinite() {
        signed(value < 0.0, infinity.to_owned())
    } else {
        match text.strip_prefix('-') {
            Some(rest) => signed(true, rest.to_owned()),
            None => signed(false, text),
        }
    }
}

fn signed(negative: bool, text: String) -> Text {
    match negative {
        false => Text::primary(text),
        true => Text { precedence: Precedence::Prefix, ..Text::primary(format!("-{text}")) },
    }
}

/// An `int32_t`.
pub(crate) fn int(value: i64) -> Text {
    if value == i64::from(i32::MIN) {
        return Text::primary("INT32_MIN");
    }
    signed(value < 0, value.unsigned_abs().to_string())
}

/// An `int64_t`; within 32 bits a plain literal, which C converts without loss.
pub(crate) fn long(value: i64) -> Text {
    match i32::try_from(value) {
        Ok(_) => int(value),
        Err(_) if value == i64::MIN => Text::primary("INT64_MIN"),
        Err(_) => signed(value < 0, format!("INT64_C({})", value.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nestegg_ir::Float;

    fn check(value: f64, dtype: Dtype, expected: &str) {
        let number = Number::Float(Float::new(value).expect("finite"));
        assert_eq!(literal(number, dtype).text, expected);
    }

    #[test]
    fn floats_are_shortest() {
        check(0.1, Dtype::Float64, "0.1");
        check(0.1, Dtype::Float32, "0.1f");
        check(-0.0, Dtype::Float64, "-0.0");
        check(1e300, Dtype::Float64, "1e300");
        check(5e-324, Dtype::Float64, "5e-324");
        check(1e300, Dtype::Float32, "INFINITY");
        check(1.0, Dtype::Float32, "1.0f");
    }

    #[test]
    fn extreme_integers_are_legal_c() {
        let text = |value, dtype| literal(Number::Int(value), dtype).text;
        assert_eq!(text(i64::from(i32::MIN), Dtype::Int32), "INT32_MIN");
        assert_eq!(text(i64::MIN, Dtype::Int64), "INT64_MIN");
        assert_eq!(text(-5_000_000_000, Dtype::Int64), "-INT64_C(5000000000)");
        assert_eq!(text(3, Dtype::Float64), "3.0");
    }
}
