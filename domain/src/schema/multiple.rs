//! `multipleOf`, exactly and in constant time.
//!
//! A number is the decimal that it is written as. A decimal is a whole number times a power of ten,
//! so whether one divides another is asked of the factors two, five and all others apart, which
//! takes no number longer than 64 bits. The library divides fractions of any length instead where
//! 128 bits do not hold both, and was measured at seconds for a row of 4 KB.
//!
//! A double that is not written in this row but read from longer digits is the shortest decimal that
//! stands for it.

use jsonschema::{Keyword, ValidationError, paths::Location};
use serde_json::{Map, Number, Value};

/// The greatest power of five that 64 bits hold.
const FIVES_MAX: u32 = 27;
/// The first whole double whose neighbour is not one apart: below it a whole double is exact.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A divisor: `rest` times powers of two and five, which may be negative.
struct MultipleOf {
    rest: u64,
    twos: i32,
    fives: i32,
    message: String,
}

/// The keyword, for the library to use in place of its own.
///
/// # Errors
/// When its value is not a number above zero, which the metaschema has refused before.
pub(super) fn keyword<'a>(
    _: &'a Map<String, Value>,
    value: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let divisor = value.as_number().filter(|divisor| divisor.as_f64().is_some_and(|it| it > 0.0));
    let Some((number, (mantissa, tens))) = divisor.and_then(|it| Some((it, decimal(it)?))) else {
        return Err(ValidationError::schema("must be a number above zero"));
    };
    let twos = mantissa.trailing_zeros();
    let mut rest = mantissa >> twos;
    let mut fives = 0;
    while rest.is_multiple_of(5) {
        rest /= 5;
        fives += 1;
    }
    Ok(Box::new(MultipleOf {
        rest,
        twos: tens + twos.cast_signed(),
        fives: tens + fives,
        message: format!("the value is not a multiple of {number}"),
    }))
}

impl MultipleOf {
    fn divides(&self, value: &Value) -> bool {
        let Value::Number(number) = value else { return true };
        let Some((mantissa, tens)) = decimal(number) else { return false };
        mantissa == 0
            || mantissa.is_multiple_of(self.rest)
                && self.twos <= tens + mantissa.trailing_zeros().cast_signed()
                && has_fives(mantissa, self.fives - tens)
    }
}

impl Keyword<'_> for MultipleOf {
    fn validate(&self, instance: &Value) -> Result<(), ValidationError<'static>> {
        if self.divides(instance) {
            return Ok(());
        }
        Err(ValidationError::custom(self.message.clone()))
    }

    fn is_valid(&self, instance: &Value) -> bool {
        self.divides(instance)
    }
}

/// Whether five divides `mantissa`, which is not zero, at least so many times.
fn has_fives(mantissa: u64, times: i32) -> bool {
    match u32::try_from(times) {
        Ok(0) | Err(_) => true,
        Ok(times) => times <= FIVES_MAX && mantissa.is_multiple_of(5_u64.pow(times)),
    }
}

/// A number without its sign, as a whole number and the power of ten that it is to be taken times.
fn decimal(number: &Number) -> Option<(u64, i32)> {
    if let Some(whole) = number.as_u64() {
        return Some((whole, 0));
    }
    if let Some(whole) = number.as_i64() {
        return Some((whole.unsigned_abs(), 0));
    }
    let double = number.as_f64().filter(|double| double.is_finite())?.abs();
    if double < WHOLE_MAX && double.fract() == 0.0 {
        return Some((double as u64, 0));
    }
    let mut buffer = zmij::Buffer::new();
    let written = buffer.format_finite(double);
    let (digits, exponent) = match written.split_once('e') {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (written, 0),
    };
    let (mut mantissa, mut decimals, mut is_fraction) = (0_u64, 0, false);
    for byte in digits.bytes() {
        if byte == b'.' {
            is_fraction = true;
            continue;
        }
        // Seventeen digits at most.
        mantissa = mantissa.checked_mul(10)?.checked_add(u64::from(byte.checked_sub(b'0')?))?;
        decimals += i32::from(is_fraction);
    }
    Some((mantissa, exponent - decimals))
}
