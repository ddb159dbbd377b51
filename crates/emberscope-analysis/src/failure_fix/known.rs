//! Errors whose message tells what to change: Spark's error conditions, and what storage and services say.

/// What to do about an error that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// In words.
    pub(super) text: &'static str,
    /// What has to change, where no line of the program is told.
    pub(super) subject: &'static str,
    /// How it has to change.
    pub(super) change: &'static str,
    /// A setting that is proposed beside, with its value.
    pub(super) key: Option<(&'static str, &'static str)>,
}

const fn code(text: &'static str, subject: &'static str, change: &'static str) -> Known {
    Known { text, subject, change, key: None }
}

/// Marks, any of which an error holds, and what to do; the first that fits counts.
const KNOWN: &[(&[&str], Known)] = &[
    (
        &["[CAST_INVALID_INPUT]", "[CAST_OVERFLOW]"],
        code(
            "A value does not fit the type that it is cast to: use try_cast, which gives null for it, and count or set aside those rows.",
            "the cast",
            "try_cast instead of cast, and a rule for rows that give null",
        ),
    ),
    (
        &["[DIVIDE_BY_ZERO]", "[REMAINDER_BY_ZERO]"],
        code(
            "A divisor is zero: use try_divide, or nullif(divisor, 0), and decide what such rows mean.",
            "the division",
            "try_divide, or nullif(divisor, 0)",
        ),
    ),
    (
        &["[ARITHMETIC_OVERFLOW]", "[NUMERIC_VALUE_OUT_OF_RANGE", "[BINARY_ARITHMETIC_OVERFLOW]"],
        code(
            "A result is too large for its type: compute in a larger one, or use the try_ functions, which give null.",
            "the arithmetic",
            "a larger type (BIGINT, DECIMAL), or try_add, try_multiply, try_sum",
        ),
    ),
    (
        &["[INVALID_ARRAY_INDEX", "[MAP_KEY_DOES_NOT_EXIST]"],
        code(
            "An element is asked for that is not there: use get or try_element_at, which give null.",
            "the access",
            "get(array, index) or try_element_at",
        ),
    ),
    (
        &[
            "[CANNOT_PARSE_TIMESTAMP]",
            "[CANNOT_PARSE_DATE]",
            "[INCONSISTENT_BEHAVIOR_CROSS_VERSION",
            "DateTimeParseException",
        ],
        code(
            "A text is no date or time in the format that is asked for: use try_to_timestamp or try_to_date, or the format that the data has.",
            "the parsing of dates",
            "try_to_timestamp with the format of the data",
        ),
    ),
    (
        &["[DUPLICATED_MAP_KEY]"],
        code(
            "A map is built with a key twice: remove duplicates first, or let the last one win.",
            "the map",
            "distinct keys",
        ),
    ),
    (
        &["[USER_RAISED_EXCEPTION]", "assert_true", "[ASSERT_TRUE"],
        code(
            "The query itself raises this (raise_error or assert_true): find the rows that its condition refuses, and mend them or the condition.",
            "raise_error",
            "mend the rows that are refused, or the condition",
        ),
    ),
    (
        &["ZeroDivisionError"],
        code(
            "A divisor is zero: test for it in the function, and decide what such rows mean.",
            "the function",
            "test the divisor before dividing",
        ),
    ),
    (
        &[
            "Mkdirs failed to create",
            "Permission denied",
            "AccessControlException",
            "AccessDeniedException",
            "403 Forbidden",
            "Access Denied",
        ],
        code(
            "The application may not write or read there: mend the path, or give its user the right.",
            "the path",
            "one that the executors' user may use, on storage that all of them see",
        ),
    ),
    (
        &[
            "[FAILED_READ_FILE.FILE_NOT_EXIST]",
            "FileNotFoundException",
            "It is possible the underlying files have been updated",
            "[PATH_NOT_FOUND]",
        ],
        code(
            "Files went while the query read them: do not overwrite what is being read, keep old files longer, or refresh the table before.",
            "the input",
            "REFRESH TABLE before reading, or a table format that keeps the files of readers",
        ),
    ),
    (
        &["FileAlreadyExistsException", "[PATH_ALREADY_EXISTS]"],
        code(
            "The output is there already: write with mode overwrite or append, or to a new place; after a failed attempt remove what it left.",
            "the write",
            "mode overwrite or append, or a new place",
        ),
    ),
    (
        &[
            "SchemaColumnConvertNotSupportedException",
            "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH]",
            "is not a Parquet file",
            "[FAILED_READ_FILE",
        ],
        code(
            "A file is not what the schema says: find it by its name in the message, rewrite it, or read it with the schema that it has.",
            "the input",
            "rewrite the file, or read it with its own schema",
        ),
    ),
    (
        &["Kryo serialization failed: Buffer overflow"],
        Known {
            text: "An object is larger than Kryo's buffer may become: let it grow, or make the object smaller.",
            subject: "the object",
            change: "smaller objects in RDDs and broadcasts",
            key: Some(("spark.kryoserializer.buffer.max", "512m")),
        },
    ),
    (
        &[
            "[_LEGACY_ERROR_TEMP_2251]",
            "Not enough memory to build and broadcast",
            "Cannot broadcast the table",
            "[_LEGACY_ERROR_TEMP_2249]",
        ],
        Known {
            text: "A side of a join is too large to be broadcast: let Spark join by a shuffle, and take the broadcast hint away.",
            subject: "the join",
            change: "no broadcast hint",
            key: Some(("spark.sql.autoBroadcastJoinThreshold", "-1")),
        },
    ),
    (
        &["Could not execute broadcast in", "spark.sql.broadcastTimeout"],
        Known {
            text: "A side of a join took too long to be collected for its broadcast: make it cheaper or cache it, or let Spark join by a shuffle.",
            subject: "the join",
            change: "a cheaper side to broadcast, or none",
            key: Some(("spark.sql.autoBroadcastJoinThreshold", "-1")),
        },
    ),
    (
        &["Task not serializable", "NotSerializableException", "PicklingError", "cannot pickle"],
        code(
            "A function holds something that cannot be sent to executors, as a connection or the session: make it inside the function, once a partition.",
            "the function",
            "make the object inside it (mapPartitions), not outside",
        ),
    ),
    (
        &[
            "429 Too Many Requests",
            "Too Many Requests",
            "SlowDown",
            "Rate exceeded",
            "503 Service Unavailable",
            "ThrottlingException",
        ],
        code(
            "A service refuses so many calls at a time: make fewer of them (fewer partitions, or a limit per executor), and wait longer after each refusal.",
            "the calls",
            "fewer at a time, with a pause that grows after each refusal",
        ),
    ),
    (
        &[
            "Connection refused",
            "SocketTimeoutException",
            "ConnectTimeoutException",
            "UnknownHostException",
            "Read timed out",
        ],
        code(
            "A service did not answer: see whether it can be reached from the executors, and repeat single calls in the function rather than whole tasks.",
            "the calls",
            "a timeout and a few repetitions for each",
        ),
    ),
];

