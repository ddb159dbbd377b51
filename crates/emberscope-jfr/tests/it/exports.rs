//! Forms for other programs, read back.

use crate::laws::opened;
use crate::made::recording;
use emberscope_jfr::export::{Caption, pprof};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Request, fold};
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeMap;
use std::io::Read;

/// A field of a message: a number, or bytes.
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn variable(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn message(bytes: &[u8]) -> Vec<(u64, Field)> {
    let (mut at, mut fields) = (0, Vec::new());
    while at < bytes.len() {
        let key = variable(bytes, &mut at);
        let field = match key & 7 {
            0 => Field::Number(variable(bytes, &mut at)),
            2 => {
                let length = variable(bytes, &mut at) as usize;
                at += length;
                Field::Bytes(bytes[at - length..at].to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn packed(bytes: &[u8]) -> Vec<u64> {
    let (mut at, mut values) = (0, Vec::new());
    while at < bytes.len() {
        values.push(variable(bytes, &mut at));
    }
    values
}

fn number(fields: &[(u64, Field)], wanted: u64) -> u64 {
    let found = fields.iter().find_map(|(id, field)| match field {
        Field::Number(number) if *id == wanted => Some(*number),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn pprof_tells_stacks_leaf_first() {
    let request = Request::all(FlameEvent::Wall);
    let profile = fold(&opened("x", &recording(true)), &request, &TaskTable::default()).unwrap();
    let caption =
        Caption { event: FlameEvent::Wall, title: "a title".to_owned(), times_ns: profile.times_ns };
    let mut gzip = Vec::new();
    pprof(&View::of(&profile, ViewLimits::NONE), &caption, &mut gzip).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(gzip.as_slice()).read_to_end(&mut bytes).unwrap();
    let fields = message(&bytes);
    let of = |wanted: u64| {
        fields.iter().filter_map(move |(id, field)| match field {
            Field::Bytes(bytes) if *id == wanted => Some(bytes.as_slice()),
            _ => None,
        })
    };
    let strings: Vec<&str> = of(6).map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
    assert_eq!(strings[0], "");
    let kind = message(of(1).next().unwrap());
    assert_eq!(strings[number(&kind, 1) as usize], "wall");
    assert_eq!(strings[number(&kind, 2) as usize], "count");
    let functions: BTreeMap<u64, &str> = of(5)
        .map(|bytes| {
            let function = message(bytes);
            (number(&function, 1), strings[number(&function, 2) as usize])
        })
        .collect();
    let locations: BTreeMap<u64, &str> = of(4)
        .map(|bytes| {
            let location = message(bytes);
            let line = location.iter().find_map(|(id, field)| match field {
                Field::Bytes(bytes) if *id == 4 => Some(message(bytes)),
                _ => None,
            });
            (number(&location, 1), functions[&number(&line.unwrap(), 1)])
        })
        .collect();
    let mut samples: Vec<(Vec<&str>, u64)> = of(2)
        .map(|bytes| {
            let lists: Vec<Vec<u64>> = message(bytes)
                .iter()
                .map(|(_, field)| match field {
                    Field::Bytes(bytes) => packed(bytes),
                    Field::Number(number) => vec![*number],
                })
                .collect();
            (lists[0].iter().map(|id| locations[id]).collect(), lists[1][0])
        })
        .collect();
    samples.sort();
    assert_eq!(
        samples,
        [(vec!["leaf", "leaf", "root"], 50), (vec!["leaf", "root"], 40), (vec!["other", "root"], 10)]
    );
}
