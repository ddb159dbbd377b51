//! How records of each type are read: the fields that are wanted are kept, the others passed over.

use crate::metadata::Types;
use crate::wire::{Cursor, Malformed, Result, Text};
use rustc_hash::FxHashMap;

/// Structures stand in one another; those of the JDK are three deep.
const MOST_DEPTH: u32 = 16;

/// Makes [`Slot`] and its names. A name means the same in every type that has it.
macro_rules! slots {
    ($($slot:ident = $($name:literal)|+,)+) => {
        /// A field that is kept.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Slot { $($slot,)+ }

        impl Slot {
            pub(crate) const ALL: &[Slot] = &[$(Slot::$slot,)+];

            /// The slot of a field.
            pub(crate) fn of(name: &str) -> Option<Slot> {
                match name { $($($name)|+ => Some(Slot::$slot),)+ _ => None }
            }
        }
    };
}

slots! {
    StartTime = "startTime",
    Duration = "duration",
    EventThread = "eventThread" | "sampledThread",
    StackTrace = "stackTrace",
    State = "state",
    Samples = "samples",
    TimeSpan = "timeSpan",
    Weight = "weight",
    AllocationSize = "allocationSize",
    TlabSize = "tlabSize",
    ObjectClass = "objectClass",
    LockClass = "monitorClass" | "parkedClass",
    Address = "address",
    Size = "size",
    Tag = "tag",
    TaskId = "taskId",
    StageId = "stageId",
    StageAttemptId = "stageAttemptId",
    PartitionId = "partitionId",
    JvmUser = "jvmUser",
    JvmSystem = "jvmSystem",
    MachineTotal = "machineTotal",
    SumOfPauses = "sumOfPauses",
    Name = "name",
    Value = "value",
    JvmArguments = "jvmArguments",
    Type = "type",
    String = "string",
    OsName = "osName",
    OsThreadId = "osThreadId",
    JavaName = "javaName",
    JavaThreadId = "javaThreadId",
    Description = "description",
    Truncated = "truncated",
    Frames = "frames",
    Method = "method",
}

const SLOTS: usize = Slot::ALL.len();

/// The fields of one record that are kept.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    numbers: [i64; SLOTS],
    present: u64,
    texts: Vec<(Slot, Text<'a>)>,
}

impl<'a> Row<'a> {
    pub(crate) fn new() -> Self {
        Row { numbers: [0; SLOTS], present: 0, texts: Vec::new() }
    }

    /// A number, a key or a truth value; 0 where the record has none.
    #[inline]
    pub(crate) fn number(&self, slot: Slot) -> i64 {
        self.numbers[slot as usize]
    }

    /// As [`Row::number`], where it matters whether the type has the field.
    #[inline]
    pub(crate) fn present(&self, slot: Slot) -> Option<i64> {
        (self.present >> slot as u32 & 1 == 1).then(|| self.number(slot))
    }

    /// A fraction.
    pub(crate) fn fraction(&self, slot: Slot) -> f64 {
        f64::from_bits(self.number(slot) as u64)
    }

    /// A text: as it stands in the record, or by its key.
    pub(crate) fn text(&self, slot: Slot) -> Text<'a> {
        match self.texts.iter().find(|(of, _)| *of == slot) {
            Some((_, text)) => text.clone(),
            None => self.present(slot).map_or(Text::Null, |key| Text::Key(key as u64)),
        }
    }

    #[inline]
    fn set(&mut self, slot: Slot, value: i64) {
        self.numbers[slot as usize] = value;
        self.present |= 1 << slot as u32;
    }
}

/// A frame of a stack: keys of pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RawFrame {
    pub(crate) method: u64,
    /// Key of the frame's type: compiled, inlined, native, and so on.
    pub(crate) kind: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Long,
    Int,
    Short,
    Char,
    Byte,
    Float,
    Double,
    Text,
    Struct(u32),
    /// Of a type that the metadata lacks.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    wire: Wire,
    is_array: bool,
    slot: Option<Slot>,
}

