/** Verbs that show what a session knows and the context of its model. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { CompactionStage } from "../../runtime/read/stages.ts";
import type { CompressStrategy } from "../../runtime/turn/compress.ts";
import { grid, invalid, plain } from "../command/presentation.ts";
import { money } from "../format/money.ts";
import { partName, partText } from "../format/part-text.ts";
import { stateLines } from "../format/state-lines.ts";
import { count, jsonText, manyLines, oneLine, plural } from "../format/text.ts";

export const contextPlain = [
  plain("session.state", { print: (state, { out, nowMs }) => ({ lines: stateLines(state, out, nowMs) }) }),
  plain("session.context", {
    print: (rendered, { found, out }) => ({
      json: { session: found.id, ...rendered },
      lines: rendered.parts.flatMap((part, place) => [
        `${out.bold(partName(part))}  ${out.dim(`${count(rendered.reasons[place]?.tokens ?? 0)} tokens`)}`,
        ...manyLines(partText(part)).map((line) => `  ${line}`),
      ]),
    }),
  }),
  plain("session.tools", {
    print: (offered, { out }) => ({
      lines: grid(
        out,
        ["TOOL", "EFFECT", "RULE", "WHAT IT DOES"],
        offered.map(({ name, effect, rule, description }) => [
          oneLine(name),
          effect,
          rule,
          oneLine(description),
        ]),
      ),
    }),
  }),
  plain("session.compress", {
    async call({ found, params }) {
      const { seq: before } = await found.head();
      const { compacted } = await found.compress(params);
      const compactions: Compaction[] = [];
      const types = ["transcript.compacted"];
      for await (const { seq, body } of found.events({ fromSeq: before + 1, types }))
        compactions.push({ ...(body as Omit<Compaction, "seq">), seq });
      return { session: found.id, compacted, compactions };
    },
    print: ({ compacted, compactions }) => ({
      lines: compacted ? compactions.map(compactionText) : ["there was nothing to make smaller"],
    }),
  }),
  plain("session.stages", {
    print: ({ node, compactedSeq, stages, missing }, { found, args, out }) => ({
      json: { session: found.id, node, compactedSeq, stages, missing },
      lines: [
        ...(node === null ? [] : [out.bold(oneLine(node.title)), ...manyLines(node.summary)]),
        ...stages.flatMap(({ id, fromSeq, toSeq, title, summary }) => [
          `${id}  ${out.bold(oneLine(title))}  ${out.dim(`${fromSeq} to ${toSeq}`)}`,
          ...manyLines(summary).map((line) => `  ${out.dim(line)}`),
        ]),
        ...missing.map(({ kind, text }) => `not in the summary: ${kind}: ${oneLine(text)}`),
      ],
      notes: notesOf(node, compactedSeq, args["ID"] ?? found.id),
    }),
  }),
  plain("session.contract", {
    prepare({ params: { topic, schema } }) {
      if (schema !== undefined && topic === undefined)
        throw invalid("contract: --schema requires TOPIC", "skein contract ID TOPIC --schema FILE");
    },
    async call({ found, params: { topic, schema } }) {
      if (schema !== undefined && topic !== undefined) return found.contract(topic, schema);
      return (await found.contracts()).filter((one) => topic === undefined || one.topic === topic);
    },
    print(result, { found, params: { topic }, args, out }) {
      if ("seq" in result) {
        const { seq, headSeq, duplicate } = result;
        const text = `contract for ${oneLine(topic ?? "")} declared at ${seq} of ${found.id}`;
        return { json: { session: found.id, seq, headSeq, duplicate }, lines: [text] };
      }
      const all = result.map((one) => ({ session: found.id, ...one, schema: one.schema ?? null }));
      const shown = ({ schema }: (typeof result)[number]): string =>
        schema === undefined ? "(erased: no message fits it)" : jsonText(schema);
      if (topic === undefined)
        return {
          json: all,
          lines: result.map((one) => `${oneLine(one.topic)}  ${out.dim(`at ${one.seq}`)}  ${shown(one)}`),
          notes: all.length === 0 ? ["it has declared no contracts"] : [],
        };
      const [json] = all;
      if (json !== undefined) return { json, lines: result.map(shown) };
      throw new SkeinError("not-found", `${found.id} has no contract for ${quote(topic)}`, {
        hint: `"skein contract ${args["ID"]}" lists its contracts`,
      });
    },
  }),
];

function notesOf(node: CompactionStage | null, compactedSeq: number | null, id: string): string[] {
  if (compactedSeq === null) return ["nothing is compacted"];
  if (node === null || node.parts !== 0) return [`"skein stages ${id} NODE" opens a part`];
  return [`"skein log ${id} --from ${node.fromSeq} --to ${node.toSeq}" shows all of it`];
}

interface Compaction {
  readonly seq: number;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly strategy: CompressStrategy;
  readonly model?: string;
  readonly costNanoUsd?: number | null;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly items?: readonly (readonly [number, number])[];
}

function compactionText(one: Compaction): string {
  const { seq, strategy, fromSeq, toSeq, tokensBefore, tokensAfter, model, costNanoUsd, items = [] } = one;
  const found = items.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return [
    `compacted ${fromSeq} to ${toSeq} (${strategy}) at ${seq}:`,
    `${count(tokensBefore)} to ${count(tokensAfter)} tokens`,
    ...(model === undefined ? [] : [`by ${model}`]),
    ...(costNanoUsd === undefined ? [] : [`for ${money(costNanoUsd)}`]),
    ...(found === 0 ? [] : [`with ${plural(found, "item")}`]),
  ].join(" ");
}
