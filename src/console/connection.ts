/**
 * Whether the server is reached, and takes who is asking. Every request of the console passes here; while
 * nothing comes through it is tried again and again, and who waits is told when it does.
 */
import { cell } from "./signal.ts";
import { after } from "./world.ts";

/** `out`: the server is there, but takes no login of this browser. */
export type Connection = "live" | "lost" | "out";

export const connection = cell<Connection>("live");
/** Why somebody who was in is out; null when nobody was, or by their own wish. */
export const why = cell<string | null>(null);
/** Goes up whenever the connection was mended, or somebody logged in: time to read again. */
export const mended = cell(0);

const passing = [502, 503, 504];

/** How often somebody logged in here. */
let logins = 0;
/** Whether something was given to this login. */
let wasIn = false;

/** As `fetch`, and heard. While the server is not reached a request waits, and asks now and then only. */
export async function heardFetch(url: string, init: RequestInit): Promise<Response> {
  if (connection.get() === "lost") await reached(init.signal ?? undefined);
  const began = logins;
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted !== true) lose();
    throw error;
  }
  if (passing.includes(response.status)) lose();
  else if (response.status !== 401) settle();
  // What was asked with the login before says nothing of this one.
  else if (began === logins) leave(wasIn ? ended : null);
  wasIn ||= response.ok;
  return response;
}

const heldMs = 5_000;

/** Until something came through, nobody wants it any more, or a while has passed. */
function reached(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      unwatch();
      end();
      signal?.removeEventListener("abort", go);
      resolve();
    };
    const unwatch = connection.watch(go);
    const end = after(heldMs, go);
    signal?.addEventListener("abort", go);
  });
}

const firstWaitMs = 500;
const waitMsMax = 5_000;
let calledOff: (() => void) | null = null;

function lose(): void {
  if (connection.get() !== "live") return;
  connection.set("lost");
  tryAgain(firstWaitMs);
}

const ended = "Your login does not hold any more: it was revoked, or has expired.";

function leave(because: string | null): void {
  calledOff?.();
  why.set(because);
  connection.set("out");
}

/** Whoever is out comes in by a login alone: an answer that was still on its way does not change that. */
function settle(): void {
  if (connection.get() !== "lost") return;
  calledOff?.();
  calledOff = null;
  connection.set("live");
  mended.set(mended.get() + 1);
}

/** Asks whether the server is there, with something that needs no login. */
function tryAgain(waitMs: number): void {
  calledOff?.();
  calledOff = after(waitMs, () => {
    void fetch("/healthz", { cache: "no-store" }).then(
      (response) => (response.ok ? settle() : tryAgain(nextWait(waitMs))),
      () => tryAgain(nextWait(waitMs)),
    );
  });
}

const nextWait = (waitMs: number): number => Math.min(waitMsMax, waitMs * 1.5);

/** At once: somebody is looking, or the machine has a network again. */
export function lookAgain(): void {
  if (connection.get() === "lost") tryAgain(0);
}

/** The token of a login link, or one that was typed in. Null when it was taken, else why not. */
export async function login(token: string): Promise<string | null> {
  const headers = { authorization: `Bearer ${token}`, "skein-client": "1" };
  let answer: Response;
  try {
    answer = await fetch("/v1/login", { method: "POST", headers });
  } catch {
    return "The server cannot be reached.";
  }
  if (answer.ok) {
    logins++;
    connection.set("lost");
    settle();
    return null;
  }
  return "This login does not hold: it was revoked, has expired, or belongs to another server.";
}

export async function logout(): Promise<void> {
  await fetch("/v1/logout", { method: "POST", headers: { "skein-client": "1" } }).catch(() => undefined);
  leave(null);
}

/** A token behind the # of the address, which browsers send to nobody. It does not stay there. */
export async function loginFromAddress(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  history.replaceState(null, "", location.pathname + location.search);
  const refused = await login(token);
  if (refused !== null) leave(refused);
}

if (typeof window !== "undefined") {
  window.addEventListener("online", lookAgain);
  window.addEventListener("offline", () => lose());
}
