import { describe, expect, it } from "vitest";
import { curve, place } from "./layout";

const box = (id: number, cluster?: number) => ({ id, width: 150, height: 44, cluster });
const overlap = (a: { x: number; y: number; width: number; height: number }, b: typeof a): boolean =>
  Math.abs(a.x - b.x) * 2 < a.width + b.width && Math.abs(a.y - b.y) * 2 < a.height + b.height;

describe("a plan's layout", () => {
  it("lets rows flow downward and boxes apart", () => {
    // A join of two scans, with a filter on one side.
    const placed = place([box(0), box(1), box(2), box(3)], [{ from: 3, to: 1 }, { from: 1, to: 0 }, { from: 2, to: 0 }], []);
    const y = (id: number) => placed.boxes.find((one) => one.id === id)?.y ?? NaN;
    expect(y(3)).toBeLessThan(y(1));
    expect(y(1)).toBeLessThan(y(0));
    placed.boxes.forEach((one, n) => placed.boxes.slice(n + 1).forEach((other) => expect(overlap(one, other)).toBe(false)));
    expect(placed.edges).toHaveLength(3);
  });
  it("keeps clusters around their boxes", () => {
    const placed = place([box(1, 9), box(2, 9), box(3)], [{ from: 2, to: 1 }, { from: 3, to: 2 }], [9]);
    const cluster = placed.clusters[0];
    expect(cluster).toBeDefined();
    for (const one of placed.boxes.filter((one) => one.id !== 3)) {
      expect(Math.abs(one.x - (cluster?.x ?? 0)) + one.width / 2).toBeLessThanOrEqual((cluster?.width ?? 0) / 2 + 0.01);
      expect(Math.abs(one.y - (cluster?.y ?? 0)) + one.height / 2).toBeLessThanOrEqual((cluster?.height ?? 0) / 2 + 0.01);
    }
  });
  it("does without what is not there", () => {
    expect(place([], [], [])).toMatchObject({ boxes: [], edges: [], clusters: [] });
    expect(place([box(1)], [{ from: 7, to: 1 }], [4]).edges).toEqual([]);
  });
  it("lays out a long plan in a moment", () => {
    const boxes = Array.from({ length: 400 }, (_, n) => box(n, n % 10 === 0 ? undefined : 1000 + Math.floor(n / 10)));
    const flows = boxes.slice(1).map(({ id }) => ({ from: id, to: id - 1 }));
    const placed = place(boxes, flows, Array.from({ length: 40 }, (_, n) => 1000 + n));
    expect(placed.boxes.every((one) => Number.isFinite(one.x) && Number.isFinite(one.y))).toBe(true);
  });
  it("draws lines through points", () => {
    expect(curve([])).toBe("");
    expect(curve([{ x: 0, y: 0 }, { x: 0, y: 10 }, { x: 5, y: 20 }])).toBe("M0,0 Q0,10 2.5,15 L5,20");
  });
});
