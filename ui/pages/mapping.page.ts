import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, close, context, settled, visit, watched, WIDE } from "./browser";
import { runs } from "./views";

describe("the SQL text beside its plan", () => {
  let of: BrowserContext;
  let page: Page;
  let complaints: string[];
  let run: string;
  let execution: number;
  beforeAll(async () => {
    of = await context(WIDE);
    ({ page, complaints } = await watched(of));
    run = (await runs()).find((one) => one.name === "explain")?.id ?? "";
    const { executions } = await ask<{ executions: { id: number; description: string }[] }>(`/runs/${run}/sql`);
    execution = executions.findLast((one) => one.description.startsWith("SELECT"))?.id ?? -1;
  });
  afterAll(async () => {
    expect(complaints).toEqual([]);
    await of.close();
    await close();
  });

  it("marks the clause of the operator that an address names", async () => {
    const { operators } = await ask<{ operators: { node_id: number; operator: string }[] }>(`/runs/${run}/sql/${execution}/mapping`);
    const join = operators.find((one) => one.operator === "SortMergeJoin");
    await visit(page, `#/run/${run}/sql/${execution}?node=${join?.node_id}`);
    expect((await page.locator("pre .on").allTextContents()).join("")).toBe("dim d ON f.item_id = d.item_id");
    expect(await page.locator(".told").textContent()).toContain("high confidence");
    expect(await page.locator("aside").textContent()).toContain("Stands for the join at 6:6");
    expect(await page.locator(".node.kin").count()).toBeGreaterThan(1);
  });

  it("leads from a clause to its operator, with the mouse and with keys", async () => {
    await visit(page, `#/run/${run}/sql/${execution}`);
    await page.locator("pre .clause", { hasText: "amount DESC" }).or(page.locator("pre .clause", { hasText: /^amount$/ })).last().click();
    await settled(page);
    expect(page.url()).toMatch(/node=\d+/);
    expect(await page.locator(".told b").first().textContent()).toBe("ORDER BY");
    const group = page.locator("pre .clause[tabindex='0']", { hasText: /^d\.name$/ }).last();
    await group.focus();
    await page.keyboard.press("Enter");
    await settled(page);
    expect(await page.locator(".told b").first().textContent()).toBe("GROUP BY");
    const first = page.url();
    await group.press("Enter");
    await settled(page);
    expect(page.url()).not.toBe(first);
  });

  it("has every operator's clause in its table", async () => {
    await page.locator("summary", { hasText: "Operators as a table" }).click();
    expect(await page.locator("th", { hasText: "Clause" }).count()).toBe(1);
  });

  it("takes a statement where the log has none", async () => {
    const other = (await runs()).find((one) => one.name?.startsWith("sql with"))?.id ?? "";
    const { executions } = await ask<{ executions: { id: number; plan_nodes: number }[] }>(`/runs/${other}/sql`);
    const largest = [...executions].sort((a, b) => b.plan_nodes - a.plan_nodes)[0];
    await visit(page, `#/run/${other}/sql/${largest?.id}`);
    await page.locator("summary", { hasText: "Map a SQL text" }).click();
    await page.fill("textarea", "SELECT k, count(*) FROM facts GROUP BY k ORDER BY k");
    await page.locator("button", { hasText: "Map it" }).click();
    await page.waitForSelector("section[aria-label='SQL text']");
    expect(await page.locator("section[aria-label='SQL text'] pre").textContent()).toContain("FROM facts");
    await page.locator("button", { hasText: "Forget it" }).click();
    await page.waitForSelector("summary:has-text('Map a SQL text')");
  });
});
