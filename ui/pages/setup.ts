/** Starts `emberscope serve` over four fixtures and a log made of markup, with a recording, and lets the tests know where. */

import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { writeHostileLog } from "./hostile";

const repository = resolve(import.meta.dirname, "../..");
const FIXTURES = ["sql-aqe-4.3.0", "failures-3.5.9", "executor-loss-4.3.0", "explain-4.3.0"];

declare module "vitest" {
  export interface ProvidedContext {
    base: string;
    entrance: string;
    token: string;
    /** A directory that is served, to put logs into. */
    place: string;
  }
}

/** The program that embeds the page as it is now: the one that is named, or one that is built here. */
function program(): string {
  const named = process.env.EMBERSCOPE_BIN;
  if (named) return named;
  execFileSync("cargo", ["build", "--quiet", "--locked", "--profile", "ci", "--bin", "emberscope"], { cwd: repository, stdio: "inherit" });
  const target = process.env.CARGO_TARGET_DIR ?? join(repository, "target");
  return join(target, "ci", "emberscope");
}

/** A log of which there is a recording, too, of its driver. */
const RECORDED = "codec-none-4.3.0";
/** A thread of the recording that ran all the time. */
const BUSY_THREAD = 15;

/** Puts a recording where that of an application's driver would be, and says in its log that a thread ran a task. */
function record(profiles: string, log: string): void {
  const to = join(profiles, readdirSync(join(repository, "fixtures/logs", RECORDED))[0] ?? "");
  mkdirSync(to);
  copyFileSync(join(repository, "crates/emberscope-jfr/tests/data/jdk17.jfr"), join(to, "profile-driver.jfr"));
  const ran = { Event: "org.apache.spark.profiler.SparkProfilerTaskThreadEvent", taskId: 0, executorId: "driver", javaThreadId: BUSY_THREAD, startTime: 0, endTime: 4e12 };
  appendFileSync(log, `${JSON.stringify(ran)}\n`);
}

export default async function setup(project: TestProject): Promise<() => void> {
  const built = join(repository, "ui/dist/index.html");
  if (!existsSync(built)) throw new Error("the page is not built: npm run build");
  const place = mkdtempSync(join(tmpdir(), "emberscope-pages-"));
  writeHostileLog(join(repository, "fixtures/logs", RECORDED), join(place, "hostile"));
  const profiles = mkdtempSync(join(tmpdir(), "emberscope-profiles-"));
  record(profiles, join(place, "hostile/app-hostile"));
  const token = "token-of-the-pages";
  const roots = [...FIXTURES.map((name) => join(repository, "fixtures/logs", name)), place];
  const server = spawn(program(), ["serve", ...roots, "--jfr", profiles, "--port", "0"], { env: { ...process.env, EMBERSCOPE_TOKEN: token }, stdio: ["ignore", "pipe", "inherit"] });
  const entrance = await new Promise<string>((done, failed) => {
    let said = "";
    server.stdout.on("data", (piece: Buffer) => {
      said += piece.toString();
      const address = /browser\s+(http:\S+)/.exec(said)?.[1];
      if (address) done(address);
    });
    server.on("exit", (code) => failed(new Error(`emberscope serve ended with ${code}: ${said}`)));
  });
  const base = new URL(entrance).origin;
  const served = await (await fetch(base, { headers: { authorization: `Bearer ${token}` } })).text();
  if (served !== readFileSync(built, "utf8")) {
    server.kill();
    throw new Error("the server embeds another build of the page: build emberscope after `npm run build`");
  }
  project.provide("base", base);
  project.provide("entrance", entrance);
  project.provide("token", token);
  project.provide("place", place);
  return () => {
    server.kill();
    rmSync(place, { recursive: true });
    rmSync(profiles, { recursive: true });
  };
}
