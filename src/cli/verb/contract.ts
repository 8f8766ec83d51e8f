/** Declares, shows and lists what messages on a topic must look like. */
import { readFileSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { errorText } from "../../core/first-error.ts";
import { answerChange } from "../command/change-verb.ts";
import { jsonOf, readText } from "../command/input.ts";
import { jsonText, oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const contract = verb({
  name: "contract",
  line: "Declare what messages on a topic must look like, or show it.",
  args: ["ID", "TOPIC?"],
  options: {
    schema: { type: "text", value: "FILE", what: "a JSON Schema; with a dash, standard input" },
  },
  about: [
    "With --schema messages on the topic are held to it from now on: whoever sends one that does not fit " +
      "is told why, and nothing is written. A message is a text; it fits if the JSON that it spells does, " +
      "or the text itself. Messages on other topics, or on none, pass. The schema true takes anything again.",
    "Without --schema it shows the contract for TOPIC, or lists all of them.",
  ],
  examples: [
    "skein contract 4x8kz1 rates --schema rates.schema.json  # declare",
    "skein contract 4x8kz1 rates  # show the schema",
    "skein contract 4x8kz1  # list the topics",
  ],
  async run({ args, options, out, session }) {
    const found = await session(args.ID);
    const topic = args.TOPIC;
    if (options.schema !== undefined) {
      if (topic === undefined) {
        throw new SkeinError("invalid", "contract: --schema is for a topic", {
          hint: "skein contract ID TOPIC --schema FILE",
        });
      }
      const where = options.schema === "-" ? "standard input" : options.schema;
      const schema = jsonOf(`the schema in ${where}`, await read(options.schema), example);
      const written = await found.contract(topic, schema);
      return answerChange(out, found, written, `contract for ${oneLine(topic)} declared`);
    }
    const all = await found.contracts();
    if (topic === undefined) {
      if (all.length === 0 && !out.json) return out.note("it has declared no contracts");
      for (const one of all) {
        if (out.json) await out.emit({ session: found.id, ...one, schema: one.schema ?? null });
        else await out.line(`${oneLine(one.topic)}  ${out.dim(`at ${one.seq}`)}  ${shown(one.schema)}`);
      }
      return;
    }
    const one = all.find((known) => known.topic === topic);
    if (one === undefined) {
      throw new SkeinError("not-found", `${found.id} has no contract for ${quote(topic)}`, {
        hint: `"skein contract ${args.ID}" lists those it has`,
      });
    }
    await out.answer({ session: found.id, ...one, schema: one.schema ?? null }, () => [shown(one.schema)]);
  },
});

const example =
  'it must hold a JSON Schema, such as {"type":"object","properties":{"rate":{"type":"number"}}}';

const shown = (schema: unknown): string =>
  schema === undefined ? "(erased: no message fits it)" : jsonText(schema);

async function read(file: string): Promise<string> {
  if (file === "-") return readText(undefined);
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const why = errorText(cause);
    throw new SkeinError("not-found", `contract: ${quote(file)} cannot be read: ${why}`, {
      hint: "give the path of a file with a JSON Schema",
      cause,
    });
  }
}
