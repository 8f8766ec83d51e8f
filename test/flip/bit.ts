/** Single bits of what SQLite stores: of a whole number, in as many bytes as it takes; of text; of bytes. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";

type Next = (below: number) => number;

export interface Cell {
  readonly table: string;
  readonly column: string;
  /** Of the row, in whichever column that is its key. */
  readonly where: string;
}

/** Flips one bit of a cell. False when there is nothing in it, or SQLite itself refuses what comes of it. */
export function flipBit(database: DatabaseSync, { table, column, where }: Cell, next: Next): boolean {
  const columns = `typeof(${column}) AS kind, CAST(${column} AS BLOB) AS bytes, ${column} AS value`;
  const row = database.prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).get();
  const flipped = flippedOf(row?.["kind"], row, next);
  if (flipped === null) return false;
  const cast = row?.["kind"] === "text" ? "CAST(? AS TEXT)" : "?";
  try {
    database.prepare(`UPDATE ${table} SET ${column} = ${cast} WHERE ${where}`).run(flipped);
    return true;
  } catch {
    return false;
  }
}

function flippedOf(
  kind: unknown,
  row: Readonly<Record<string, SQLOutputValue>> | undefined,
  next: Next,
): bigint | Uint8Array | null {
  if (kind === "integer") return flipNumber(BigInt(row?.["value"] as number), next);
  const bytes = row?.["bytes"];
  if ((kind !== "text" && kind !== "blob") || !(bytes instanceof Uint8Array) || bytes.length === 0)
    return null;
  const bit = next(bytes.length * 8);
  return bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)));
}

/** SQLite keeps whole numbers in 1, 2, 3, 4, 6 or 8 bytes, the fewest that hold them. */
function flipNumber(value: bigint, next: Next): bigint {
  const bits = [8, 16, 24, 32, 48, 64].find((width) => BigInt.asIntN(width, value) === value) ?? 64;
  return BigInt.asIntN(bits, value ^ (1n << BigInt(next(bits))));
}
