/** Appends an input, or a record of another program. */
import type { AppendRecord } from "../../core/turn/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../command/change-verb.ts";
import { jsonOf, present, readLines, readText } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const append = verb({
  name: "append",
  line: "Append an input to a session, or a record of another program.",
  args: ["ID", "TEXT?"],
  options: {
    from: {
      type: "text",
      choices: ["user", "trigger", "system"],
      what: "the source of the input; by default user",
    },
    key: {
      type: "text",
      what: "a second append with the same key is not written; it returns the first result",
    },
    lines: {
      type: "flag",
      what: "each line of standard input is a separate input, with a line of output each",
    },
    expect: { type: "seq", what: "only if this is the last position" },
    type: { type: "text", value: "x.NAME", what: "a foreign record of this type instead of an input" },
    body: { type: "text", value: "JSON", what: "its body: small, structural, never erased" },
    content: { type: "text", value: "JSON", what: "its content; - reads standard input" },
  },
  about: ["Without TEXT, or with -, the input is read from standard input and stored unchanged."],
  examples: [
    'skein append 4x8kz1 "The base rate is 4.1."  # an input',
    'skein append 4x8kz1 --json < report.md  # a file; the answer has "seq"',
    "tail -f errors.log | skein append 4x8kz1 --lines  # an input a line, as they come",
    'skein append 4x8kz1 "Run it." --key run-2026-11  # once, however often it is called',
    `skein append 4x8kz1 --type x.ci --body '{"build":312}'  # a record that Skein keeps and ignores`,
  ],
  async run({ args, options, out, session }) {
    const foreign = options.type !== undefined;
    checkTogether({ ...options, foreign, text: args.TEXT });
    const found = await session(args.ID);
    if (options.lines) {
      for await (const line of readLines()) {
        await answerChange(out, found, await found.append(inputRecord(line, options.from)), "appended");
      }
      return;
    }
    const record = foreign
      ? await foreignRecord(options)
      : inputRecord(await readText(args.TEXT), options.from);
    const expect = options.expect === undefined ? undefined : { seq: options.expect };
    const written = await found.append(record, present({ key: options.key, expect }));
    await answerChange(out, found, written, "appended");
  },
});

function checkTogether(given: {
  readonly foreign: boolean;
  readonly lines: boolean;
  readonly text: string | undefined;
  readonly from: string | undefined;
  readonly key: string | undefined;
  readonly expect: number | undefined;
  readonly body: string | undefined;
  readonly content: string | undefined;
}): void {
  const { foreign, lines, text, from, key, expect, body, content } = given;
  const any = (...values: readonly unknown[]) => values.some((value) => value !== undefined);
  if (foreign ? lines || any(text, from) : any(body, content)) {
    throw new SkeinError(
      "invalid",
      "append: TEXT, --from and --lines are for an input; --body and --content for a custom record",
      {
        hint: "add --type x.NAME for a custom record, omit it for an input",
      },
    );
  }
  if (lines && any(text, key, expect)) {
    throw new SkeinError("invalid", "append: --lines: not allowed with TEXT, --key or --expect", {
      hint: "pipe the lines in",
    });
  }
}

function inputRecord(text: string, from: string | undefined): AppendRecord {
  if (text === "") {
    throw new SkeinError("invalid", "append: TEXT is missing or empty", {
      hint: "pass a text, or pipe one in",
    });
  }
  const record = { type: "input.received", text } as const;
  return from === undefined ? record : { ...record, from: from as "user" | "trigger" | "system" };
}

async function foreignRecord(options: {
  readonly type: string | undefined;
  readonly body: string | undefined;
  readonly content: string | undefined;
}): Promise<AppendRecord> {
  const { body, content } = options;
  return {
    type: options.type as `x.${string}`,
    ...(body === undefined ? {} : { body: jsonOf("--body", body) }),
    ...(content === undefined ? {} : { content: jsonOf("--content", await readText(content)) }),
  };
}
