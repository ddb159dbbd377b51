/** A column of a table: how it is named, read, sorted, shown and copied. */
export interface Column<R> {
  key: string;
  label: string;
  /** What the heading says in full. */
  title?: string;
  /** The bare value: it is sorted by and copied. */
  value: (row: R) => string | number | null | undefined;
  /** The words that are shown, if they are not the value. */
  text?: (row: R) => string;
  isNumber?: boolean;
  /** Hidden on narrow screens. */
  isWide?: boolean;
}

/** Rows in the order of a column; those without a value come last either way. */
export function sorted<R>(rows: R[], column: Column<R> | undefined, isReversed: boolean): R[] {
  if (!column) return rows;
  const { value } = column;
  return [...rows].sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    const isMissing = (value: unknown): boolean => value === null || value === undefined || value === "";
    if (isMissing(one) || isMissing(other)) return Number(isMissing(one)) - Number(isMissing(other));
    const order = typeof one === "number" && typeof other === "number"
      ? one - other
      : String(one).localeCompare(String(other), "en", { numeric: true });
    return isReversed ? -order : order;
  });
}
