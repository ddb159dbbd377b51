//! `round` as Spark does it: half away from zero, on the decimal digits that the number is written with.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    signature: Signature,
}

impl Round {
    pub(super) fn new() -> Self {
        Round { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        "round"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let number = match types.first() {
            Some(ty) if ty.is_integer() => DataType::Int64,
            Some(_) => DataType::Float64,
            None => return plan_err!("round takes a number, and how many digits to keep"),
        };
        match types.len() {
            1 => Ok(vec![number]),
            2 => Ok(vec![number, DataType::Int64]),
            _ => plan_err!("round takes a number, and how many digits to keep"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Float64))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let digits = match arrays.get(1) {
            Some(digits) => cast(digits, &DataType::Int64)?,
            None => Arc::new(Int64Array::from_value(0, arrays[0].len())),
        };
        let digits = digits.as_primitive::<Int64Type>();
        let rounded: ArrayRef = if arrays[0].data_type() == &DataType::Int64 {
            let values = arrays[0].as_primitive::<Int64Type>().iter().zip(digits);
            Arc::new(values.map(|(value, digits)| Some(round_whole(value?, digits?))).collect::<Int64Array>())
        } else {
            let values = arrays[0].as_primitive::<Float64Type>().iter().zip(digits);
            Arc::new(values.map(|(value, digits)| Some(round(value?, digits?))).collect::<Float64Array>())
        };
        Ok(ColumnarValue::Array(rounded))
    }
}

fn round_whole(value: i64, digits: i64) -> i64 {
    if digits >= 0 {
        return value;
    }
    let Some(unit) = u32::try_from(-digits).ok().and_then(|digits| 10_i128.checked_pow(digits)) else {
        return 0;
    };
    let (value, half) = (i128::from(value), unit / 2);
    let rounded = (value.abs() + half) / unit * unit * value.signum();
    i64::try_from(rounded).unwrap_or(value as i64)
}

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: i64 = 22;
/// Whole numbers that a double holds exactly.
const EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;

fn round(value: f64, digits: i64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    if (0..=EXACT_POWERS).contains(&digits) {
        let unit = 10_f64.powi(digits as i32);
        let scaled = value.abs() * unit;
        if scaled < EXACT_WHOLE / 4.0 {
            let whole = scaled.floor();
            let rest = scaled - whole;
            // Near the middle the product's own rounding may decide wrongly.
            if (rest - 0.5).abs() > 1e-6 * scaled.clamp(1.0, 1e5) {
                let rounded = if rest > 0.5 { whole + 1.0 } else { whole };
                return (rounded / unit).copysign(value);
            }
        }
    }
    by_digits(value, digits)
}

/// Rounds the shortest decimal digits that give `value`.
fn by_digits(value: f64, digits: i64) -> f64 {
    let text = format!("{:e}", value.abs());
    let Some((mantissa, exponent)) = text.split_once('e') else { return value };
    let Ok(exponent) = exponent.parse::<i64>() else { return value };
    let all: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    // The first digit counts 10^exponent; the last one to keep counts 10^-digits.
    let keep = exponent + digits + 1;
    if keep >= all.len() as i64 {
        return value;
    }
    if keep < 0 {
        return 0_f64.copysign(value);
    }
    let (kept, dropped) = all.split_at(keep as usize);
    let mut number = kept.iter().fold(0_u128, |number, digit| number * 10 + u128::from(digit - b'0'));
    if dropped.first().is_some_and(|digit| *digit >= b'5') {
        number += 1;
    }
    format!("{number}e{}", -digits).parse::<f64>().unwrap_or(value).copysign(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_spark_rounds() {
        // What `SELECT round(x, n)` gives in Spark 4.3.
        for (value, digits, expected) in [
            (2.675, 2, 2.68),
            (1.005, 2, 1.01),
            (-2.675, 2, -2.68),
            (0.5, 0, 1.0),
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (1234.5678, -2, 1200.0),
            (1250.0, -2, 1300.0),
            (0.0004, 3, 0.0),
            (0.0005, 3, 0.001),
            (4.9, 0, 5.0),
            (1e300, 2, 1e300),
            (123_456_789.125, 2, 123_456_789.13),
            (0.285, 2, 0.29),
            (1.0 / 3.0, 2, 0.33),
            (5e-324, 2, 0.0),
        ] {
            assert_eq!(round(value, digits), expected, "round({value}, {digits})");
        }
        assert!(round(f64::NAN, 2).is_nan());
        assert_eq!(round_whole(1250, -2), 1300);
        assert_eq!(round_whole(-1250, -2), -1300);
        assert_eq!(round_whole(7, 3), 7);
        assert_eq!(round_whole(7, -40), 0);
    }

    #[test]
    fn both_ways_agree() {
        let mut state = 1_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state >> 20) as f64 / 1024.0 / 1000.0;
            assert_eq!(round(value, 2), by_digits(value, 2), "{value}");
        }
    }
}
