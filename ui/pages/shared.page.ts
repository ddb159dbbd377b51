import { gzipSync } from "node:zlib";
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { ask, close, context, open, settled, visit, watched, WIDE } from "./browser";
import { runs } from "./views";

const DIST = resolve(import.meta.dirname, "../dist");
const PLAIN_DIR = resolve(import.meta.dirname, "../../fixtures/logs/codec-none-4.3.0");
const PLAIN = resolve(PLAIN_DIR, readdirSync(PLAIN_DIR)[0] ?? "");
const size = (name: string): number => gzipSync(readFileSync(`${DIST}/assets/${name}`), { level: 9 }).length;

describe("what is sent", () => {
  it("begins with at most 90 kB of scripts, and no part is larger than that", () => {
    const first = [...readFileSync(`${DIST}/index.html`, "utf8").matchAll(/assets\/([\w.-]+\.js)/g)].map((match) => match[1] ?? "");
    expect(first.length).toBeGreaterThan(0);
    expect(first.reduce((sum, name) => sum + size(name), 0)).toBeLessThanOrEqual(90_000);
    for (const name of readdirSync(`${DIST}/assets`)) expect(size(name), name).toBeLessThanOrEqual(90_000);
  });
  it("has no registry's addresses in the lock file", () => {
    const lock = readFileSync(resolve(DIST, "../package-lock.json"), "utf8");
    expect(lock).not.toContain('"resolved"');
  });
});

