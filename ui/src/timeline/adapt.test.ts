import { describe, expect, it } from "vitest";
import type { Timeline } from "../api/types";
import { hit, tops } from "../spans/layout";
import { adapt } from "./adapt";

const band = (spans: Timeline["sql"]["spans"]): Timeline["sql"] => ({ rows: spans.length > 0 ? 1 : 0, total: spans.length, spans, merged: [] });
const noSpan = { attempt: null, running_ms: null, row: 0, status: "succeeded", sql_id: null, job_id: null };

function timeline(more: Partial<Timeline> = {}): Timeline {
  return {
    start_time_ms: 0, duration_ms: 1000, from_ms: 0, to_ms: 1000, ms_per_px: 1, whole_from_ms: 1, lane_kind: "executors", lanes_total: 1, lanes_offset: 0, attempts: 1,
    part_keys: ["cpu", "other", "fetch_wait", "shuffle_write", "gc", "deserialize", "result_handling"],
    statuses: ["success", "failed", "killed", "running", "resubmitted"],
    sql: band([]), jobs: band([]),
    stages: band([{ ...noSpan, id: 3, attempt: 1, label: "count", from_ms: 100, running_ms: 300, to_ms: 900, status: "complete" }]),
    lanes: [{
      name: "executor 1", executor_id: "1", host: "a", stage_id: null, stage_attempt: null, cores: 2, from_ms: 0, to_ms: null, rows: 2,
      tasks: { task_id: [7], stage_id: [3], stage_attempt: [1], from_ms: [300], to_ms: [800], row: [1], status: [0], is_counted: [true], parts: [[300, 0, 100, 0, 0, 100, 0]] },
      density: { piece_ms: 100, from_ms: [0], attempts: [4], unsuccessful: [1], busy: [1], parts: [[50, 0, 0, 0, 50, 0, 0]] },
    }],
    ...more,
  };
}

describe("the timeline as lanes", () => {
  it("has a lane for each band that has spans, then the executors", () => {
    const { lanes, stops } = adapt(timeline(), "part", 1);
    expect(lanes.map((lane) => lane.label)).toEqual(["Stages", "exec 1"]);
    // Waiting and running of a stage are two rectangles and one stop.
    expect(Array.from(lanes[0]?.from ?? [])).toEqual([100, 300]);
    expect(stops).toHaveLength(1);
  });
  it("divides a wide task by its parts, which fill it exactly", () => {
    const { lanes, meaning } = adapt(timeline(), "part", 1);
    const lane = lanes[1];
    const ends = Array.from(lane?.to ?? []);
    expect(Array.from(lane?.from ?? [])).toEqual([300, 400, 500]);
    expect(ends).toEqual([400, 500, 800]);
    expect(meaning({ lane: 1, kind: "span", index: 2 })).toEqual({ kind: "task", lane: 0, index: 0 });
  });
  it("gives a narrow task the colour of its largest part", () => {
    const { lanes, palette } = adapt(timeline(), "part", 100);
    expect(lanes[1]?.from.length).toBe(1);
    expect(palette[lanes[1]?.colour[0] ?? -1]).toBe("--c-cpu");
  });
  it("stacks densities up to what was busy", () => {
    const { lanes } = adapt(timeline(), "part", 1);
    const layers = lanes[1]?.density?.layers ?? [];
    expect(layers.reduce((sum, layer) => sum + (layer.share[0] ?? 0), 0)).toBeCloseTo(0.5);
    const byStatus = adapt(timeline(), "status", 1).lanes[1]?.density?.layers ?? [];
    expect(byStatus.map((layer) => layer.share[0])).toEqual([0.125, 0.375]);
  });
  it("finds what lies under a point", () => {
    const { lanes, meaning } = adapt(timeline(), "part", 1);
    const laneTops = tops(lanes);
    const inTask = (laneTops[1] ?? 0) + (lanes[1]?.rowHeight ?? 0) * 1.5;
    const found = hit(lanes, laneTops, inTask, 450, 0);
    expect(found && meaning(found)).toEqual({ kind: "task", lane: 0, index: 0 });
    const free = hit(lanes, laneTops, (laneTops[1] ?? 0) + 1, 50, 0);
    expect(free && meaning(free)).toEqual({ kind: "density", lane: 0, index: 0 });
  });
});
