/** The settings of a request as the log keeps them. Pure. */

const credential =
  /^(authorization|authorization_token|access_token|api_?key|x-api-key|token|password|secret)$/i;

/** Without what providers pass on to the servers of tools: keys, tokens and headers. */
export function withoutCredentials(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return cleaned(settings) as Record<string, unknown>;
}

function cleaned(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cleaned);
  const kept = Object.entries(value as Record<string, unknown>).map(([name, inner]): [string, unknown] => {
    if (typeof inner === "string" && credential.test(name)) return [name, redacted];
    // The headers that a tool's server is sent: values are credentials as a rule.
    if (name !== "headers" || typeof inner !== "object" || inner === null) return [name, cleaned(inner)];
    return [name, Object.fromEntries(Object.keys(inner).map((key) => [key, redacted]))];
  });
  return Object.fromEntries(kept);
}

const redacted = "[redacted]";
