/** Where one is: a path and a query behind `#`, so that every view has an address to share. */

export interface Route {
  /** Pieces of the path, decoded: `["run", "4f…", "stage", "3.0"]`. */
  path: string[];
  query: Record<string, string>;
}

/** Reads what stands behind `#`. */
export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const [path = "", query = ""] = split(text, "?");
  return {
    path: path.split("/").filter((piece) => piece !== "").map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/** The address of a place; parts of the query that are empty are left out. */
export function address(path: (string | number)[], query: Record<string, string | undefined> = {}): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const text = new URLSearchParams(pairs).toString();
  return `#/${path.map((piece) => encodeURIComponent(piece)).join("/")}${text ? `?${text}` : ""}`;
}

class Place {
  current = $state.raw<Route>(parse(location.hash));
}

const place = new Place();
addEventListener("hashchange", () => {
  place.current = parse(location.hash);
});

/** Where one is now; reading it in a component follows it. */
export function route(): Route {
  return place.current;
}

/** Goes to an address, as a link does. */
export function go(to: string): void {
  if (to !== location.hash) location.hash = to;
}

/** Changes parts of the query. `isStep` makes it a step that "back" undoes. */
export function setQuery(changes: Record<string, string | undefined>, isStep = false): void {
  const { path, query } = place.current;
  const to = address(path, { ...query, ...changes });
  if (to === location.hash) return;
  if (isStep) history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  place.current = parse(to);
}

/** What stays when one goes from view to view of a run: the span of time and the open reference page. */
export function kept(): Record<string, string | undefined> {
  const { from, to, ref } = place.current.query;
  return { from, to, ref };
}
