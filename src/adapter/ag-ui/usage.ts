/** The tokens of a run, by model. */

interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

/** Adds up what the answers of a run used. */
export class UsageSum {
  readonly #byModel = new Map<string, Required<Tokens>>();

  add({
    model = "",
    usage,
  }: {
    readonly model?: string | undefined;
    readonly usage?: Tokens | undefined;
  }): void {
    if (usage === undefined) return;
    const before = this.#byModel.get(model);
    this.#byModel.set(model, {
      inputTokens: (before?.inputTokens ?? 0) + usage.inputTokens,
      outputTokens: (before?.outputTokens ?? 0) + usage.outputTokens,
      cachedInputTokens: (before?.cachedInputTokens ?? 0) + (usage.cachedInputTokens ?? 0),
      reasoningTokens: (before?.reasoningTokens ?? 0) + (usage.reasoningTokens ?? 0),
    });
  }

  list(): readonly object[] {
    return [...this.#byModel].map(([model, used]) => ({
      ...(model === "" ? {} : { model }),
      ...used,
      totalTokens: used.inputTokens + used.outputTokens,
    }));
  }
}
