/**
 * The configuration file, and the models it gives. Providers' keys may stand in it, or in the environment,
 * which goes before. Nothing of this is loaded before a model is needed.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { SkeinError } from "../core/error.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { Models } from "../model/port.ts";
import type { World } from "../runtime/world.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Where the file is looked for, whether or not it is there. */
export function configPath(env: Env): string {
  if (env["SKEIN_CONFIG"]) return env["SKEIN_CONFIG"];
  return join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "skein", "config.json");
}

export async function loadModels(world: World, env: Env = process.env): Promise<Models> {
  const [{ makeModels }, { offlineModel }] = await Promise.all([
    import("../model/models.ts"),
    import("../model/offline.ts"),
  ]);
  const config = await readConfig(env);
  const offline = offlineModel({ world, paceMs: offlinePaceMs(env) });
  return makeModels({ env, offline, ...(config === null ? {} : { config }) });
}

/** Null when there is none. A file that was asked for by name must be there. */
async function readConfig(env: Env): Promise<ModelConfig | null> {
  const path = configPath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    if (missing && !env["SKEIN_CONFIG"]) return null;
    throw new SkeinError("invalid", `the configuration ${path} cannot be read`, {
      hint: "check SKEIN_CONFIG and the permissions of the file",
      cause,
    });
  }
  const { parseModelConfig } = await import("../model/model-config.ts");
  return parseModelConfig(text, path, env);
}

/** How long the offline model takes between two pieces of an answer, for whoever wants to see it stream. */
function offlinePaceMs(env: Env): number {
  const text = env["SKEIN_OFFLINE_PACE_MS"] ?? "";
  if (text === "") return 0;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new SkeinError("invalid", `SKEIN_OFFLINE_PACE_MS is ${JSON.stringify(text)}`, {
    hint: "a whole number of milliseconds, up to 99999",
  });
}
