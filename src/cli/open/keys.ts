/** Keys that sign bundles, and trusted keys of others: files of the user. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Signer } from "../../runtime/transfer/bundle.ts";
import { configPath } from "./config.ts";

type Env = Readonly<Record<string, string | undefined>>;

export const publicKeyForm = /^[A-Za-z0-9_-]{43}$/;

const keyPath = (env: Env): string => join(dirname(configPath(env)), "key.pem");
const trustedPath = (env: Env): string => join(dirname(configPath(env)), "trusted-keys.json");

/** Makes the one key of this user; never replaces an existing one. */
export function makeKey(env: Env): { readonly path: string; readonly publicKey: string } {
  const path = keyPath(env);
  const privateKey = newPrivateKey();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const text = privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw unwritable(path, cause);
    throw new SkeinError("refused", `keys: ${path} already exists`, {
      hint: '"skein keys show" prints it; move the file away to create another',
    });
  }
  // The process's umask narrows the mode above; a file system may still differ.
  chmodSync(path, 0o600);
  return { path, publicKey: readSigner(env).publicKey };
}

/** A public key that began with a hyphen would be taken for an option on a command line. */
function newPrivateKey(): KeyObject {
  for (;;) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    if (publicKey.export({ format: "jwk" }).x?.startsWith("-") !== true) return privateKey;
  }
}

export function readSigner(env: Env): Signer {
  const path = keyPath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `no key at ${path}`, {
      hint: '"skein keys new" creates one',
      cause,
    });
  }
  try {
    const privateKey = createPrivateKey(text);
    const { x } = createPublicKey(privateKey).export({ format: "jwk" });
    if (privateKey.asymmetricKeyType !== "ed25519" || x === undefined)
      throw new Error("expected an Ed25519 key");
    return {
      publicKey: x,
      sign: (signed) => sign(null, Buffer.from(signed), privateKey).toString("base64url"),
    };
  } catch (cause) {
    throw new SkeinError("invalid", `${path}: expected an Ed25519 key`, {
      hint: 'move the file away; "skein keys new" creates a key',
      cause,
    });
  }
}

/** The public key of this user; null when there is none. */
export const ownPublicKey = (env: Env): string | null => signerIn(env)?.publicKey ?? null;

/** The key of this user; null when there is none. */
export function signerIn(env: Env): Signer | null {
  try {
    return readSigner(env);
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}

/** Names of trusted keys, by key. */
export function trustedKeys(env: Env): ReadonlyMap<string, string> {
  const path = trustedPath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw unwritable(path, cause);
  }
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, string>);
    return new Map(entries.map(([name, key]) => [key, name]));
  } catch (cause) {
    throw new SkeinError("invalid", `${path}: invalid file`, {
      hint: "fix it, or move it away",
      cause,
    });
  }
}

export function trustKey(env: Env, name: string, publicKey: string): void {
  if (!publicKeyForm.test(publicKey)) {
    throw new SkeinError("invalid", `keys: expected a public key, got ${quote(publicKey)}`, {
      hint: 'the 43 characters that "skein keys show" prints',
    });
  }
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,99}$/u.test(name)) {
    throw new SkeinError("invalid", `keys: NAME: invalid name ${quote(name)}`, {
      hint: "use letters, digits, spaces and . _ @ -",
    });
  }
  const known = new Map([...trustedKeys(env)].map(([key, owner]) => [owner, key]));
  const other = known.get(name);
  if (other !== undefined && other !== publicKey) {
    throw new SkeinError("conflict", `keys: another key is trusted as ${quote(name)}`, {
      hint: "use another name",
    });
  }
  const path = trustedPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(Object.fromEntries(known.set(name, publicKey)), null, 2)}\n`;
  try {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

const unwritable = (path: string, cause: unknown): SkeinError =>
  new SkeinError("unavailable", `${path} cannot be read or written`, {
    hint: "check the permissions of file and directory",
    cause,
  });
