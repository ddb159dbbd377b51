import AxeBuilder from "@axe-core/playwright";
import type { BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { close, context, type Look, NARROW, visit, watched, WIDE } from "./browser";
import { MARKUP } from "./hostile";
import { runs, type View, views } from "./views";

const GENERAL: View[] = [
  { name: "runs", hash: "#/" },
  { name: "no such run", hash: "#/run/none" },
  { name: "nothing there", hash: "#/nowhere" },
  { name: "reference", hash: "#/reference/SKEW" },
];

/** The wrong run is asked for on purpose: the browser itself notes that the answer was an error. */
const isExpected = (view: View, complaint: string): boolean => view.name === "no such run" && complaint.includes("404");

for (const look of [WIDE, NARROW]) {
  describe(`${look.theme}, ${look.width} px`, () => {
    let of: BrowserContext;
    beforeAll(async () => {
      of = await context(look);
    });
    afterAll(async () => {
      await of.close();
    });

    it("shows what is no run's", () => shows(of, look, GENERAL));
    it("shows every view of every run", { timeout: 400_000 }, async () => {
      const all = await runs();
      expect(all.length).toBe(4);
      for (const run of all) await shows(of, look, await views(run.id));
    });
  });
}

afterAll(close);

async function shows(of: BrowserContext, look: Look, all: View[]): Promise<void> {
  for (const view of all) {
    const { page, complaints } = await watched(of);
    await visit(page, view.hash);
    const where = `${view.name} (${view.hash})`;
    expect(complaints.filter((one) => !isExpected(view, one)), where).toEqual([]);
    expect(await page.locator("main h1, main [role=alert], main .none").count(), `${where} shows something`).toBeGreaterThan(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), `${where} is wider than ${look.width}`).toBeLessThanOrEqual(0);
    expect(await page.evaluate(() => "emberscopeWasFooled" in window), `${where} ran a script of the log`).toBe(false);
    const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]).analyze();
    const told = violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${node.any.map((any) => any.message).join("; ")}`).join(" | ")}`);
    expect(told, where).toEqual([]);
    await page.close();
  }
}

describe("a log whose names are markup", () => {
  it("shows them as text", async () => {
    const hostile = (await runs()).find((run) => run.name?.includes(MARKUP));
    expect(hostile).toBeDefined();
    const of = await context(WIDE);
    const { page } = await watched(of);
    await visit(page, `#/run/${hostile?.id}`);
    expect(await page.locator("h1").first().textContent()).toContain(MARKUP);
    expect(await page.locator("main img, main script").count()).toBe(0);
    await of.close();
  });
});
