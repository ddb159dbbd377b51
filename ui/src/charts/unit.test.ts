import { describe, expect, it } from "vitest";
import { axisMarks, shown } from "./unit";

describe("axis marks", () => {
  it("are round", () => {
    expect(axisMarks(0, 100, "records", false, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(axisMarks(0, 4096, "bytes", false, 4)).toEqual([0, 1024, 2048, 3072, 4096]);
    expect(axisMarks(1, 10_000, "records", true, 5)).toEqual([1, 10, 100, 1000, 10_000]);
    expect(axisMarks(5, 5, "records", false, 5)).toEqual([5]);
  });
  it("are few", () => {
    for (const high of [7, 33, 1234, 9e12]) expect(axisMarks(0, high, "milliseconds", false, 5).length).toBeLessThanOrEqual(7);
  });
});

describe("values", () => {
  it("have their units", () => {
    expect(shown("bytes", 2048)).toBe("2.0 KiB");
    expect(shown("nanoseconds", 2.5e9)).toBe("2.5 s");
    expect(shown("records", 12_345)).toBe("12,345");
    expect(shown("average", 1.25)).toBe("1.3");
  });
});
