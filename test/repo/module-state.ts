/**
 * Rules on what a module keeps. State of an engine lives in its dependencies (`EngineState` in
 * src/runtime/deps.ts), and errors are told apart by a code or a typed detail.
 */
import type { Finding, Source } from "./source.ts";

const keeps = /^(?:export )?(?:let \w|const \w+[^=]*= (?:new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|makeCache\b))/;
const allowed = /Pure cache|One for the process|Kept with the (?:store|state)/;

/**
 * A map, a set or a `let` at the top of a module outlives every engine. It says above why that is right: a
 * pure cache of what never changes, a resource of the process, or what goes with the object that is its key.
 */
export function moduleState({ path, text }: Pick<Source, "path" | "text">): Finding[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    if (!keeps.test(line) || line.includes(": Readonly")) return [];
    let first = at;
    while (first > 0 && /^(?:\/\*\*| \*)/.test(lines[first - 1] ?? "")) first -= 1;
    return allowed.test(lines.slice(first, at).join("\n"))
      ? []
      : [`${path}:${at + 1}: state of a module; keep it in EngineState, or say why it may be here`];
  });
}

const byText = [
  /\b(?:error|cause|wrong)\.message(?:\.(?:includes|startsWith|endsWith|match)\(| [!=]==)/,
  /\.(?:test|exec)\((?:\w+\.)?message\)/,
  /[^.\w]message\.(?:includes|startsWith|endsWith)\(/,
];

/** Where the text is all that there is. */
const foreign: Readonly<Record<string, string>> = {
  "src/model/failure.ts": "errors of providers and of fetch have no codes",
  "src/tool/mcp-http.ts": "an error of the MCP library",
  "src/store/postgres/connection/errors.ts": "a message of PostgreSQL that names the parameter",
  "src/server/http/problem.ts": "a RangeError of the language",
  "src/tickets/plan-json.ts": "JSON.parse tells the position only in its text",
  "src/runtime/transfer/import.ts": "damage of the store, which drivers name by their words only",
};

export function errorByText({ path, text }: Pick<Source, "path" | "text">): Finding[] {
  if (foreign[path] !== undefined) return [];
  return text
    .split("\n")
    .flatMap((line, at) =>
      byText.some((one) => one.test(line))
        ? [`${path}:${at + 1}: an error told by its text; use a code or a detail`]
        : [],
    );
}
