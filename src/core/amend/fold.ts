/** The fold of an amendment. */
import { type Folds, heard, refOf, stand } from "../state-change.ts";
import type { ModelSettings, Standing } from "../state.ts";
import type { SettingsChange } from "./commands.ts";
import type { amendEvents } from "./events.ts";

export const amendFolds: Folds<keyof typeof amendEvents> = {
  "session.amended": (state, event) => {
    const { standing } = state;
    const { body, seq } = event;
    const { agent, version = 0, has, temperature, reasoning, outputTokensMax } = body;
    const texts = { ...standing.texts, ...Object.fromEntries(has.map((name) => [name, seq])) };
    const amended = stand(state, {
      texts,
      front: standing.front ?? frontAt(standing, seq),
      settings: changed(standing.settings, { temperature, reasoning, outputTokensMax }),
      ...(has.includes("objective") ? { objective: refOf(event) } : {}),
      ...(agent === undefined ? {} : { agent: { name: agent, version, seq } }),
    });
    return heard(amended, seq);
  },
};

/** What the context that is being sent begins with; null before its first request: then nothing is. */
const frontAt = ({ agent, texts, renderer }: Standing, sinceSeq: number): Standing["front"] =>
  renderer === null ? null : { agent, texts, sinceSeq };

function changed(
  settings: ModelSettings,
  change: { readonly [K in keyof SettingsChange]: unknown },
): ModelSettings {
  const next = new Map<string, unknown>(Object.entries(settings));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) next.delete(name);
    else if (value !== undefined) next.set(name, value);
  }
  return Object.fromEntries(next);
}
