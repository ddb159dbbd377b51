/** Copying to the clipboard, where the browser lets us. */

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Rows as tab separated values: what would break a row or a cell becomes a space. */
export function tsv(head: string[], rows: (string | number | null | undefined)[][]): string {
  const cell = (value: string | number | null | undefined): string =>
    value === null || value === undefined ? "" : String(value).replace(/[\t\r\n]+/g, " ");
  return [head, ...rows].map((row) => row.map(cell).join("\t")).join("\n");
}
