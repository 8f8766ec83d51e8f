/**
 * Accept checks as plans and the command line write them:
 *
 *     command: npm test                      command (tests, within 5m, in code): npm test
 *     file: dist/app.js                      file: CHANGELOG.md contains 0.5.0
 *     review (at least 0.9, by critic): …    person: Does the page look right?
 */
import type * as z from "zod";
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { checkShape } from "../text/shape.ts";
import { isObject } from "../option-check.ts";
import {
  type AcceptCheck,
  checkKinds,
  checkSchemas,
  namedChecks,
  repeatedName,
  type NamedCheck,
} from "./check.ts";
import { limit } from "../limit.ts";

const hint = `for example "command: npm test", "file: dist/app.js", "person: it looks right"`;
const front = /^\s{0,20}(command|file|review|person)(?:[ \t]{0,20}\(([^()]{0,200})\))?[ \t]{0,20}:(.*)$/is;
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses one check. Throws `invalid` for what is none. `what` names the field. */
export function parseCheck(given: unknown, what = "accept"): AcceptCheck {
  if (isObject(given)) return shaped(given, what);
  if (typeof given !== "string")
    throw new SkeinError("invalid", `${what}: expected a check, got ${quote(given)}`, { hint });
  const found = given.length > limit.acceptCharsMax + 300 ? null : front.exec(given);
  if (found === null)
    throw new SkeinError(
      "invalid",
      `${what}: expected ${checkKinds.join(", ")} and a text, got ${quote(given)}`,
      { hint },
    );
  const [, word = "", options, said = ""] = found;
  const kind = word.toLowerCase() as AcceptCheck["kind"];
  const fields = { kind, ...optionsIn(options ?? "", what), ...partsOf(kind, said.trim()) };
  return shaped(fields, what);
}

function shaped(fields: Readonly<Record<string, unknown>>, where: string): AcceptCheck {
  const kind = checkKinds.find((one) => one === fields["kind"]);
  if (kind === undefined) {
    const kinds = checkKinds.join(", ");
    throw new SkeinError(
      "invalid",
      `${where}: kind: expected one of ${kinds}, got ${quote(fields["kind"])}`,
      {
        hint,
      },
    );
  }
  return checkShape<z.ZodObject>(checkSchemas()[kind], fields, {
    what: `${kind} check`,
    where,
  }) as unknown as AcceptCheck;
}

function partsOf(kind: AcceptCheck["kind"], said: string): object {
  if (kind === "command") return { command: said };
  if (kind === "review") return { rubric: said };
  if (kind === "person") return { question: said };
  const at = said.search(/\scontains\s/i);
  if (at === -1) return { path: plainPath(said) };
  return {
    path: plainPath(said.slice(0, at)),
    contains: said.slice(at).trim().slice("contains".length).trim(),
  };
}

/** In Markdown a path may stand in backquotes. */
const plainPath = (path: string): string => path.trim().replace(/^`([^`]*)`$/, "$1");

function optionsIn(text: string, what: string): object {
  const found: Record<string, unknown> = {};
  for (const one of text.split(",").map((part) => part.trim())) {
    if (one === "") continue;
    const [field, value] = optionOf(one);
    if (field in found) throw new SkeinError("invalid", `${what}: ${quote(one)}: given twice`, { hint });
    found[field] = value;
  }
  return found;
}

function optionOf(text: string): readonly [string, unknown] {
  const least = /^at least (\d(?:\.\d{1,6})?)$/i.exec(text);
  if (least !== null) return ["least", Number(least[1])];
  const within = /^within (\d{1,6}) ?([smh])$/i.exec(text);
  if (within !== null)
    return ["timeoutMs", Number(within[1]) * (unitMs[within[2]?.toLowerCase() ?? ""] ?? 1)];
  const named = /^(in|by) (\S{1,200})$/i.exec(text);
  if (named !== null) return [named[1]?.toLowerCase() === "in" ? "in" : "agent", named[2]];
  return ["name", text];
}

/** Parses a list of checks, as texts or objects, and names each. Throws `invalid` for two of one name. */
export function parseChecks(given: readonly unknown[], what = "accept"): readonly NamedCheck[] {
  const checks = given.map((one) => parseCheck(one, what));
  const twice = repeatedName(checks);
  if (twice !== undefined)
    throw new SkeinError("invalid", `${what}: two checks are named ${quote(twice)}`, {
      hint: "give each another name: command (tests): npm test",
    });
  if (checks.length > limit.acceptsMax)
    throw new SkeinError(
      "invalid",
      `${what}: expected at most ${limit.acceptsMax} checks, got ${checks.length}`,
    );
  return namedChecks(checks);
}

/** What a check holds a session to, in a line. */
export function checkText(check: AcceptCheck): string {
  if (check.kind === "command") return `the command ${quote(check.command)} exits with 0`;
  if (check.kind === "review") return `a reviewer scores it at least ${check.least ?? 0.8}: ${check.rubric}`;
  if (check.kind === "person") return `a person confirms: ${check.question}`;
  const holds = check.contains === undefined ? "exists" : `contains ${quote(check.contains)}`;
  return `the file ${quote(check.path)} ${holds}`;
}
