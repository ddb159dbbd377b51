import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask, close, context, settled, visit, watched, WIDE } from "./browser";
import { runs } from "./views";

describe("with the keyboard alone", () => {
  let of: BrowserContext;
  let page: Page;
  let run: string;

  beforeAll(async () => {
    of = await context(WIDE);
    run = (await runs()).find((one) => one.name?.startsWith("sql"))?.id ?? "";
    expect(run).not.toBe("");
  });
  beforeEach(async () => {
    await page?.close();
    page = (await watched(of)).page;
  });
  afterAll(async () => {
    await of.close();
    await close();
  });

  const hash = (): string => new URL(page.url()).hash;
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "");

  it("finds a run, and opens it", async () => {
    await visit(page, "#/");
    await press("/");
    await page.keyboard.type("sql");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await press("ArrowDown", "Enter");
    await page.waitForSelector(".verdict");
    expect(hash()).toBe(`#/run/${run}`);
  });

  it("goes from view to view, and shows the keys", async () => {
    await visit(page, `#/run/${run}`);
    for (const [key, view] of [["t", "timeline"], ["q", "sql"], ["s", "stages"], ["j", "jobs"], ["e", "executors"], ["f", "flame"], ["m", "storage"], ["c", "console"]] as const) {
      await page.locator("main").focus();
      await press("g", key);
      await page.waitForFunction((to) => location.hash.endsWith(`/${to}`), view);
      await settled(page);
    }
    await page.locator("main").focus();
    await press("?");
    expect(await page.locator("dialog[open]").textContent()).toContain("Timeline");
    await press("Escape");
    expect(await page.locator("dialog[open]").count()).toBe(0);
    await press("g", "r");
    await page.waitForFunction(() => location.hash === "#/");
  });

  it("skips what stands before the content, and never loses the focus", async () => {
    await visit(page, `#/run/${run}`);
    await press("Tab");
    expect(await focused()).toBe("To the content");
    await press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
    for (let n = 0; n < 40; n += 1) {
      await press("Tab");
      expect(await page.evaluate(() => document.activeElement !== null)).toBe(true);
    }
  });

  it("zooms and pans the timeline, steps over its spans and opens one", async () => {
    await visit(page, `#/run/${run}/timeline`);
    const view = page.locator("[role=application]");
    await view.focus();
    await press("+", "+");
    await page.waitForFunction(() => location.hash.includes("from="));
    const before = hash();
    await press("ArrowRight");
    await page.waitForFunction((was) => location.hash !== was, before);
    await press("0");
    await page.waitForFunction(() => !location.hash.includes("from="));
    await press("ArrowDown");
    await page.waitForSelector(".tip");
    expect(await page.locator(".tip").textContent()).toMatch(/SQL|Job|Stage/);
    await press("Enter");
    await page.waitForFunction(() => /\/(sql|stages|jobs)/.test(location.hash));
  });

  it("opens an operator of a plan", async () => {
    const { executions } = await ask<{ executions: { id: number; plan_nodes: number }[] }>(`/runs/${run}/sql`);
    const largest = [...executions].sort((a, b) => b.plan_nodes - a.plan_nodes)[0];
    await visit(page, `#/run/${run}/sql/${largest?.id}`);
    await page.locator(".frame").focus();
    await press("Tab", "Enter");
    await page.waitForSelector("aside[aria-label^=Operator]");
    expect(hash()).toContain("node=");
    await press("Escape");
    await page.waitForFunction(() => !location.hash.includes("node="));
  });

  it("walks through the task table and sorts it", async () => {
    const { stages } = await ask<{ stages: { id: number; attempt: number }[] }>(`/runs/${run}/stages`);
    await visit(page, `#/run/${run}/stages/${stages[0]?.id}.${stages[0]?.attempt}`);
    await page.locator("[role=grid]").focus();
    await press("ArrowRight", "ArrowRight");
    expect(await page.locator("[role=grid]").getAttribute("aria-activedescendant")).toBe("t0-2");
    const first = await page.locator("#t0-0").textContent();
    await press("Enter");
    expect(await page.locator("section[aria-label^='Task '] b").textContent()).toBe(`Task ${first?.trim()}`);
    await press("Enter");
    expect(await page.locator("section[aria-label^='Task ']").count()).toBe(0);
    await page.locator("[role=columnheader] button", { hasText: "task" }).first().click();
    await page.waitForFunction((was) => document.querySelector("#t0-0")?.textContent !== was || location.hash.includes("tasksort"), first);
    expect(hash()).toContain("tasksort=");
  });

  it("follows the link of a row, as a click anywhere in it does", async () => {
    await visit(page, `#/run/${run}/jobs`);
    const link = page.locator("tbody tr").nth(1).locator("a").first();
    const to = await link.getAttribute("href");
    await link.focus();
    await press("Enter");
    await page.waitForFunction((to) => location.hash === to, to);
    await page.waitForSelector("h1.view");
    await visit(page, `#/run/${run}/jobs`);
    await page.locator("tbody tr").nth(1).locator("td").nth(1).click();
    await page.waitForFunction((to) => location.hash === to, to);
  });

  it("opens the reference beside a view and closes it", async () => {
    await visit(page, `#/run/${run}/jobs?ref=SKEW`);
    await page.waitForSelector("aside.ref-panel h1");
    await visit(page, `#/run/${run}/timeline?ref=PLAN%23pythonUdf`);
    const heading = page.locator("aside.ref-panel h1", { hasText: "Python UDFs" });
    await page.waitForFunction((top) => top !== null, await heading.boundingBox());
    await expect.poll(async () => (await heading.boundingBox())?.y ?? -1).toBeLessThan(300);
    expect((await heading.boundingBox())?.y).toBeGreaterThan(0);
    // What is beside it keeps to its own column.
    const [panel, canvas] = await Promise.all(["aside.ref-panel", "[role=application] canvas"].map((one) => page.locator(one).boundingBox()));
    expect((canvas?.x ?? 0) + (canvas?.width ?? 0)).toBeLessThanOrEqual(panel?.x ?? 0);
    await press("Escape");
    await page.waitForFunction(() => !location.hash.includes("ref="));
  });
});
