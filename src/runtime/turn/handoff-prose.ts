/**
 * A handoff with prose by a model. The lists come from the log; the model writes the text in front of them.
 * The call works as for a summary: the intent is recorded and the maximum cost reserved before, and the
 * actual cost is recorded with the handoff, or with the failure.
 */
import { SkeinError } from "../../core/error.ts";
import { handoffPrompt, readProse } from "../../core/handoff/prompt.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { askModel, type Summarizer } from "./compact-summary.ts";
import { nextContext } from "../context/context-reader.ts";
import { gatherCrew, type RunContext } from "./run-context.ts";
import { takeDrive } from "./drive.ts";
import type { Deps } from "../deps.ts";
import { handoffCommand, makeText, type Handoff } from "../branch/handoff.ts";
import { keepLease } from "./lease-keeper.ts";
import { safeText } from "../log/redact.ts";
import { settle } from "./broken-call.ts";
import type { StepWorld } from "./step.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { modelOf } from "../context/model-settings.ts";

/** Without a model's text, the handoff comes from the log alone. */
export async function proseHandoff(
  deps: Deps,
  session: SessionId,
  { model, tokensMax }: { readonly model: true | string; readonly tokensMax: number },
): Promise<Handoff | { readonly failed: string }> {
  checkModel(model);
  const { actor } = await agentOf(deps, session, await deps.writer.current(session));
  await using drive = await takeDrive(deps, session, { actor });
  await using keeper = keepLease(deps, drive);
  await using runContext = await gatherCrew(deps, session, await drive.state(), { signal: keeper.signal });
  const step: StepWorld = { deps, drive, runContext, signal: keeper.signal, lesson: null };
  const summarizer = await writerOf(deps, runContext, model);
  const state = await drive.state();
  const plain = await makeText(deps, session, state, tokensMax);
  const prompt = safeText(deps.world, handoffPrompt(plain.text));
  const toSeq = await readableTo(step, summarizer, state, prompt);
  const asked = await askModel(step, summarizer, { toSeq, prompt, reason: "asked" }).catch(ifRefused);
  if (asked.kind === "failed") return { failed: asked.error.message };
  if (asked.kind === "stopped") return { failed: "the model was not asked" };
  const count = await deps.tokenizer.counter();
  const { requestSeq, usage, costNanoUsd } = asked;
  const text = readProse(asked.words, plain.text, { tokensMax, count });
  let made: Handoff = plain;
  let isHeard = true;
  const change = await drive.change(
    async (now) => {
      made = await makeText(deps, session, now, tokensMax, { text, model: summarizer.model.name });
      isHeard = now.standing.reserved?.seq === requestSeq;
      return { ...handoffCommand(deps, made), ...(isHeard ? { usage, costNanoUsd } : {}) };
    },
    { asked: true },
  );
  // The turn ended meanwhile and the call counted as lost: its cost is known after all.
  const over = { do: "fail", model: summarizer.model.name, error: "overtaken", retryable: false } as const;
  if (!isHeard) await settle(drive, { ...over, requestSeq, usage, costNanoUsd });
  return { ...made, seq: change.headSeq };
}

function checkModel(model: unknown): void {
  if (model === true || (typeof model === "string" && model !== "")) return;
  throw new SkeinError("invalid", `handoff: model: expected true or a model name, got ${quote(model)}`, {
    hint: 'true for the session\'s own, or a name such as "anthropic/claude-sonnet-5-5"',
  });
}

async function writerOf(deps: Deps, runContext: RunContext, model: true | string): Promise<Summarizer> {
  if (model === true || model === runContext.model.name)
    return {
      model: runContext.model,
      settings: runContext.settings,
      windowTokens: runContext.model.facts.windowTokens,
    };
  const chosen = await modelOf(deps, model);
  const settings = { model: chosen.name, images: chosen.facts.images };
  return { model: chosen, settings, windowTokens: chosen.facts.windowTokens };
}

/** The whole context if the model can read it; else only its beginning, and the handoff. */
async function readableTo(
  { deps, drive }: StepWorld,
  { settings, windowTokens }: Summarizer,
  state: State,
  prompt: string,
): Promise<number> {
  const whole = { state, settings, inputs: [], toSeq: state.seq, prompt };
  const { parts } = await nextContext(deps, drive.session, whole);
  const { tokens } = await deps.tokenizer.estimate(parts);
  return tokens <= windowTokens * 0.85 ? state.seq : 1;
}

/** Without money for it the handoff has no prose. */
function ifRefused(error: unknown): { readonly kind: "failed"; readonly error: Error } {
  if (error instanceof SkeinError && error.code === "refused") return { kind: "failed", error };
  throw error;
}
