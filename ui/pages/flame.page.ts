import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask, close, context, NARROW, settled, visit, watched, WIDE, type Watch } from "./browser";
import { MARKUP } from "./hostile";
import { runs } from "./views";

interface Options {
  stages: { id: number; attempt: number }[];
  events: { event: string }[];
}

describe("flame graphs", () => {
  let of: BrowserContext;
  let watch: Watch;
  let page: Page;
  let run: string;
  let other: string;
  let stage: string;

  beforeAll(async () => {
    of = await context(WIDE);
    const all = await runs();
    run = all.find((one) => one.name?.includes(MARKUP))?.id ?? "";
    other = all.find((one) => one.name?.startsWith("failures"))?.id ?? "";
    const options = await ask<Options>(`/runs/${run}/flame/options`);
    stage = `${options.stages[0]?.id}.${options.stages[0]?.attempt}`;
    expect(options.stages.length).toBeGreaterThan(0);
  });
  beforeEach(async () => {
    await page?.close();
    watch = await watched(of);
    page = watch.page;
  });
  afterAll(async () => {
    await of.close();
    await close();
  });

  const hash = (): string => decodeURIComponent(new URL(page.url()).hash);
  const told = async (): Promise<string> => (await page.locator(".told").textContent()) ?? "";
  /** Different colours on a canvas: something is drawn. */
  const colours = (selector: string): Promise<number> =>
    page.locator(selector).evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set<number>();
      for (let at = 0; at < data.length; at += 4) seen.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
      return seen.size;
    });

  it("draws the graph, the heat and the table", async () => {
    await visit(page, `#/run/${run}/flame`);
    expect(await colours(".stage canvas")).toBeGreaterThan(4);
    expect(await colours(".heat canvas")).toBeGreaterThan(4);
    const table = page.locator("section, .scroll").filter({ hasText: "Burn.spin" }).first();
    expect(await table.textContent()).toContain("Burn.spin");
    expect(watch.complaints).toEqual([]);
  });

  it("is walked through, zoomed and reset by keys", async () => {
    await visit(page, `#/run/${run}/flame`);
    await page.locator(".stage").focus();
    await page.keyboard.press("ArrowDown");
    const below = await told();
    expect(below).toMatch(/samples?, .*% of all/);
    await page.keyboard.press("ArrowDown");
    expect(await told()).not.toBe(below);
    await page.keyboard.press("Enter");
    expect(await page.getByRole("button", { name: "Show all" }).isEnabled()).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.getByRole("button", { name: "Show all" }).isEnabled()).toBe(false);
  });

  it("finds frames, by words and from the table", async () => {
    await visit(page, `#/run/${run}/flame`);
    await page.locator("main").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("Burn\\.spin");
    await page.waitForFunction(() => /sample/.test(document.querySelector("main .mono[role=status]")?.textContent ?? ""));
    expect(hash()).toContain("find=");
    await page.getByRole("button", { name: "Burn.hot", exact: true }).first().click();
    expect(await page.locator("input[type=search]").first().inputValue()).toBe("^Burn\\.hot$");
    await page.reload();
    await settled(page);
    expect(await page.locator("input[type=search]").first().inputValue()).toBe("^Burn\\.hot$");
  });

  it("keeps what is chosen in the address", async () => {
    await visit(page, `#/run/${run}/flame`);
    await page.getByLabel("Event").selectOption("sleep");
    await settled(page);
    expect(hash()).toContain("event=sleep");
    await page.getByLabel("Stage").selectOption(stage);
    await page.getByLabel("Event").selectOption("cpu");
    await settled(page);
    expect(hash()).toContain(`stage=${stage}`);
    expect(await page.locator(".facts").textContent()).toMatch(/samples? in/);
    await page.goBack();
    await settled(page);
    expect(hash()).toContain("event=sleep");
  });

  it("chooses a span of time on the heat map", async () => {
    await visit(page, `#/run/${run}/flame?event=sleep`);
    const all = await page.locator(".facts").textContent();
    await page.locator(".brush").focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await page.waitForFunction(() => location.hash.includes("from="));
    await settled(page);
    expect(await page.locator(".facts").textContent()).not.toBe(all);
    await page.locator(".brush").focus();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("from="));
    const box = await page.locator(".heat canvas").boundingBox();
    if (!box) throw new Error("there is no heat map");
    await page.mouse.move(box.x + box.width * 0.2, box.y + 5);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 5);
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("from="));
  });

  it("compares, with words and not by colour alone", async () => {
    await visit(page, `#/run/${run}/flame?event=cpu&stage=${stage}&against=stage%3D`);
    expect(await page.locator("main .legend").textContent()).toContain("▲ a larger share");
    expect(await page.locator(".facts").textContent()).toContain("compared with");
    await visit(page, `#/run/${run}/flame?event=cpu&inverted=1`);
    expect(await page.getByRole("button", { name: "Inverted: callers below" }).getAttribute("aria-pressed")).toBe("true");
  });

  it("is reached from the page of a stage, and from no page without a recording", async () => {
    await visit(page, `#/run/${run}/stages/${stage}`);
    await page.getByRole("link", { name: "Flame graph of its tasks" }).click();
    await settled(page);
    expect(hash()).toBe(`#/run/${run}/flame?stage=${stage}`);
    expect(await page.locator("h1.view").textContent()).toContain(`stage ${stage}`);
    const { stages } = await ask<Options>(`/runs/${other}/stages`);
    await visit(page, `#/run/${other}/stages/${stages[0]?.id}.${stages[0]?.attempt}`);
    expect(await page.getByRole("link", { name: "Flame graph of its tasks" }).count()).toBe(0);
    await visit(page, `#/run/${other}/flame`);
    expect(await page.locator("main").textContent()).toContain("There is no recording of this run");
    expect(await page.locator("main canvas, main select").count()).toBe(0);
  });

  it("says what is not there instead of drawing nothing", async () => {
    await visit(page, `#/run/${run}/flame?thread=nobody`);
    expect(await page.locator("[role=alert]").textContent()).toContain("no thread is `nobody`");
  });

  it("fits a phone", async () => {
    const narrow = await context(NARROW);
    const { page: phone } = await watched(narrow);
    await visit(phone, `#/run/${run}/flame?stage=${stage}`);
    expect(await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await phone.locator(".stage canvas").click({ position: { x: 100, y: 25 } });
    expect(await phone.locator(".told").textContent()).toContain("of all");
    await narrow.close();
  });
});
