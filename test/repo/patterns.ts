/**
 * Every regular expression of the sources, and whether it runs in linear time.
 *
 * `recheck` proves a pattern linear or builds an attack on it. That takes a minute for all of them, so what
 * was proven is kept in patterns.json; only patterns that are not listed there are proven again.
 */
import { checkSync } from "recheck";
import { lineAt, placesIn, type Source } from "./source.ts";

export interface Pattern {
  readonly where: string;
  readonly path: string;
  /** `/source/flags`. */
  readonly text: string;
  readonly source: string;
  readonly flags: string;
}

/** Patterns that are not linear, or not provably so, and the bound that makes them harmless. */
export const bounded: Readonly<Record<string, string>> = {
  "/\\B(?=(\\d{3})+$)/g": "core/context/zone.ts: the digits of one number, at most 21",
  "/^[^a-z0-9]+|[^a-z0-9]+$/g": "tickets/plan-draft.ts: cut to limit.ticketIdCharsMax first",
  "/^(?!.*\\.\\.)(?!.*\\.lock$)[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/":
    "tickets/plan-draft.ts: after a check of limit.ticketIdCharsMax",
  "/\\[(?=[^\\]\\s]{0,40}@\\d)/gu": "core/handoff/text.ts: looks at 42 characters at most at each bracket",
};

/** Folders whose patterns read a text of a bounded length. */
export const boundedFolders: Readonly<Record<string, string>> = {
  "src/model/offline": "the offline model reads the first limit.offlineCharsMax characters of a text",
};

/** Files that compile patterns at run time. */
export const composed: Readonly<Record<string, string>> = {
  "src/console/ui/visible.ts": "one character class",
  "src/core/bundle/format.ts": "a fixed count of hex digits",
  "src/core/ids.ts": "a prefix and a fixed tail",
  "src/core/secret/pattern.ts": "anchored alternatives; test/core/secret.test.ts attacks it",
  "src/tickets/plan-markdown.ts": "a word and the rest of a line; test/tickets/plan.test.ts attacks it",
  "src/model/offline/phrase.ts": "reads a bounded text",
  "src/model/offline/quote.ts": "reads a bounded text",
  "src/runtime/message/contract-schema.ts":
    "compiled to see whether it is a pattern; runs in platform/run-with-timeout.ts",
  "src/runtime/log/redact.ts": "anchored at the end of a variable's name",
  "src/tool/grep-worker.ts": "a pattern of the model; runs in a worker that is ended",
  "src/tool/grep.ts": "compiled to see whether it is a pattern",
};

export function patternsIn(source: Source): Pattern[] {
  return [...placesIn(source.program)].flatMap(({ node }) => {
    const regex = node["regex"] as { readonly pattern: string; readonly flags: string } | undefined;
    if (node.type !== "Literal" || regex === undefined) return [];
    return [
      {
        where: `${source.path}:${lineAt(source, node.start)}`,
        path: source.path,
        text: `/${regex.pattern}/${regex.flags}`,
        source: regex.pattern,
        flags: regex.flags,
      },
    ];
  });
}

/** Where a pattern is compiled from a text at run time. */
export function composedIn(source: Source): string[] {
  return [...placesIn(source.program)].flatMap(({ node }) => {
    if (node.type !== "NewExpression" && node.type !== "CallExpression") return [];
    const callee = node["callee"] as { readonly name?: unknown };
    return callee.name === "RegExp" ? [source.path] : [];
  });
}

/** An attack on the pattern, or null when it is proven linear. */
export function attackOn({ source, flags }: Pick<Pattern, "source" | "flags">): string | null {
  process.env["RECHECK_SYNC_BACKEND"] = "pure";
  // What is sticky only is tried at one place; recheck would try it at every place. The stricter is taken.
  const found = checkSync(source, flags.replace("v", "u"), { timeout: 20_000 });
  if (found.status === "safe") return null;
  if (found.status === "unknown") return `not proven: ${found.error.kind}`;
  return `${found.complexity.type}: ${found.attack.pattern}`;
}