/// What is known of an error, by what its message says.
pub(super) fn of(text: &str) -> Option<Known> {
    // The first lines say what happened; deeper ones name classes that have nothing to do with it.
    let said: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("at ") && !line.trim_start().starts_with("File \""))
        .collect::<Vec<_>>()
        .join("\n");
    KNOWN.iter().find(|(marks, _)| marks.iter().any(|mark| said.contains(mark))).map(|(_, known)| *known)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn messages_of_spark_and_of_services() {
        let cases = [
            (
                "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'x' of the type \"STRING\"",
                "try_cast",
            ),
            ("org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.", "try_divide"),
            ("java.io.IOException: Mkdirs failed to create file:/x\n\tat java.base/Foo", "may not write"),
            ("java.io.FileNotFoundException: File does not exist: /a/part-0.parquet", "Files went"),
            (
                "Traceback\n  File \"/jobs/a.py\", line 3, in f\nZeroDivisionError: division by zero",
                "in the function",
            ),
            ("requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url", "so many calls"),
            ("java.io.NotSerializableException: org.apache.spark.SparkContext", "cannot be sent"),
        ];
        for (error, advice) in cases {
            let known = of(error).map(|known| known.text).unwrap_or_default();
            assert!(known.contains(advice), "{error}: {known}");
        }
        for unknown in [
            "java.lang.IllegalStateException: no rates",
            // What only stands in a stack is not what happened.
            "java.lang.RuntimeException: boom\n\tat x.FileNotFoundExceptionHandler.run(A.java:1)",
        ] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