describe("what is shared", () => {
  let of: BrowserContext;
  let page: Page;
  let run: string;
  beforeAll(async () => {
    of = await context(WIDE);
    await of.grantPermissions(["clipboard-read", "clipboard-write"]);
    page = (await watched(of)).page;
    run = (await runs()).find((one) => one.name?.startsWith("failures"))?.id ?? "";
  });
  afterAll(async () => {
    await of.close();
    await close();
  });

  it("is an address: order, filter and span of time are in it", async () => {
    await visit(page, `#/run/${run}/stages?sort=stage&q=collect`);
    const rows = await page.locator("tbody tr").count();
    await visit(page, `#/run/${run}/stages`);
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(rows);
    await visit(page, `#/run/${run}/stages?from=0&to=1`);
    expect(await page.locator(".chosen").textContent()).toContain("What touches 0 ms to 1 ms");
    expect(await page.locator("tbody tr").count()).toBe(0);
  });

  it("lets in who types the token, and shows what was sent", async () => {
    const stranger = await (await open()).newContext({ viewport: { width: 390, height: 844 } });
    const theirs = await stranger.newPage();
    const sent = `/#/run/${run}/stages?q=collect`;
    await theirs.goto(inject("base") + sent);
    await theirs.fill("#token", "a guess");
    await theirs.click("button");
    await theirs.waitForSelector("text=That is not the token");
    await theirs.fill("#token", inject("token"));
    await theirs.click("button");
    await theirs.waitForSelector("nav a", { state: "attached" });
    expect(theirs.url()).toBe(inject("base") + sent);
    await stranger.close();
  });

  it("counts in the margin what the run's summary counts", async () => {
    const { totals } = await ask<{ totals: { jobs: number; stage_attempts: number; sql_executions: number } }>(`/runs/${run}/summary`);
    await visit(page, `#/run/${run}/stages`);
    for (const [view, count] of [["Jobs", totals.jobs], ["Stages", totals.stage_attempts], ["SQL", totals.sql_executions]] as const) {
      const link = page.locator("nav a").filter({ hasText: new RegExp(`^\\s*${view}`) });
      expect((await link.textContent())?.replace(/\D/g, ""), view).toBe(String(count));
    }
    expect(await page.locator("tbody tr").count()).toBe(totals.stage_attempts);
  });

  it("keeps the span of time from view to view", async () => {
    await visit(page, `#/run/${run}/stages?from=1000&to=90000`);
    await page.locator("nav a", { hasText: "Jobs" }).click();
    await settled(page);
    expect(page.url()).toContain("from=1000&to=90000");
  });

  it("copies tables as TSV", async () => {
    await visit(page, `#/run/${run}/jobs`);
    await page.locator("button", { hasText: "Copy as TSV" }).click();
    await page.waitForFunction(() => document.body.textContent?.includes("Copied"));
    const lines = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
    expect(lines[0]?.split("\t")).toContain("duration");
    expect(lines.length).toBe((await page.locator("tbody tr").count()) + 1);
    for (const line of lines) expect(line.split("\t").length).toBe(lines[0]?.split("\t").length);
  });

  it("chooses a span of time by dragging over the timeline", async () => {
    await visit(page, `#/run/${run}/timeline`);
    const box = await page.locator("[role=application]").boundingBox();
    if (!box) throw new Error("no timeline");
    await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.move(box.x + box.width * 0.7, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
    await page.waitForSelector(".chosen");
  });

  it("shows by itself that a run goes on, and that it ended", async () => {
    const lines = readFileSync(PLAIN, "utf8").split("\n").filter(Boolean).map((line) => line.replaceAll("small", "growing"));
    const log = resolve(inject("place"), "app-growing.inprogress");
    writeFileSync(log, `${lines.slice(0, Math.floor(lines.length / 2)).join("\n")}\n`);
    await visit(page, "#/");
    await page.locator("a.open", { hasText: "growing" }).click({ timeout: 20_000 });
    await page.waitForSelector(".verdict");
    expect(await page.locator(".top").textContent()).toContain("no end yet");
    appendFileSync(log, `${lines.slice(Math.floor(lines.length / 2)).join("\n")}\n`);
    await page.waitForFunction(() => document.querySelector(".top")?.textContent?.includes("succeeded"), undefined, { timeout: 30_000 });
    rmSync(log);
  });

  it("asks in SQL where its engine is, and says what to do where it is not", async () => {
    await visit(page, `#/run/${run}/console`);
    const statement = page.locator("#statement");
    if (!process.env.EMBERSCOPE_SQL) {
      expect(await page.locator("main [role=status] p").first().textContent()).toContain("EMBERSCOPE_SQL");
      return;
    }
    await statement.fill("SELECT stageId, execRunNs FROM stage ORDER BY stageId");
    await statement.press("Control+Enter");
    await page.waitForSelector(".answer tbody tr, [role=alert]", { timeout: 60_000 });
    expect(await page.locator(".answer thead").textContent()).toContain("execRunNs");
    expect(page.url()).toContain("q=SELECT");
    await statement.fill("SELECT nothing\nFROM stage");
    await statement.press("Control+Enter");
    await page.waitForSelector("[role=alert]");
    expect(await page.locator("[role=alert]").textContent()).toMatch(/line 1, column \d+/);
  });

  it("says before anything is asked that nobody can answer", async () => {
    const catalog = "**/sql-console/catalog";
    await page.route(catalog, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), missing: { message: "SQL is answered by a program that was not found", hint: "build it" } } });
    });
    await visit(page, `#/run/${run}/console?q=SELECT 1`);
    // The same address as before asks nothing anew.
    await page.reload();
    await page.locator("main .failed-box", { hasText: "a program that was not found" }).waitFor();
    expect(await page.locator("main .link:not([disabled])").count()).toBe(0);
    expect(await page.locator("button.main").isDisabled()).toBe(true);
    await page.unroute(catalog);
  });

  it("says what a part of a place saves alone, and of what a run was made", async () => {
    const findings = "**/findings";
    await page.route(findings, async (route) => {
      const answer = await route.fetch();
      const diagnosis = await answer.json();
      diagnosis.findings[0].alone_ms = { low: 6400, high: 9800 };
      await route.fulfill({ json: diagnosis });
    });
    // There first, and anew then: an address that changes while the page loads cuts off what it asks.
    await visit(page, `#/run/${run}`);
    await page.reload();
    await page.waitForSelector("article.f");
    expect(await page.locator("article.f .save").allTextContents()).toContainEqual(expect.stringContaining("6.4 s to 9.8 s alone"));
    await page.unroute(findings);
    // The words of every report: a file is told as one.
    await page.waitForFunction(() => /Trust\s+(complete|with notes|not whole)\s*1 file/.test(document.querySelector(".trust-box summary")?.textContent ?? ""));
  });

  it("has the same theme as was chosen last", async () => {
    await visit(page, "#/");
    await page.locator("button[aria-label='Light colours']").click();
    await page.reload();
    await settled(page);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("light");
  });
});
