/** Lists the available models. */
import { realWorld } from "../../runtime/world.ts";
import type { ModelListing } from "../../model/port.ts";
import { configPath, loadModels } from "../open/config.ts";
import { table } from "../format/table.ts";
import { count, oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const models = verb({
  name: "models",
  line: "List the models, with context windows and prices, and what the unavailable ones need.",
  args: [],
  options: { ready: { type: "flag", what: "only those that are ready" } },
  about: [
    "Keys come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY) or the " +
      "configuration: SKEIN_CONFIG, or else skein/config.json in XDG_CONFIG_HOME or ~/.config. There " +
      "you can also set the default model, name servers that speak Chat Completions (Ollama, vLLM, LM " +
      "Studio), and correct context windows and prices. The default is that of the first provider " +
      "with a key, or else offline/offline, which needs neither key nor network. You can name any " +
      "model of a provider; the price of an unlisted one is unknown. A server that speaks Chat " +
      "Completions is listed as a whole, as NAME/*.",
    "Prices are dollars for a million tokens, as of the date that --json shows. It also shows the length " +
      "up to which a model works well (effective), and where that figure is from.",
  ],
  examples: [
    "skein models  # all of them",
    "skein models --ready --json | jq -r .name  # names of those that can be used",
  ],
  async run({ options, out }) {
    const { byDefault, list } = await loadModels(realWorld());
    const all = list().filter(({ ready }) => ready || !options.ready);
    if (out.json) {
      for (const { name, facts, ready, hint, url = null } of all)
        await out.emit({ name, ready, default: name === byDefault, ...facts, hint, url });
      return;
    }
    const columns = [
      { title: "MODEL" },
      { title: "READY", paint: (text: string) => (text.startsWith("yes") ? out.green(text) : out.dim(text)) },
      { title: "WINDOW", align: "right" },
      { title: "PRICE IN/OUT", align: "right" },
      { title: "" },
    ] as const;
    const rows = all.map((one) => row(one, byDefault));
    for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
    out.note(out.dim(`prices are dollars for a million tokens; configuration: ${configPath(process.env)}`));
  },
});

function row({ name, facts, ready, hint, url }: ModelListing, byDefault: string): string[] {
  const { windowTokens, price } = facts;
  const perMillion = (nanoUsd: number): string => String(Number((nanoUsd / 1_000).toFixed(3)));
  const shown = price === null ? "unknown" : `${perMillion(price.input)}/${perMillion(price.output)}`;
  const where = url === undefined ? "" : `any model of ${url}`;
  const remark = name === byDefault ? "the default" : ready ? where : (hint ?? "");
  return [oneLine(name), ready ? "yes" : "no", count(windowTokens), shown, oneLine(remark)];
}
