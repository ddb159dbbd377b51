//! Functions that are told by three plain functions each.

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};

/// The types that a function turns its arguments into; `None` where it does not take them.
type Takes = fn(&[DataType]) -> Option<Vec<DataType>>;

/// A function of rows.
#[derive(Debug)]
pub(super) struct Simple {
    name: &'static str,
    /// The types its arguments are cast to; `None` if it does not take such.
    takes: fn(&[DataType]) -> Option<Vec<DataType>>,
    /// What it takes, in words.
    words: &'static str,
    gives: fn(&[DataType]) -> DataType,
    call: fn(&[ArrayRef], usize) -> Result<ArrayRef>,
    signature: Signature,
}

impl PartialEq for Simple {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Simple {}

impl Hash for Simple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// A function; `call` gets arrays of one length and that length.
pub(super) fn simple(
    name: &'static str,
    (takes, words): (Takes, &'static str),
    gives: fn(&[DataType]) -> DataType,
    call: fn(&[ArrayRef], usize) -> Result<ArrayRef>,
) -> ScalarUDF {
    // The engine does not ask a function about no arguments at all unless it says that it takes none.
    let signature = match takes(&[]) {
        Some(_) => {
            Signature::one_of(vec![TypeSignature::UserDefined, TypeSignature::Nullary], Volatility::Immutable)
        }
        None => Signature::user_defined(Volatility::Immutable),
    };
    ScalarUDF::from(Simple { name, takes, words, gives, call, signature })
}

impl ScalarUDFImpl for Simple {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.takes)(types) {
            Some(types) => Ok(types),
            None => plan_err!("{} takes {}", self.name.trim_start_matches('_'), self.words),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok((self.gives)(types))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let arrays: Result<Vec<ArrayRef>> =
            args.args.iter().map(|arg| arg.clone().into_array(rows)).collect();
        let result = (self.call)(&arrays?, rows)?;
        if is_scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}
