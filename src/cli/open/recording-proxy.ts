/** The recording proxy as the commands set it up. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { proxyMount } from "../../adapter/proxy/mount.ts";
import { realWorld } from "../../runtime/world.ts";
import type { Mount } from "../../server/http/mount.ts";
import { lookUpModel } from "./model-lookup.ts";

export interface RecordingProxyOptions {
  readonly upstreams: Readonly<Record<string, string>>;
  readonly budgetUsd: number | undefined;
  readonly unrecorded: "refuse" | "forward";
  readonly trouble: (error: unknown) => void;
}

export function recordingProxy({ budgetUsd, ...rest }: RecordingProxyOptions): Mount {
  const world = realWorld();
  const budget = budgetUsd === undefined ? {} : { budget: { usd: budgetUsd } };
  const clock = (): number => world.steady?.() ?? world.now();
  return proxyMount({ ...rest, ...budget, models: lookUpModel, clock: () => Math.round(clock()) });
}

/** `--upstream NAME=URL`, as often as given. */
export function upstreamsFrom(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((one) => {
      const [, name, url = ""] = /^([a-z0-9][a-z0-9-]{0,30})=(.+)$/.exec(one) ?? [];
      const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && !/[?#]/.test(url);
      if (name !== undefined && isUrl) return [name, url] as const;
      throw new SkeinError("invalid", `--upstream: expected NAME=URL, got ${quote(one)}`, {
        hint: "for example --upstream openai=https://api.openai.com",
      });
    }),
  );
}
