/** Validates the head of every request, whatever the operation. */
import type { IncomingMessage } from "node:http";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

/**
 * Headers that may appear once, by the lengths of their names. Of several Node takes the first, or joins
 * them; a proxy in front may have taken another.
 */
const single: ReadonlyMap<number, string> = new Map(
  ["Host", "If-Match", "Authorization", "Idempotency-Key"].map((name) => [name.length, name]),
);

/** Null when it is valid. */
export function checkHead(request: IncomingMessage): Problem | null {
  const { headers } = request;
  const field = headers.host === undefined ? "Host" : twiceIn(request);
  if (field !== null) return makeProblem("invalid", `duplicate header ${field}`, { field });
  const encoding = headers["transfer-encoding"];
  if (encoding === undefined || encoding.trim().toLowerCase() === "chunked") return null;
  return makeProblem("invalid", "Transfer-Encoding: not supported", {
    hint: "send the body as it is, or chunked",
    field: "Transfer-Encoding",
  });
}

function twiceIn({ rawHeaders }: IncomingMessage): string | null {
  let seen = "";
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? "";
    const name = single.get(given.length);
    if (name === undefined || name.toLowerCase() !== given.toLowerCase()) continue;
    if (seen.includes(name)) return name;
    seen += name;
  }
  return null;
}
