/**
 * The local token: it allows everything, acts as the local user, and lies in a file that only they can read.
 * The file is written before the token is issued: after a crash in between the next start finds and issues
 * it.
 */
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseAccessToken } from "../../core/workspace/access-token.ts";
import { SkeinError } from "../../core/error.ts";
import { joinHosts, splitHosts } from "../../core/text/host-list.ts";
import { isPrincipalId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { newToken } from "../../runtime/workspace/tokens.ts";
import type { World } from "../../runtime/world.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { hasFileModes } from "../../platform/file-mode.ts";

export interface LocalToken {
  readonly token: string;
  /** True when it is a new one. */
  readonly made: boolean;
}

export interface LocalTokenOptions {
  readonly world: Pick<World, "now" | "random">;
  /** Null: it is stored nowhere, and lasts as long as the store does. */
  readonly path: string | null;
}

/** Beside a store in a file; for others, in the user's state directory. */
export function localTokenPath(
  place: string,
  env: Readonly<Record<string, string | undefined>>,
  digest: World["digest"],
): string | null {
  if (place === "memory:") return null;
  if (!/^[a-z][a-z0-9+]+:\/\//.test(place)) return `${resolve(place)}.token`;
  const { plain, hosts } = splitHosts(place);
  const url = new URL(plain);
  url.password = "";
  const { XDG_STATE_HOME: state = "" } = env;
  const folder = state.startsWith("/") ? state : join(env["HOME"] ?? homedir(), ".local", "state");
  return join(folder, "skein", `${digest("", joinHosts(url.href, hosts)).slice(0, 16)}.token`);
}

/** A link to the page, logged in. The part behind # stays in the browser. */
export const loginLink = (origin: string, token: string): string => `${origin}/#token=${token}`;

/** The key that seals logins: the same after a restart, as long as the local token is. */
export const cookieKeyFrom = (token: string, digest: World["digest"]): Uint8Array =>
  Buffer.from(digest("", `skein login\n${token}`), "hex");

/** The stored token, if it is valid; else a new one. */
export async function openLocalToken(
  engine: Engine,
  { world, path }: LocalTokenOptions,
): Promise<LocalToken> {
  const { tenant } = internalsOf(engine);
  if (path === null) return { token: await issue(engine, newToken(world, tenant)), made: true };
  for (let tries = 0; tries < 3; tries++) {
    const kept = readPrivate(path);
    if (kept !== null) {
      const { token, isPrivate } = kept;
      const holds = (await engine.checkToken(token)) !== null;
      if (isPrivate && holds) return { token, made: false };
      if (isPrivate && parseAccessToken(token)?.tenant === tenant && !(await wasIssued(engine, token)))
        return { token: await issue(engine, token), made: true };
      if (holds)
        await engine.revokeToken(idOf(token), { reason: "the token file was readable by other users" });
      rmSync(path, { force: true });
    }
    const made = newToken(world, tenant);
    // Another starting server may have been first: then its token is used.
    if (writePrivate(path, made)) return { token: await issue(engine, made), made: true };
  }
  throw new SkeinError("conflict", "the token file changed while it was read", { hint: path });
}

const idOf = (token: string): string => parseAccessToken(token)?.id ?? "";

async function wasIssued(engine: Engine, token: string): Promise<boolean> {
  const id = idOf(token);
  return (await engine.tokens({ all: true })).some((one) => one.id === id);
}

async function issue(engine: Engine, token: string): Promise<string> {
  const principal = internalsOf(engine).actor.replace(/^user:/, "");
  const whose = isPrincipalId(principal) ? { principal } : {};
  await engine.addToken({ name: "local login", scopes: ["admin"], token, ...whose });
  return token;
}

/**
 * Null without a file, or with an empty one, which a sandbox creates to cover it. A link is not followed. Two
 * servers that write into an empty file at once append, and the first line counts for both.
 */
function readPrivate(path: string): { readonly token: string; readonly isPrivate: boolean } | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(path, error);
  }
  try {
    const { mode, uid, size } = fstatSync(file);
    const isMine = uid === (process.getuid?.() ?? uid);
    const isPrivate = isMine && ((mode & 0o077) === 0 || !hasFileModes);
    if (size === 0) return null;
    const [token = ""] = size > 1_000 ? [] : readFileSync(file, "utf8").trim().split("\n");
    // Any other file is not ours to remove.
    if (parseAccessToken(token) === null) throw new Error("the file has no token");
    return { token, isPrivate };
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

const unreadable = (path: string, cause: unknown): SkeinError =>
  new SkeinError("unavailable", `the token file cannot be used: ${path}`, {
    hint: "remove it; Skein creates a new one",
    cause,
  });

/** Atomic and durable. False when one exists. */
function writePrivate(path: string, token: string): boolean {
  const draft = `${path}.${process.pid}`;
  try {
    if (existsSync(path)) {
      fillEmpty(path, token);
      return false;
    }
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(draft, { force: true });
    const file = openSync(draft, "wx", 0o600);
    try {
      writeFileSync(file, `${token}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw unreadable(path, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** In place: a new file under this name would not be covered in running sandboxes. */
function fillEmpty(path: string, token: string): void {
  const { O_WRONLY, O_APPEND, O_NOFOLLOW } = constants;
  const file = openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW);
  try {
    const { size, uid } = fstatSync(file);
    if (size > 0 || uid !== (process.getuid?.() ?? uid)) return;
    fchmodSync(file, 0o600);
    writeFileSync(file, `${token}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
