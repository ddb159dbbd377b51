import { describe, expect, it } from "vitest";
import { inkOn } from "./draw";
import { hit, lastAtMost, markText, marks, packed, Scale, type SpanLane, tops, within, zoomed } from "./layout";

const lane = (spans: [number, number, number][], more: Partial<SpanLane> = {}): SpanLane => ({
  key: "l",
  label: "l",
  rows: Math.max(...spans.map(([, , row]) => row), 0) + 1,
  rowHeight: 10,
  from: spans.map(([from]) => from),
  to: spans.map(([, to]) => to),
  row: spans.map(([, , row]) => row),
  colour: spans.map(() => 0),
  ...more,
});

describe("scale and marks", () => {
  it("goes there and back", () => {
    const scale = new Scale(1000, 3000, 50, 200);
    expect(scale.x(1000)).toBe(50);
    expect(scale.x(3000)).toBe(250);
    expect(scale.ms(scale.x(1234))).toBeCloseTo(1234);
  });
  it("gives round marks with room between them", () => {
    const scale = new Scale(0, 3_600_000, 0, 800);
    const at = marks(scale, 90);
    expect(at[0]).toBe(0);
    expect((at[1] ?? 0) * scale.perMs).toBeGreaterThanOrEqual(90);
    expect(at.every((ms) => ms % 600_000 === 0)).toBe(true);
    expect(marks(new Scale(0, 0, 0, 100), 90).length).toBeLessThan(3);
  });
  it("says marks in few letters", () => {
    const cases: [number, number, string][] = [[0, 1000, "0"], [350, 50, "350 ms"], [12_340, 20, "12.34 s"], [90_000, 30_000, "1:30"], [600_000, 300_000, "10 min"], [7_200_000, 3_600_000, "2 h"], [5_400_000, 1_800_000, "1 h 30"], [3_661_000, 1000, "1:01:01"]];
    for (const [ms, step, text] of cases) expect(markText(ms, step)).toBe(text);
  });
});

describe("rows", () => {
  it("uses as few as overlap", () => {
    const { row, rows } = packed([{ from: 0, to: 10 }, { from: 5, to: 8 }, { from: 8, to: 9 }, { from: 10, to: 12 }]);
    expect(row).toEqual([0, 1, 1, 0]);
    expect(rows).toBe(2);
  });
  it("shares the last row beyond the most", () => {
    const { row, rows } = packed(Array.from({ length: 5 }, () => ({ from: 0, to: 1 })), 2);
    expect(rows).toBe(2);
    expect(row).toEqual([0, 1, 1, 1, 1]);
  });
  it("has one row for nothing", () => expect(packed([])).toEqual({ row: [], rows: 1 }));
});

describe("hit", () => {
  const lanes = [lane([[0, 100, 0], [20, 30, 1], [40, 60, 1]]), lane([[10, 11, 0]])];
  const laneTops = tops(lanes);
  it("stacks lanes", () => expect(laneTops).toEqual([0, 26, 42]));
  it("finds the span of a row", () => {
    expect(hit(lanes, laneTops, 5, 50, 0)).toEqual({ lane: 0, kind: "span", index: 0 });
    expect(hit(lanes, laneTops, 15, 50, 0)).toEqual({ lane: 0, kind: "span", index: 2 });
    expect(hit(lanes, laneTops, 15, 35, 0)).toBeUndefined();
    expect(hit(lanes, laneTops, 23, 50, 0)).toBeUndefined();
    expect(hit(lanes, laneTops, 500, 50, 0)).toBeUndefined();
  });
  it("meets what is nearer than the slack", () => {
    expect(hit(lanes, laneTops, 30, 13, 3)).toEqual({ lane: 1, kind: "span", index: 0 });
    expect(hit(lanes, laneTops, 30, 20, 3)).toBeUndefined();
  });
  it("falls back to the density", () => {
    const dense = lane([], { density: { from: [0, 10], to: [10, 20], layers: [] } });
    expect(hit([dense], tops([dense]), 5, 12, 0)).toEqual({ lane: 0, kind: "density", index: 1 });
    expect(hit([dense], tops([dense]), 5, 25, 0)).toBeUndefined();
  });
  it("searches by halves", () => {
    expect(lastAtMost([1, 2, 2, 5], 2)).toBe(2);
    expect(lastAtMost([1, 2], 0)).toBe(-1);
    expect(lastAtMost([], 0)).toBe(-1);
  });
});

describe("ink", () => {
  it("reads on what it is written on", () => {
    expect(inkOn("#0f1216")).toBe("#ffffff");
    expect(inkOn("#fff")).toBe("#101418");
    expect(inkOn("#c9353c")).toBe("#ffffff");
    expect(inkOn("#dcd8d2")).toBe("#101418");
  });
});

describe("windows", () => {
  const whole = { from: 0, to: 1000 };
  it("zooms about a point and stays inside", () => {
    expect(zoomed(whole, whole, 0.5, 500)).toEqual({ from: 250, to: 750 });
    expect(zoomed({ from: 0, to: 100 }, whole, 100, 0)).toEqual(whole);
    const least = zoomed({ from: 0, to: 20 }, whole, 0.001, 10);
    expect(least.to - least.from).toBe(10);
  });
  it("shifts into the whole", () => {
    expect(within({ from: -50, to: 50 }, whole)).toEqual({ from: 0, to: 100 });
    expect(within({ from: 950, to: 1050 }, whole)).toEqual({ from: 900, to: 1000 });
  });
});
