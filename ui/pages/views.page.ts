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

    it("shows what is no run's", async () => {
      expect(await faults(of, look, GENERAL)).toBe("");
    });
    it("shows every view of every run", { timeout: 400_000 }, async () => {
      // Another file's run comes and goes.
      const all = (await runs()).filter((run) => run.name !== "growing");
      expect(all.length).toBe(5);
      const found: string[] = [];
      for (const run of all) found.push(await faults(of, look, await views(run.id)));
      expect(found.filter(Boolean).join("\n")).toBe("");
    });
  });
}

afterAll(close);

/** What is wrong with views, all of it: the first fault is seldom the only one. */
async function faults(of: BrowserContext, look: Look, all: View[]): Promise<string> {
  const found: string[] = [];
  for (const view of all) {
    const { page, complaints } = await watched(of);
    await visit(page, view.hash);
    const say = (what: string) => found.push(`${view.name} (${view.hash}): ${what}`);
    complaints.filter((one) => !isExpected(view, one)).forEach(say);
    if ((await page.locator("main h1, main [role=alert], main .none").count()) === 0) say("shows nothing");
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (beyond > 0) say(`is ${beyond} px wider than ${look.width}`);
    if (await page.evaluate(() => "emberscopeWasFooled" in window)) say("ran a script of the log");
    const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]).analyze();
    for (const one of violations) {
      for (const node of one.nodes.slice(0, 3)) say(`${one.id}: ${node.target.join(" ")}: ${[...node.any, ...node.all, ...node.none].map((check) => check.message).join("; ")}`);
    }
    await page.close();
  }
  return found.join("\n");
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
