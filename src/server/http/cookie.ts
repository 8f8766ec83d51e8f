/**
 * The cookie of a login. It holds the token, sealed with a key that only this server has: a stolen cookie
 * reveals no token, and is useless once it expires. All ports of a host share cookies, so its name contains
 * the port.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";

export interface Cookies {
  /** The value of `Set-Cookie`. */
  seal(token: string, options: { readonly secure: boolean }): string;
  /** The value of `Set-Cookie` that removes it. */
  readonly cleared: string;
  /** The token in the header `Cookie`; null when this server made none that is still valid. */
  open(header: string | undefined): string | null;
}

export interface CookieOptions {
  readonly port: number;
  /** 32 bytes. */
  readonly key: Uint8Array;
  readonly world: { readonly now: () => number; readonly random: (count: number) => Uint8Array };
  /** How long a login is valid. */
  readonly holdsMs: number;
}

const [ivBytes, tagBytes] = [12, 16];
/** No cookie made here is longer. */
const charsMax = 512;

export const cookieName = (port: number): string => `skein-${port}`;

export function makeCookies({ port, key, world, holdsMs }: CookieOptions): Cookies {
  const name = cookieName(port);
  const rules = "HttpOnly; SameSite=Strict; Path=/";

  function seal(token: string, { secure }: { readonly secure: boolean }): string {
    const iv = world.random(ivBytes);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(name));
    const text = `${world.now() + holdsMs}\n${token}`;
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    const value = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
    const age = `Max-Age=${Math.floor(holdsMs / 1_000)}`;
    return `${name}=${value}; ${age}; ${rules}${secure ? "; Secure" : ""}`;
  }

  function unseal(value: string): string | null {
    const bytes = Buffer.from(value, "base64url");
    if (bytes.length <= ivBytes + tagBytes) return null;
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
      const [untilMs = "0", token = ""] = opened.toString("utf8").split("\n");
      return Number(untilMs) > world.now() ? token : null;
    } catch {
      return null;
    }
  }

  return {
    seal,
    cleared: `${name}=; Max-Age=0; ${rules}`,
    open(header = "") {
      for (const pair of header.split(";")) {
        const [given, value = ""] = pair.trim().split("=", 2);
        if (given === name && value !== "" && value.length <= charsMax) return unseal(value);
      }
      return null;
    },
  };
}
