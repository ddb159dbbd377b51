// Measures the page on a run of a server that runs already:
//   EMBERSCOPE_TOKEN=… node scripts/measure.mjs http://127.0.0.1:18480 RUN
// Time until the verdict can be read and used, and what zooming and panning the timeline keeps the page from.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const [base, run] = process.argv.slice(2);
if (!base || !run) throw new Error("node scripts/measure.mjs ADDRESS RUN");
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, extraHTTPHeaders: { authorization: `Bearer ${process.env.EMBERSCOPE_TOKEN}` } });

// Tasks of the main thread over 50 ms, as the browser itself counts them.
await context.addInitScript(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longTasks.push({ at: entry.startTime, ms: entry.duration });
  }).observe({ type: "longtask", buffered: true });
});

/** Milliseconds from navigation until `selector` is there, and until the main thread was free after that. */
async function opened(hash, selector) {
  const page = await context.newPage();
  await page.goto(`${base}/${hash}`, { waitUntil: "commit" });
  await page.waitForSelector(selector);
  const shown = await page.evaluate(() => performance.now());
  await page.waitForTimeout(700);
  const tasks = await page.evaluate(() => window.longTasks);
  const last = tasks.filter((task) => task.at < shown + 600).reduce((end, task) => Math.max(end, task.at + task.ms), 0);
  return { page, shown, interactive: Math.max(shown, last), longest: Math.max(0, ...tasks.map((task) => task.ms)) };
}

const round = (ms) => `${Math.round(ms)} ms`;
for (const [name, hash, selector] of [["verdict", `#/run/${run}`, ".verdict"], ["timeline", `#/run/${run}/timeline`, "[role=application] canvas"], ["stages", `#/run/${run}/stages`, "tbody tr"], ["SQL", `#/run/${run}/sql`, "tbody tr"]]) {
  const found = [];
  for (let n = 0; n < 3; n += 1) {
    const one = await opened(hash, selector);
    await one.page.close();
    found.push(one);
  }
  const median = (of) => found.map(of).sort((a, b) => a - b)[1];
  console.log(`${name.padEnd(9)} shown after ${round(median((one) => one.shown))}, interactive after ${round(median((one) => one.interactive))}, longest task ${round(median((one) => one.longest))} (medians of 3)`);
}

const { page } = await opened(`#/run/${run}/timeline`, "[role=application] canvas");
await page.waitForLoadState("networkidle");
await page.evaluate(() => {
  window.longTasks.length = 0;
  window.frames_ = [];
  let last = performance.now();
  const tick = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
});
const box = await page.locator("[role=application]").boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + box.height - 30);
await page.keyboard.down("Control");
for (let n = 0; n < 40; n += 1) {
  await page.mouse.wheel(0, -40);
  await page.waitForTimeout(30);
}
await page.keyboard.up("Control");
await page.waitForTimeout(500);
for (let n = 0; n < 40; n += 1) {
  await page.mouse.wheel(60, 0);
  await page.waitForTimeout(30);
}
await page.keyboard.down("Control");
for (let n = 0; n < 40; n += 1) {
  await page.mouse.wheel(0, 40);
  await page.waitForTimeout(30);
}
await page.keyboard.up("Control");
await page.waitForTimeout(800);
const { tasks, frames } = await page.evaluate(() => ({ tasks: window.longTasks.map((task) => task.ms), frames: window.frames_ }));
frames.sort((a, b) => a - b);
console.log(`zoom and pan: ${frames.length} frames, median ${round(frames[Math.floor(frames.length / 2)])}, 99th percentile ${round(frames[Math.floor(frames.length * 0.99)])}; ${tasks.length} tasks over 50 ms, longest ${round(Math.max(0, ...tasks))}`);
await browser.close();
