/**
 * Calls to URLs that clients name. The operator allows them by naming a secret, from which all keys derive:
 * one signs each call (Ed25519, so that receivers need no shared secret), one makes tokens, one seals what
 * clients want to be called with. Every server of the store needs the same secret.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  hkdfSync,
  sign,
} from "node:crypto";
import { SkeinError } from "../core/error.ts";
import { checkUrl, isPrivateHost, post, type Outbound, type PostResult } from "../platform/outbound.ts";

/** The operator's settings. */
export interface PushSettings {
  /** At least 32 characters. */
  readonly secret: string;
  /** Whether addresses of this machine, by http, and of private networks may be called. */
  readonly allowPrivate: boolean;
  readonly resolve?: Outbound["resolve"];
}

/** A public key, as receivers find it. */
interface SigningKey {
  readonly kid: string;
  readonly [field: string]: unknown;
}

/** A call, and when it is abandoned. */
export interface PushCall {
  readonly url: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface PushCalls {
  /** The public half of the signing key. */
  readonly key: SigningKey;
  /** The URL, if it may be called. Throws otherwise; its name is resolved and checked with each call. */
  checkUrl(text: unknown): string;
  /** One signed call. Resolves to any response; a short body is read. */
  send(world: Outbound["world"], nowMs: number, call: PushCall): Promise<PostResult>;
  /** A text that only this secret makes of a name. */
  tokenFor(name: string): string;
  /** Encrypts a text for the log. `name` is what it belongs to. */
  seal(name: string, text: string): string;
  /** Null when it was sealed with another secret, or for another name. */
  open(name: string, sealed: string): string | null;
}

const secretCharsMin = 32;
const responseBytesMax = 65_536;
const ivBytes = 12;
const tagBytes = 16;
/** What precedes the 32 bytes of an Ed25519 key in PKCS 8. */
const keyPrefix = Buffer.from("302e020100300506032b657004220420", "hex");
const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

export function makePushCalls({ secret, allowPrivate, resolve }: PushSettings): PushCalls {
  if (secret.length < secretCharsMin)
    throw new SkeinError("invalid", `push secret: expected at least ${secretCharsMin} characters`, {
      hint: "for example: openssl rand -hex 32",
    });
  const keyFor = (use: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, "", `skein push ${use}`, 32));
  const signing = createPrivateKey({
    key: Buffer.concat([keyPrefix, keyFor("signing")]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(signing).export({ format: "jwk" });
  const thumbprint = hash("sha256", JSON.stringify({ crv: "Ed25519", kty: "OKP", x }), "base64url");
  const kid = `ds_${thumbprint.slice(0, 16)}`;
  const [tokens, sealing] = [keyFor("token"), keyFor("seal")];
  return {
    key: { kty: "OKP", crv: "Ed25519", kid, use: "sig", alg: "EdDSA", x },
    checkUrl(text) {
      const url = checkUrl(text);
      const isLocal = allowPrivate && loopback.test(url.hostname);
      if (url.protocol !== "https:" && !isLocal)
        throw new SkeinError("invalid", "url: expected https", {
          hint: "http is for this machine, on a server that was started with --allow-private",
        });
      if (!allowPrivate && (isPrivateHost(url.hostname) || loopback.test(url.hostname)))
        throw new SkeinError("invalid", "url: a private address is not allowed", {
          hint: "the operator can allow it with --allow-private",
        });
      return url.href;
    },
    send(world, nowMs, { url, body, headers = {}, signal }) {
      const at = Math.floor(nowMs / 1_000);
      const signature = sign(null, Buffer.from(`${at}.${body}`), signing).toString("base64url");
      const outbound = { world, allowPrivate, ...(resolve === undefined ? {} : { resolve }) };
      return post(outbound, url, {
        body,
        headers: {
          "content-type": "application/json",
          "user-agent": "skein",
          ...headers,
          "webhook-signature": `t=${at},kid=${kid},ed25519=${signature}`,
        },
        readMax: responseBytesMax,
        ...(signal === undefined ? {} : { signal }),
      });
    },
    tokenFor: (name) => createHmac("sha256", tokens).update(name).digest("base64url"),
    seal(name, text) {
      // Derived from what is sealed: the same text is sealed with the same bytes, and no other ever is.
      const iv = createHmac("sha256", sealing).update(`${name}\n${text}`).digest().subarray(0, ivBytes);
      const cipher = createCipheriv("aes-256-gcm", sealing, iv).setAAD(Buffer.from(name));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(name, sealed) {
      const bytes = Buffer.from(sealed, "base64url");
      try {
        const cipher = createDecipheriv("aes-256-gcm", sealing, bytes.subarray(0, ivBytes));
        cipher.setAAD(Buffer.from(name));
        cipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        const text = cipher.update(bytes.subarray(ivBytes + tagBytes));
        return Buffer.concat([text, cipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
  };
}

const againMsMin = 1_000;
const againMsMax = 60_000;

/** How long to wait after so many failed attempts: 1 s and twice as long each time, up to 60 s, ± 20 %. */
export function retryDelayMs(attempts: number, random: number): number {
  const ms = Math.min(againMsMin * 2 ** Math.max(0, Math.min(attempts, 20) - 1), againMsMax);
  return Math.round(ms * (0.8 + 0.4 * random));
}
