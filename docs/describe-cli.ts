/** docs/cli.md: the reference of the command line, from the definitions of the verbs. */
import { globalOptions } from "../src/cli/command/args.ts";
import { exitCodes } from "../src/cli/command/exit-code.ts";
import { environment, usagesOf } from "../src/cli/command/help.ts";
import type { Options, Verb } from "../src/cli/command/verb.ts";
import { loadGroups } from "../src/cli/command/verbs.ts";
import { cell } from "./describe-calls.ts";

const intro = `# Command line

After this page you can look up every verb with its options, and what an exit code means to a script.

\`skein VERB [ID] [options]\`. A unique suffix of an id, of at least 4 characters, is accepted in its place.
\`TIME\` and \`SPAN\` are explained [below](#times-and-durations). \`skein help VERB\` prints the same texts.
Generated from \`src/cli\` by \`npm run docs\`.
`;

const times = `## Times and durations

- \`SPAN\` is a duration: \`90s\`, \`30m\`, \`2h\` or \`1d\`.
- \`TIME\` is a date or time (\`2026-11-01\`, \`2026-11-01T09:30\`, \`2026-11-01T09:30:00Z\`), a duration, or
  milliseconds since 1970. A date means the beginning of that day: \`log --until 2026-11-16\` leaves
  that day out. Where an option selects past events, a duration counts back from now: \`log --since 2h\`.
  Where it sets a future time, it counts forward: \`sleep --until 2h\`.
- In a position (\`ID@TIME\`, and options that take \`SEQ|NAME|TIME\`) a date means the end of that day:
  \`ID@2026-11-16\` includes it. \`yesterday\` and \`-2h\` are times as well.
- **Zones.** On the command line a time without a zone is in your zone (that of \`TZ\` or the system). So is a
  cron expression without \`--zone\`, and a label \`deadline\`. Skein shows the moment with its zone. The library
  and HTTP take milliseconds, or ISO 8601 with a zone (\`2026-11-01T09:30:00Z\`), and refuse times without one;
  a cron expression without \`zone\` is in UTC there.
`;

export async function describeCli(): Promise<string> {
  const groups = await loadGroups();
  const parts = groups.flatMap(({ title, verbs }) => [`## ${title}`, "", ...verbs.map(describeVerb)]);
  const codes = exitCodes.map(({ code, meaning }) => `| ${code} | ${cell(meaning)} |`);
  const variables = environment.map(([name, meaning]) => `| \`${name}\` | ${escapeMarkdown(meaning)} |`);
  return [
    intro,
    "## Exit codes",
    "",
    "| code | meaning |",
    "|---|---|",
    ...codes,
    "",
    times,
    "## Options of every verb",
    "",
    ...optionTable(globalOptions),
    "",
    "## Environment",
    "",
    "| variable | meaning |",
    "|---|---|",
    ...variables,
    "",
    ...parts,
  ].join("\n");
}

/** The anchor of each verb. */
export const verbAnchors = async (): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (await loadGroups()).flatMap(({ verbs }) => verbs.map(({ name }) => [name, `skein-${name}`] as const)),
  );

function describeVerb(verb: Verb): string {
  const { name, line, options, about = [], examples } = verb;
  const shown = examples.flatMap(({ command, what }) => [`# ${what}`, command, ""]).slice(0, -1);
  return [
    `### skein ${name}`,
    "",
    escapeMarkdown(line),
    "",
    "````text",
    ...usagesOf(verb),
    "````",
    "",
    ...(Object.keys(options).length === 0 ? [] : [...optionTable(options), ""]),
    ...about.flatMap((text) => [escapeMarkdown(text), ""]),
    ...(shown.length === 0 ? [] : ["````sh", ...shown, "````", ""]),
  ].join("\n");
}

const optionTable = (options: Options): string[] => [
  "| option | value | meaning |",
  "|---|---|---|",
  ...Object.entries(options).map(([name, { type, short, value, choices, what }]) => {
    const shown = type === "flag" ? "" : (choices?.join(" | ") ?? value ?? type.toUpperCase());
    const spelled = `${short === undefined ? "" : `-${short}, `}--${name}`;
    const more = type === "list" ? "; may be repeated" : "";
    return `| \`${spelled}\` | ${shown === "" ? "" : `\`${cell(shown)}\``} | ${escapeMarkdown(what)}${more} |`;
  }),
];

const escapeMarkdown = (text: string): string => cell(text.replaceAll(/[*_<>]/g, "\\$&"));
