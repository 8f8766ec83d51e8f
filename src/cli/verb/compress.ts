/** Compresses a session's context. */
import type { CompressStrategy } from "../../runtime/turn/compress.ts";
import { present } from "../command/input.ts";
import { money } from "../format/money.ts";
import { count, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const strategies = ["prune", "summarize", "extract"] as const satisfies readonly CompressStrategy[];

interface Compacted {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly strategy: CompressStrategy;
  readonly model?: string;
  readonly costNanoUsd?: number | null;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly items?: readonly (readonly [number, number])[];
}

export const compress = verb({
  name: "compress",
  line: "Make a session's context smaller; the transcript stays in the log.",
  args: ["ID"],
  options: {
    strategy: {
      type: "text",
      choices: strategies,
      what: "by default the agent's, or else summarize",
    },
    instructions: { type: "text", what: "what the summary is to keep in mind" },
  },
  about: [
    "prune leaves out old output of tools. summarize has a model replace the older transcript by a " +
      "summary. extract has it take facts, decisions and open tasks out as items first. Items, pending " +
      'work and what is unanswered always stay. "skein context ID --uncompacted" still shows everything.',
  ],
  examples: [
    "skein compress 4x8kz1  # as its agent does it",
    "skein compress 4x8kz1 --strategy prune  # without a model",
    'skein compress 4x8kz1 --strategy extract --instructions "Keep all rates."  # with a wish',
  ],
  async run({ args, options, out, session }) {
    const { strategy, instructions } = options;
    const found = await session(args.ID);
    const { seq: before } = await found.head();
    const { compacted } = await found.compress(
      present({ strategy: strategy as CompressStrategy | undefined, instructions }),
    );
    const compactions: (Compacted & { readonly seq: number })[] = [];
    const types = ["transcript.compacted"];
    for await (const { seq, body } of found.events({ fromSeq: before + 1, types }))
      compactions.push({ ...(body as Compacted), seq });
    await out.answer({ session: found.id, compacted, compactions }, () =>
      compacted ? compactions.map(told) : ["there was nothing to make smaller"],
    );
  },
});

function told(one: Compacted & { readonly seq: number }): string {
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
