/** A browser that came in by the server's address. */

import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

export interface Look {
  theme: "dark" | "light";
  width: number;
}

export const WIDE: Look = { theme: "dark", width: 1440 };
export const NARROW: Look = { theme: "light", width: 390 };

let browser: Browser | undefined;

export async function open(): Promise<Browser> {
  if (!CHROMIUM) throw new Error("there is no Chromium; name one with CHROMIUM");
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  return browser;
}

export async function close(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** A context that the server knows by its token; the address for people is good for one visit only. */
export async function context({ theme, width }: Look): Promise<BrowserContext> {
  return (await open()).newContext({
    viewport: { width, height: width < 500 ? 844 : 900 },
    colorScheme: theme,
    reducedMotion: "reduce",
    extraHTTPHeaders: { authorization: `Bearer ${inject("token")}` },
  });
}

/** What a page must never do. */
export interface Watch {
  page: Page;
  complaints: string[];
}

/** Requests of pages that are under way, and how many have ended. */
const asking = new WeakMap<Page, { open: number; finished: number }>();

export async function watched(of: BrowserContext): Promise<Watch> {
  const page = await of.newPage();
  const counts = { open: 0, finished: 0 };
  asking.set(page, counts);
  // What the server tells by itself is a request that does not end.
  page.on("request", (request) => (counts.open += Number(request.resourceType() !== "eventsource")));
  for (const end of ["requestfinished", "requestfailed"] as const) {
    page.on(end as "requestfinished", (request) => {
      counts.open -= Number(request.resourceType() !== "eventsource");
      counts.finished += 1;
    });
  }
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(inject("base")) && !request.url().startsWith("data:")) complaints.push(`asked elsewhere: ${request.url()}`);
  });
  return { page, complaints };
}

/** Goes to an address of the page and waits until it has what it asks for. */
export async function visit(page: Page, hash: string): Promise<void> {
  await page.goto(`${inject("base")}/${hash}`);
  await settled(page);
}

/** Waits until nothing has been asked for a moment, which is sooner than "networkidle" tells. */
export async function settled(page: Page): Promise<void> {
  const QUIET_MS = 150;
  for (let quiet = 0; quiet < QUIET_MS; ) {
    const before = asking.get(page)?.finished ?? 0;
    await page.waitForTimeout(30);
    const now = asking.get(page);
    quiet = now === undefined || (now.open === 0 && now.finished === before) ? quiet + 30 : 0;
  }
  await page.waitForFunction(() => !document.querySelector(".bones"));
}

/** Asks the API as a tool does. */
export async function ask<T>(path: string): Promise<T> {
  const answer = await fetch(`${inject("base")}/api/emberscope/v1${path}`, { headers: { authorization: `Bearer ${inject("token")}` } });
  return (await answer.json()) as T;
}
