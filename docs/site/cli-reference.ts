/** The command-line reference, from the definitions of the verbs. */
import { globalOptions, shownArg } from "../../src/cli/command/args.ts";
import { exitCodes } from "../../src/cli/command/exit-code.ts";
import type { Options, Verb } from "../../src/cli/command/verb.ts";
import { loadGroups } from "../../src/cli/command/verbs.ts";
import type { Member } from "./markdown.ts";

export interface CliReference {
  readonly markdown: string;
  /** The anchor of each verb. */
  readonly verbs: ReadonlyMap<string, string>;
}

export async function describeCli(): Promise<CliReference> {
  const groups = await loadGroups();
  const verbs = new Map(groups.flatMap((group) => group.verbs.map(({ name }) => [name, `skein-${name}`])));
  const intro = [
    "# Command line",
    "",
    "`skein VERB [ID] [options]`. A unique suffix of an id is accepted in place of the id. Times are UTC. " +
      "`skein help VERB` prints the same text as this page.",
    "",
    "## Options of every verb",
    "",
    members(optionRows(globalOptions)),
    "",
    "## Exit codes",
    "",
    "| code | meaning |",
    "|---|---|",
    ...exitCodes.map(({ code, meaning }) => `| ${code} | ${meaning.replaceAll("|", "\\|")} |`),
    "",
  ];
  const parts = groups.flatMap(({ title, verbs: own }) => [`## ${title}`, "", ...own.map(describeVerb)]);
  return { markdown: [...intro, ...parts].join("\n"), verbs };
}

function describeVerb({ name, line, args, options, about = [], examples }: Verb): string {
  const rows = optionRows(options);
  const usage = ["skein", name, ...args.map(shownArg), ...(rows.length === 0 ? [] : ["[options]"])].join(" ");
  const shown = examples.flatMap(({ command, what }) => [`# ${what}`, command, ""]).slice(0, -1);
  return [
    `### skein ${name}`,
    "",
    line,
    "",
    "````text",
    usage,
    "````",
    "",
    ...(rows.length === 0 ? [] : [members(rows), ""]),
    ...about.flatMap((text) => [escapeMarkdown(text), ""]),
    ...(shown.length === 0 ? [] : ["````sh", ...shown, "````", ""]),
  ].join("\n");
}

const optionRows = (options: Options): Member[] =>
  Object.entries(options).map(([name, { type, short, value, choices, what }]) => ({
    name: `${short === undefined ? "" : `-${short}, `}--${name}`,
    type: type === "flag" ? "" : (choices?.join(" | ") ?? value ?? type.toUpperCase()),
    text: escapeMarkdown(what),
    ...(type === "list" ? { tag: "repeatable" } : {}),
  }));

const escapeMarkdown = (text: string): string => text.replaceAll(/[*_<>]/g, "\\$&");
const members = (rows: readonly Member[]): string =>
  `\`\`\`\`members options\n${JSON.stringify(rows)}\n\`\`\`\``;
