//! Plan versions in the blob store: written when an event arrives, read on demand.

use emberscope_log::event::plan::{MetricKind, PlanMetric, PlanNode, PlanTree, Span};

/// Writes a tree as bytes.
pub(crate) fn encode(tree: &PlanTree) -> Vec<u8> {
    let mut out = Vec::with_capacity(tree.text.len() + tree.nodes.len() * 12 + tree.metrics.len() * 8);
    push(&mut out, tree.nodes.len() as u64);
    for (index, node) in tree.nodes.iter().enumerate() {
        // Distance to the parent; 0 for the root.
        push(&mut out, node.parent.map_or(0, |parent| index as u64 - u64::from(parent)));
        for span in [node.name, node.simple_string, node.metadata] {
            push(&mut out, u64::from(span.start));
            push(&mut out, u64::from(span.len));
        }
    }
    push(&mut out, tree.metrics.len() as u64);
    for metric in &tree.metrics {
        push(&mut out, u64::from(metric.node));
        push(&mut out, u64::from(metric.name.start));
        push(&mut out, u64::from(metric.name.len));
        push(&mut out, metric.kind as u64);
        push(&mut out, metric.accumulator_id);
    }
    out.extend_from_slice(tree.text.as_bytes());
    out
}

/// Reads what [`encode`] wrote; `None` on anything else.
pub(crate) fn decode(bytes: &[u8]) -> Option<PlanTree> {
    let mut at = 0;
    let n_nodes = pull(bytes, &mut at)?;
    let mut nodes = Vec::new();
    for index in 0..n_nodes {
        let distance = pull(bytes, &mut at)?;
        let parent =
            if distance == 0 { None } else { Some(u32::try_from(index.checked_sub(distance)?).ok()?) };
        let mut span = || -> Option<Span> {
            Some(Span { start: pull32(bytes, &mut at)?, len: pull32(bytes, &mut at)? })
        };
        nodes.push(PlanNode { name: span()?, simple_string: span()?, metadata: span()?, parent });
    }
    let n_metrics = pull(bytes, &mut at)?;
    let mut metrics = Vec::new();
    for _ in 0..n_metrics {
        metrics.push(PlanMetric {
            node: pull32(bytes, &mut at)?,
            name: Span { start: pull32(bytes, &mut at)?, len: pull32(bytes, &mut at)? },
            kind: MetricKind::from_code(u8::try_from(pull(bytes, &mut at)?).ok()?),
            accumulator_id: pull(bytes, &mut at)?,
        });
    }
    let text = std::str::from_utf8(bytes.get(at..)?).ok()?.to_owned();
    Some(PlanTree { nodes, metrics, text })
}

fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn pull(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn pull32(bytes: &[u8], at: &mut usize) -> Option<u32> {
    u32::try_from(pull(bytes, at)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use emberscope_log::event::plan::plan_with_serde;

    #[test]
    fn a_plan_survives() {
        let json = r#"{"nodeName":"A","simpleString":"a","children":[{"nodeName":"B","simpleString":"é",
            "children":[],"metrics":[{"name":"m","accumulatorId":99999999999,"metricType":"size"}]}],
            "metadata":{"x":"y"},"metrics":[{"name":"m","accumulatorId":1,"metricType":"sum"}]}"#;
        let tree = plan_with_serde(json.as_bytes()).unwrap();
        let bytes = encode(&tree);
        assert_eq!(decode(&bytes), Some(tree));
        for cut in 0..bytes.len() {
            let _ = decode(&bytes[..cut]);
        }
    }
}
