// Opens exported traces in the trace viewer of Chrome (that of chrome://tracing), and compares what it understood
// with what Spark's REST API says of the same log:
//   EMBERSCOPE_BIN=… node scripts/trace_viewer.mjs [--shots DIR] LOG...
// The viewer comes from PyPI, where a package carries it whole; the standard elements that it was written for have
// left the browsers, and come from npm. Both are fetched once into the cache.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";

const CARRIER = "torch-tb-profiler==0.4.3";
const ELEMENTS = "webcomponents.js@0.7.24";
const binary = process.env.EMBERSCOPE_BIN;
const args = process.argv.slice(2);
const shots = args[0] === "--shots" ? args.splice(0, 2)[1] : null;
if (!binary || args.length === 0) throw new Error("EMBERSCOPE_BIN=… node scripts/trace_viewer.mjs [--shots DIR] LOG...");

/** The viewer's two files, from the cache. */
function viewer() {
  const cache = process.env.EMBERSCOPE_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "emberscope");
  const place = join(cache, "trace-viewer");
  const files = { page: join(place, "viewer.html"), elements: join(place, "webcomponents.js") };
  if (!existsSync(files.page) || !existsSync(files.elements)) {
    mkdirSync(place, { recursive: true });
    execFileSync("python3", ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, CARRIER]);
    execFileSync("npm", ["pack", "--silent", "--pack-destination", place, ELEMENTS]);
    execFileSync("sh", ["-c", "tar -xOf webcomponents.js-*.tgz package/webcomponents.js > webcomponents.js"], { cwd: place });
    const unpack = "import glob, zipfile; print(zipfile.ZipFile(glob.glob('*.whl')[0]).read('torch_tb_profiler/static/trace_viewer_full.html').decode(), end='')";
    writeFileSync(files.page, execFileSync("python3", ["-c", unpack], { cwd: place, maxBuffer: 1 << 26 }));
  }
  return { page: readFileSync(files.page), elements: readFileSync(files.elements) };
}

const HOST = `<!doctype html><meta charset="utf-8"><script src="/elements.js"></script><link rel="import" href="/viewer.html">
<style>html, body, #viewer { margin: 0; width: 100%; height: 100%; overflow: hidden }</style><body><script>
window.__hideTraceViewerPolyfillWarning = true;
document.addEventListener("WebComponentsReady", async () => {
  const tracks = document.createElement("track-view-container");
  tracks.id = "track_view_container";
  const view = Object.assign(document.createElement("tr-ui-timeline-view"), { track_view_container: tracks, id: "viewer", globalMode: true });
  Polymer.dom(view).appendChild(tracks);
  Polymer.dom(document.body).appendChild(view);
  try {
    const model = new tr.Model();
    await new tr.importer.Import(model).importTracesWithProgressDialog([await (await fetch("/trace.json")).text()]);
    view.model = model;
    window.understood = {
      warnings: model.importWarnings.map((warning) => warning.message),
      slices: Object.fromEntries(Object.values(model.processes).map((process) => [process.name,
        Object.values(process.threads).flatMap((thread) => [...thread.sliceGroup.slices].map((slice) => ({ drawn: Math.round(slice.duration), told: slice.args?.duration_ms })))])),
    };
  } catch (error) { window.understood = { failed: String(error.stack ?? error) }; }
});
</script>`;

