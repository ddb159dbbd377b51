/** Asking the server, and keeping what it said. */

const BASE = "/api/emberscope/v1";
/** Answers that are kept, so that going back shows at once what was there. */
const KEPT = 60;

/** Why there is no answer: what the server said, or that it said nothing. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    /** Where in a statement, from 1. */
    readonly position?: { line: number; column: number },
  ) {
    super(message);
  }
}

const answers = new Map<string, unknown>();

async function refusal(response: Response): Promise<Refusal> {
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string; hint: string; position?: { line: number; column: number } } };
    return new Refusal(response.status, error.code, error.message, error.hint, error.position);
  } catch {
    const hint = response.status === 401
      ? "Open the address that `emberscope serve` printed when it started."
      : "Try again; if it stays so, start the server again.";
    const message = response.status === 401 ? "The server does not know this browser" : `The server answered ${response.status}`;
    return new Refusal(response.status, "unknown", message, hint);
  }
}

/** Asks for `path` under the API's own root. */
export async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(BASE + path, { ...options, headers: { accept: "application/json", ...options.headers } });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, "unreachable", "The server does not answer", "Is `emberscope serve` still running? Start it again and reload the page.");
  }
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as T;
}

/** The last answer to `path`, if it was asked before. */
export function known<T>(path: string): T | undefined {
  return answers.get(path) as T | undefined;
}

/** Asks and keeps the answer. */
export async function askAndKeep<T>(path: string, signal: AbortSignal): Promise<T> {
  const answer = await ask<T>(path, { signal });
  answers.delete(path);
  answers.set(path, answer);
  const oldest = answers.size > KEPT ? answers.keys().next().value : undefined;
  if (oldest !== undefined) answers.delete(oldest);
  return answer;
}

/** The address of a file that the browser fetches by itself. */
export const fileAddress = (path: string): string => BASE + path;

/** A path with a query; what is undefined or empty is left out. */
export function path(base: string, query: Record<string, string | number | undefined | null> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${base}?${text}` : base;
}
