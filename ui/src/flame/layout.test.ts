import { describe, expect, it } from "vitest";
import { box, change, type Graph, isInside, layout, pattern, visible, weightOf } from "./layout";

// all 10 ─ a 7 ─ b 5
//       └ b 3
const graph = {
  sum: 10, baseline_sum: null,
  nodes: { parent: [0, 0, 1, 0], frame: [0, 1, 2, 2], total: [10, 7, 5, 3], own: [0, 2, 5, 3], baseline_total: null, baseline_own: null },
} as unknown as Graph;

const shown = (zoom: number, pixels: number): number[] => {
  const nodes: number[] = [];
  visible(layout(graph), zoom, pixels, (node) => nodes.push(node));
  return nodes;
};

describe("the layout of a flame graph", () => {
  it("places nodes by their weight, one beside the other", () => {
    const of = layout(graph);
    expect([...of.left].map((one) => +one.toFixed(3))).toEqual([0, 0, 0, 0.7]);
    expect([...of.depth]).toEqual([0, 1, 2, 1]);
    expect([...of.end]).toEqual([4, 3, 3, 4]);
    expect([of.first[0], of.next[1], of.previous[3]]).toEqual([1, 3, 1]);
    expect(box(of, 1, 700, 2).w).toBeCloseTo(500);
    expect(box(of, 2, 700, 1)).toEqual({ x: 0, w: 700 });
    expect(isInside(of, 1, 2) && !isInside(of, 1, 3)).toBe(true);
  });
  it("leaves out what is too narrow to be seen", () => {
    expect(shown(0, 1000)).toEqual([0, 1, 2, 3]);
    expect(shown(2, 1000)).toEqual([1, 0, 2]);
    expect(shown(0, 0.5)).toEqual([0]);
  });
  it("counts a match once, however often a stack holds it", () => {
    const of = layout(graph);
    expect(weightOf(of, [false, false, true])).toBe(8);
    expect(weightOf(of, [false, true, true])).toBe(10);
  });
  it("compares shares, not weights", () => {
    const of = layout({ ...graph, baseline_sum: 100, nodes: { ...graph.nodes, baseline_total: [100, 70, 0, 30], baseline_own: [0, 70, 0, 30] } });
    expect(change(of, 1)).toBeCloseTo(0);
    expect(change(of, 2)).toBeCloseTo(0.5);
    expect([...of.width].map((one) => +one.toFixed(3))).toEqual([1, 0.7, 0.25, 0.3]);
  });
  it("takes what is no expression as text", () => {
    expect(pattern("hot(")?.test("a.Hot(")).toBe(true);
    expect(pattern("^a.*b$")?.test("a.x.b")).toBe(true);
    expect(pattern("")).toBeUndefined();
  });
});
