/**
 * The configuration file, and its models. Provider keys may stand in it, or in the environment, which takes
 * precedence. Nothing of this is loaded before a model is needed.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { SkeinError } from "../../core/error.ts";
import type { ModelConfig } from "../../model/model-config.ts";
import type { Models } from "../../model/port.ts";
import type { World } from "../../runtime/world.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The path of the file, whether or not it exists. */
export function configPath(env: Env): string {
  if (env["SKEIN_CONFIG"]) return env["SKEIN_CONFIG"];
  return join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "skein", "config.json");
}

/** Dispose it to end the executors that it has started. */
export async function loadModels(
  world: World,
  env: Env = process.env,
): Promise<Models & Partial<AsyncDisposable>> {
  const [{ makeModels }, { offlineModel }] = await Promise.all([
    import("../../model/models.ts"),
    import("../../model/offline.ts"),
  ]);
  const config = await readConfig(env);
  const offline = offlineModel({ world, paceMs: offlinePaceMs(env) });
  const models = makeModels({ env, offline, ...(config === null ? {} : { config }) });
  const { executors } = parts(readText(env) ?? "{}");
  const { withExecutors } = await import("./executors.ts");
  return withExecutors(models, { config: executors, path: configPath(env), world });
}

/** Null when there is none. */
async function readConfig(env: Env): Promise<ModelConfig | null> {
  const text = readText(env);
  if (text === null) return null;
  const path = configPath(env);
  const { parseModelConfig } = await import("../../model/model-config.ts");
  const { whole, isWhole } = parts(text);
  // An invalid configuration is reported unchanged.
  return parseModelConfig(isWhole ? text : JSON.stringify(whole), path, env);
}

export interface SecretsConfig {
  /** Names of environment variables whose values are secret. */
  readonly names: readonly string[];
  readonly looksLike: boolean;
  /** Provider keys in the file itself. */
  readonly providers: Readonly<Record<string, { readonly key?: unknown } | undefined>>;
}

/** The secrets settings of the file: `{ "secrets": { "names": ["HR_PASSWORD"], "looksLike": false } }`. */
export function readSecrets(env: Env): SecretsConfig {
  const { whole, secrets = {} } = parts(readable(env) ?? "{}");
  const { names = [], looksLike = true, ...others } = secrets as Record<string, unknown>;
  const isList = Array.isArray(names) && names.every((name) => typeof name === "string");
  const [unknown] = Object.keys(others);
  if (!isList || typeof looksLike !== "boolean" || unknown !== undefined) {
    const what = unknown === undefined ? "secrets" : `unknown field "secrets.${unknown}"`;
    throw new SkeinError("invalid", `${configPath(env)}: ${what}: invalid value`, {
      hint: 'for example { "secrets": { "names": ["HR_PASSWORD"], "looksLike": true } }',
    });
  }
  const { providers } = whole as { readonly providers?: unknown };
  const isObject = typeof providers === "object" && providers !== null;
  return {
    names,
    looksLike,
    providers: isObject ? (providers as SecretsConfig["providers"]) : {},
  };
}

/** An unreadable file is reported where a model is needed; other verbs still work. */
function readable(env: Env): string | null {
  try {
    return readText(env);
  } catch {
    return null;
  }
}

/** Invalid JSON has no settings; a verb that needs a model reports it. */
function parts(text: string): {
  /** The rest: models and providers. */
  readonly whole: object;
  readonly isWhole: boolean;
  readonly secrets?: object;
  readonly executors?: unknown;
} {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { whole: {}, isWhole: true };
  }
  const object = typeof value === "object" && value !== null ? value : {};
  if (!("secrets" in object) && !("executors" in object))
    return { whole: Object(value) as object, isWhole: true };
  const { secrets, executors, ...whole } = object as Record<string, unknown>;
  const named = typeof secrets === "object" && secrets !== null ? secrets : { secrets };
  return { whole, isWhole: false, executors, ...("secrets" in object && { secrets: named }) };
}

/** Null when there is none. A file that is named explicitly must exist. */
function readText(env: Env): string | null {
  const path = configPath(env);
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    if (missing && !env["SKEIN_CONFIG"]) return null;
    throw new SkeinError("invalid", `${path}: the configuration cannot be read`, {
      hint: "check SKEIN_CONFIG and the permissions of the file",
      cause,
    });
  }
}

/** The delay of the offline model between two pieces of an answer, to watch it stream. */
function offlinePaceMs(env: Env): number {
  const text = env["SKEIN_OFFLINE_PACE_MS"] ?? "";
  if (text === "") return 0;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new SkeinError(
    "invalid",
    `SKEIN_OFFLINE_PACE_MS: expected milliseconds, got ${JSON.stringify(text)}`,
    {
      hint: "an integer up to 99999",
    },
  );
}