/// The layouts of all types of a chunk.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    by_class: FxHashMap<u64, u32>,
    steps: Vec<Box<[Step]>>,
}

/// What a record may cost to read: a hostile type can make many values of no bytes.
struct Fuel(usize);

impl Fuel {
    fn burn(&mut self) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or(Malformed("a record has more values than bytes"))?;
        Ok(())
    }
}

impl Layouts {
    pub(crate) fn compile(types: &Types) -> Layouts {
        let mut layouts = Layouts::default();
        let ids: Vec<u64> = types.classes.keys().copied().collect();
        layouts.by_class.extend(ids.iter().enumerate().map(|(at, id)| (*id, at as u32)));
        for id in &ids {
            let fields = types.classes.get(id).map(|class| class.fields.as_slice()).unwrap_or_default();
            let steps = fields.iter().map(|field| Step {
                wire: match field.is_reference {
                    true => Wire::Long,
                    false => layouts.wire(types, field.class),
                },
                is_array: field.is_array,
                slot: Slot::of(&field.name),
            });
            let steps = steps.collect();
            layouts.steps.push(steps);
        }
        layouts
    }

    fn wire(&self, types: &Types, class: u64) -> Wire {
        let Some(known) = types.classes.get(&class) else { return Wire::Unknown };
        match known.name.as_str() {
            "long" => Wire::Long,
            "int" => Wire::Int,
            "short" => Wire::Short,
            "char" => Wire::Char,
            "byte" | "boolean" => Wire::Byte,
            "float" => Wire::Float,
            "double" => Wire::Double,
            "java.lang.String" => Wire::Text,
            _ => self.by_class.get(&class).map_or(Wire::Unknown, |at| Wire::Struct(*at)),
        }
    }

    /// The layout of a type.
    pub(crate) fn of(&self, class: u64) -> Option<u32> {
        self.by_class.get(&class).copied()
    }