/** Answers of a server of ours over one log. */
async function rest(log) {
  const server = spawn(binary, ["serve", log, "--port", "0", "--no-browser"], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, EMBERSCOPE_TOKEN: "trace" } });
  try {
    const base = await new Promise((resolve, reject) => {
      let told = "";
      const hear = (bytes) => { told += bytes; const found = told.match(/http:\/\/[\d.:]+/); if (found) resolve(found[0]); };
      server.stdout.on("data", hear);
      server.stderr.on("data", hear);
      server.on("exit", () => reject(new Error(`serve ended: ${told}`)));
    });
    const ask = async (path) => (await fetch(`${base}/api/v1/applications${path}`, { headers: { authorization: "Bearer trace" } })).json();
    const [app] = await ask("");
    const attempt = app.attempts[0].attemptId;
    const root = `/${app.id}${attempt ? `/${attempt}` : ""}`;
    const stages = await ask(`${root}/stages`);
    const tasks = [];
    for (const stage of stages.filter((stage) => stage.status !== "SKIPPED")) {
      for (const task of await ask(`${root}/stages/${stage.stageId}/${stage.attemptId}/taskList?offset=0&length=10000000`)) tasks.push({ ...task, stage });
    }
    return { jobs: await ask(`${root}/jobs`), stages, tasks, sql: await ask(`${root}/sql?details=false&length=1000000`) };
  } finally {
    server.kill();
  }
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Where the viewer's tracks and Spark's figures disagree. */
function disagreements(seen, told) {
  if (seen.failed) return [seen.failed];
  const found = seen.warnings.map((warning) => `the viewer warns: ${warning}`);
  const expect = (what, ours, theirs) => { if (ours !== theirs) found.push(`${what}: ${ours} in the viewer, ${theirs} by Spark's API`); };
  const executors = Object.entries(seen.slices).filter(([name]) => /^executor /i.test(name) || name === "driver");
  const tasks = executors.flatMap(([, slices]) => slices);
  const ended = told.tasks.filter((task) => task.status !== "RUNNING");
  expect("task attempts", tasks.length, told.tasks.length);
  if (ended.length === told.tasks.length) expect("milliseconds of task attempts", sum(tasks.map((task) => task.told)), sum(ended.map((task) => task.duration)));
  // A slot's slice ends where its next task begins: Spark hears of an end after it has filled the place.
  expect("task attempts drawn longer than they were", tasks.filter((task) => task.drawn > task.told).length, 0);
  expect("jobs", seen.slices.Jobs?.length ?? 0, told.jobs.length);
  expect("stage attempts", seen.slices.Stages?.length ?? 0, told.stages.filter((stage) => stage.submissionTime).length);
  expect("SQL executions", seen.slices["SQL executions"]?.length ?? 0, told.sql.length);
  return found;
}

const { page: viewerPage, elements } = viewer();
const scratch = mkdtempSync(join(tmpdir(), "emberscope-trace-"));
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let trace = "";
const host = createServer((request, response) => {
  const bodies = { "/": HOST, "/viewer.html": viewerPage, "/elements.js": elements, "/trace.json": trace };
  response.setHeader("content-type", request.url.endsWith(".js") ? "text/javascript" : request.url.endsWith(".json") ? "application/json" : "text/html");
  response.end(bodies[request.url] ?? "");
});
await new Promise((resolve) => host.listen(0, "127.0.0.1", resolve));
let differing = 0;
try {
  for (const log of args) {
    const out = join(scratch, "trace.json");
    execFileSync(binary, ["export", log, "--format", "perfetto", "--out", out]);
    trace = readFileSync(out, "utf8");
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`http://127.0.0.1:${host.address().port}/`);
    await page.waitForFunction(() => window.understood, null, { timeout: 120_000 });
    const seen = await page.evaluate(() => window.understood);
    if (shots) {
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(shots, `${basename(log)}.png`) });
    }
    const wrong = disagreements(seen, await rest(log));
    differing += wrong.length;
    const tracks = seen.slices ? Object.entries(seen.slices).map(([name, slices]) => `${name} ${slices.length}`).join(", ") : "";
    console.log(`${wrong.length === 0 ? "ok    " : "DIFFER"} ${basename(log)}: ${tracks}`);
    for (const line of wrong) console.log(`       ${line}`);
    await page.close();
  }
} finally {
  await browser.close();
  host.close();
  rmSync(scratch, { recursive: true });
}
console.log(differing === 0 ? `${args.length} traces opened, nothing differs` : `${differing} differences`);
process.exitCode = differing === 0 ? 0 : 1;
