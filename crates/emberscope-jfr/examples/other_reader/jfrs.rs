//! A recording by another reader.

use jfrs::reader::event::Accessor;
use jfrs::reader::value_descriptor::{Primitive, ValueDescriptor};
use jfrs::reader::{Chunk, JfrReader, Result};
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

/// What it finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Events by type.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Weight by stack of one type of events: methods from the root on with `;` between, each after its class and `#`.
    pub(crate) stacks: HashMap<String, i64>,
}

/// Reads all events; one of `event` weighs its number of samples, or 1.
pub(crate) fn read(file: impl Read + Seek, event: &str) -> Result<Found> {
    let mut found = Found::default();
    let mut reader = JfrReader::new(file);
    for chunk in reader.chunks() {
        let (mut reader, chunk) = chunk?;
        // Each stack is looked up once: it is the way in which this reader is fastest.
        let mut by_key: HashMap<i64, i64> = HashMap::new();
        let mut counts: HashMap<i64, (String, u64)> = HashMap::new();
        for one in reader.events(&chunk) {
            let one = one?;
            let name = || (one.class.name().to_owned(), 0);
            counts.entry(one.class.class_id).or_insert_with(name).1 += 1;
            if one.class.name() == event {
                let value = one.value();
                let weight = value.get_field("samples").as_ref().and_then(integer).unwrap_or(1);
                *by_key.entry(key(&value)).or_default() += weight;
            }
        }
        for (name, count) in counts.into_values() {
            *found.counts.entry(name).or_default() += count;
        }
        for (key, weight) in by_key {
            *found.stacks.entry(stack(&chunk, key)).or_default() += weight;
        }
    }
    Ok(found)
}

fn integer(value: &Accessor<'_>) -> Option<i64> {
    match value.value {
        ValueDescriptor::Primitive(Primitive::Integer(number)) => Some(i64::from(*number)),
        ValueDescriptor::Primitive(Primitive::Long(number)) => Some(*number),
        _ => None,
    }
}

/// The class and the key of an event's stack: they are the same for all events of a chunk that have it.
fn key(event: &Accessor<'_>) -> i64 {
    match event.get_field_raw("stackTrace").map(|stack| stack.value) {
        Some(ValueDescriptor::ConstantPool { constant_index, .. }) => *constant_index,
        _ => 0,
    }
}

fn stack(chunk: &Chunk, key: i64) -> String {
    let class = chunk.metadata.type_pool.get_types().find(|class| class.name() == "jdk.types.StackTrace");
    let value = ValueDescriptor::ConstantPool {
        class_id: class.map_or(0, |class| class.class_id),
        constant_index: key,
    };
    let frames = Accessor::new(chunk, &value).get_field("frames").and_then(Accessor::as_iter);
    let mut names: Vec<String> = frames
        .into_iter()
        .flatten()
        .map(|frame| {
            let method = frame.get_field("method");
            let text = |of: Option<Accessor<'_>>| {
                let symbol = of.and_then(|of| of.get_field("name")).and_then(|name| name.get_field("string"));
                symbol
                    .and_then(|text| <&str>::try_from(text.value).ok().map(str::to_owned))
                    .unwrap_or_default()
            };
            let class = method.as_ref().and_then(|method| method.get_field("type"));
            format!("{}#{}", text(class), text(method))
        })
        .collect();
    names.reverse();
    names.join(";")
}