    /// Reads a value of a structured type; frames of a stack are added to `frames`.
    pub(crate) fn read<'a>(
        &self,
        layout: u32,
        cursor: &mut Cursor<'a>,
        row: &mut Row<'a>,
        frames: &mut Vec<RawFrame>,
    ) -> Result<()> {
        let mut fuel = Fuel(cursor.rest().saturating_mul(4) + 256);
        for step in &self.steps[layout as usize] {
            match (step.slot, step.is_array) {
                (Some(Slot::Frames), true) => self.frames(*step, cursor, frames, &mut fuel)?,
                (Some(slot), false) => self.keep(step.wire, slot, cursor, row, &mut fuel)?,
                _ => self.skip(*step, cursor, &mut fuel, 0)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn keep<'a>(
        &self,
        wire: Wire,
        slot: Slot,
        cursor: &mut Cursor<'a>,
        row: &mut Row<'a>,
        fuel: &mut Fuel,
    ) -> Result<()> {
        let value = match wire {
            Wire::Long => cursor.long()?,
            Wire::Int => cursor.int()?,
            Wire::Short => cursor.short()?,
            Wire::Char => i64::from(cursor.character()?),
            Wire::Byte => i64::from(cursor.byte()?),
            Wire::Float => cursor.float()?.to_bits() as i64,
            Wire::Double => cursor.double()?.to_bits() as i64,
            Wire::Text => {
                row.texts.push((slot, cursor.text()?));
                return Ok(());
            }
            Wire::Struct(_) | Wire::Unknown => return self.skip_one(wire, cursor, fuel, 0),
        };
        row.set(slot, value);
        Ok(())
    }

    fn frames(
        &self,
        step: Step,
        cursor: &mut Cursor<'_>,
        frames: &mut Vec<RawFrame>,
        fuel: &mut Fuel,
    ) -> Result<()> {
        let Wire::Struct(layout) = step.wire else { return self.skip(step, cursor, fuel, 0) };
        for _ in 0..cursor.count(0)? {
            fuel.burn()?;
            let mut frame = RawFrame::default();
            for step in &self.steps[layout as usize] {
                match (step.slot, step.wire) {
                    (Some(Slot::Method), Wire::Long) => frame.method = cursor.long()? as u64,
                    (Some(Slot::Type), Wire::Long) => frame.kind = cursor.long()? as u64,
                    _ => self.skip(*step, cursor, fuel, 1)?,
                }
            }
            frames.push(frame);
        }
        Ok(())
    }

    fn skip(&self, step: Step, cursor: &mut Cursor<'_>, fuel: &mut Fuel, depth: u32) -> Result<()> {
        let count = if step.is_array { cursor.count(0)? } else { 1 };
        for _ in 0..count {
            self.skip_one(step.wire, cursor, fuel, depth)?;
        }
        Ok(())
    }

    fn skip_one(&self, wire: Wire, cursor: &mut Cursor<'_>, fuel: &mut Fuel, depth: u32) -> Result<()> {
        fuel.burn()?;
        match wire {
            Wire::Long => _ = cursor.long()?,
            Wire::Int => _ = cursor.int()?,
            Wire::Short => _ = cursor.short()?,
            Wire::Char => _ = cursor.character()?,
            Wire::Byte => _ = cursor.byte()?,
            Wire::Float => _ = cursor.float()?,
            Wire::Double => _ = cursor.double()?,
            Wire::Text => cursor.skip_text()?,
            Wire::Unknown => return Err(Malformed("a value has a type that the metadata lacks")),
            Wire::Struct(_) if depth > MOST_DEPTH => {
                return Err(Malformed("a type is nested too deep"));
            }
            Wire::Struct(layout) => {
                for step in &self.steps[layout as usize] {
                    self.skip(*step, cursor, fuel, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Class, Field};

    fn class(name: &str, fields: &[(&str, u64, bool)]) -> Class {
        let field = |(name, class, is_array): &(&str, u64, bool)| Field {
            name: (*name).to_owned(),
            class: *class,
            is_reference: false,
            is_array: *is_array,
        };
        Class { name: name.to_owned(), is_event: true, fields: fields.iter().map(field).collect() }
    }

    fn read(types: &Types, class: u64, bytes: &[u8]) -> Result<(i64, Option<i64>)> {
        let layouts = Layouts::compile(types);
        let mut row = Row::new();
        layouts.read(layouts.of(class).unwrap(), &mut Cursor::new(bytes, true), &mut row, &mut Vec::new())?;
        Ok((row.number(Slot::Size), row.present(Slot::Weight)))
    }

    #[test]
    fn slots_fit_their_mask() {
        const { assert!(SLOTS <= 64) };
        assert!(Slot::ALL.iter().enumerate().all(|(at, slot)| *slot as usize == at));
    }

    #[test]
    fn unwanted_fields_are_passed_over() {
        let mut types = Types::default();
        types.classes.insert(1, class("long", &[]));
        types.classes.insert(2, class("pair", &[("a", 1, false), ("b", 1, true)]));
        types.classes.insert(3, class("event", &[("x", 2, true), ("size", 1, false)]));
        // Two pairs: (1, [2, 3]) and (4, []), then the size.
        assert_eq!(read(&types, 3, &[2, 1, 2, 2, 3, 4, 0, 77]), Ok((77, None)));
        assert!(read(&types, 3, &[2, 1]).is_err());
    }

    #[test]
    fn types_without_bytes_and_without_end_stop() {
        let mut types = Types::default();
        types.classes.insert(1, class("nothing", &[]));
        types.classes.insert(2, class("many", &[("x", 1, true)]));
        types.classes.insert(3, class("itself", &[("x", 3, false), ("y", 3, false)]));
        types.classes.insert(4, class("lost", &[("x", 99, false)]));
        assert!(read(&types, 2, &[0xff, 0xff, 0xff, 0xff, 0x07]).is_err());
        assert!(read(&types, 3, &[1, 2, 3]).is_err());
        assert!(read(&types, 4, &[1, 2, 3]).is_err());
    }
}
