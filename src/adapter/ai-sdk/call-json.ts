/** JSON of the AI SDK's values: bytes and dates keep their types. */

/** Keys in order, so that equal values have equal texts. Functions and signals are left out. */
export function toJson(value: unknown): string {
  return JSON.stringify(plain(value)) ?? "null";
}

export function fromJson(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const { $bytes, $date, $url } = value as Readonly<Record<string, unknown>>;
    if (typeof $bytes === "string") return new Uint8Array(Buffer.from($bytes, "base64"));
    if (typeof $date === "string") return new Date($date);
    return typeof $url === "string" ? new URL($url) : value;
  });
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof URL) return { $url: value.href };
  if (value instanceof AbortSignal) return undefined;
  if (Array.isArray(value)) return value.map(plain);
  if ("toJSON" in value) return JSON.parse(JSON.stringify(value)) as unknown;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
}
