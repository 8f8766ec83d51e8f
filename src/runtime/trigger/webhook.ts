/** Webhooks: a call by token fires a trigger, once for each delivery, with the body as input. */
import { isFull } from "../../core/message/decide.ts";
import { SkeinError } from "../../core/error.ts";
import { isWorkspaceId, quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State, TriggerRef } from "../../core/state.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";
import { changeThere } from "../log/forward.ts";
import { liveSession } from "../read/successor.ts";
import { causeKey, specOf } from "./fire.ts";
import { fireTemplate, foldedTemplates, openedFor, withContent, type TriggerTemplate } from "./templates.ts";
import { isSameText, nameMark, readToken, signatureOf } from "./webhook-token.ts";

/** A call of a webhook: its body and headers. */
export interface WebhookCall {
  /** Text in UTF-8. */
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** The result of a call. */
export interface WebhookAnswer {
  readonly session: SessionId;
  /** True: the same delivery arrived before, and nothing was written now. */
  readonly duplicate: boolean;
}

/** Headers by which callers name a delivery, so that the same one counts once. */
const deliveryHeaders = ["x-skein-delivery", "x-github-delivery", "idempotency-key"];
const signatureHeaders = ["x-skein-signature", "x-hub-signature-256"];

export async function callWebhook(deps: Deps, token: string, call: WebhookCall = {}): Promise<WebhookAnswer> {
  const place = readToken(token);
  if (place === null) throw unknown();
  const headers = new Map(
    Object.entries(call.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value ?? ""]),
  );
  const bytes = typeof call.body === "string" ? Buffer.from(call.body) : (call.body ?? new Uint8Array());
  if (isWorkspaceId(place.owner)) {
    const template = await templateFor(deps, place.mark, token);
    const { text, once, digest, detail } = read(deps, template.name, template.spec, { bytes, headers });
    const opened = await fireTemplate(deps, template, { digest, text, detail, ...(once && { once }) });
    if (opened !== null) return { session: opened, duplicate: false };
    const before = once === undefined ? undefined : await openedFor(deps, template, once);
    if (before === undefined) throw unknown();
    return { session: before, duplicate: true };
  }
  return fireAt(deps, place.owner, place.mark, token, { bytes, headers });
}

/** The trigger may have gone over to a successor: address and deliveries stay those of the first. */
async function fireAt(
  deps: Deps,
  owner: SessionId,
  mark: string,
  token: string,
  given: WebhookInput,
): Promise<WebhookAnswer> {
  for (let tries = 0; ; tries++) {
    const live = await liveSession(deps, owner).catch(ifUnknown);
    try {
      const { name, trigger, spec } = await triggerFor(deps, live, mark, token);
      const { text, once, digest, detail } = read(deps, name, spec, given);
      const { seq: setSeq, origin } = trigger;
      const build = ({ standing }: State) => {
        if (isFull(standing.inbox))
          throw new SkeinError("refused", `the inbox of ${live} is full`, { hint: "try again later" });
        return { do: "fire", name, setSeq, digest, text, detail } as const;
      };
      const firstSeq = origin?.session === owner ? origin.seq : setSeq;
      const key = once === undefined ? undefined : causeKey(deps, { name, setSeq: firstSeq }, once);
      const change = { session: owner, live, build, key };
      const { duplicate, session } = await changeThere(deps, change, { actor: "system" });
      return { session, duplicate };
    } catch (error) {
      // It went on as another session meanwhile.
      const again =
        tries < limit.unknownRetriesMax && (await liveSession(deps, owner).catch(ifUnknown)) !== live;
      if (!again) throw error;
    }
  }
}

function ifUnknown(cause: unknown): never {
  throw cause instanceof SkeinError && cause.code === "not-found" ? unknown() : cause;
}

type Hook = SpecOf<"webhook">;

async function triggerFor(
  deps: Deps,
  session: SessionId,
  mark: string,
  token: string,
): Promise<{ readonly name: string; readonly trigger: TriggerRef; readonly spec: Hook }> {
  const { world, writer } = deps;
  const state = await writer.current(session).catch(ifUnknown);
  for (const [name, trigger] of state.standing.triggers.entries()) {
    if (trigger.kind !== "webhook" || nameMark(world, name) !== mark) continue;
    const spec = await specOf(deps, session, trigger);
    if (isMeant(deps, spec, token)) return { name, trigger, spec };
  }
  throw unknown();
}

async function templateFor(
  deps: Deps,
  mark: string,
  token: string,
): Promise<TriggerTemplate & { readonly spec: Hook }> {
  // Whatever workspace it names: a template that moved keeps its token.
  for (const ref of (await foldedTemplates(deps)).refs.values()) {
    if (ref.kind !== "webhook" || nameMark(deps.world, ref.name) !== mark) continue;
    const template = await withContent(deps, ref);
    const { spec } = template;
    if (isMeant(deps, spec, token)) return { ...template, spec };
  }
  throw unknown();
}

const isMeant = ({ world }: Deps, spec: { readonly kind: string } | null, token: string): spec is Hook =>
  spec?.kind === "webhook" && isSameText((spec as Hook).digest ?? "", world.digest("", token));

/** The same error for every invalid token: it reveals nothing. */
const unknown = (): SkeinError =>
  new SkeinError("not-found", "webhook not found", {
    hint: 'the token was removed or replaced; "skein trigger add" creates a new one',
  });

interface WebhookInput {
  readonly bytes: Uint8Array;
  readonly headers: ReadonlyMap<string, string>;
}

/** The body of a call, once its signature is verified. */
function read(
  { world }: Deps,
  name: string,
  spec: Hook,
  { bytes, headers }: WebhookInput,
): { readonly text: string; readonly once?: string; readonly digest: string; readonly detail: object } {
  if (bytes.length > limit.webhookBytesMax) {
    throw new SkeinError(
      "invalid",
      `webhook: body: expected at most ${limit.webhookBytesMax} bytes, got ${bytes.length}`,
      {
        hint: "send a link to the data instead",
      },
    );
  }
  checkSignature(world, spec, { bytes, headers });
  const body = decode(bytes);
  const delivery = deliveryHeaders
    .map((header) => headers.get(header))
    .find((id) => id !== undefined && id !== "");
  const once = delivery === undefined ? undefined : world.digest("", delivery);
  const digest = world.digest("", once ?? Buffer.from(world.random(32)).toString("hex"));
  const sent = body === "" ? "Nothing was sent with it." : `What was sent with it:\n\n${body}`;
  return {
    text: `Trigger "${name}" (webhook) was called. ${sent}`,
    ...(once === undefined ? {} : { once }),
    digest,
    detail: { bytes: bytes.length, ...(delivery === undefined ? {} : { delivery: delivery.slice(0, 200) }) },
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SkeinError("invalid", "webhook: body: expected UTF-8 text", { cause });
  }
}

function checkSignature(world: Deps["world"], { signedBy }: Hook, { bytes, headers }: WebhookInput): void {
  if (signedBy === undefined) return;
  const value = world.secret(signedBy);
  if (value === undefined || value === "") {
    throw new SkeinError("unavailable", `webhook: the secret ${quote(signedBy)} is not set here`, {
      hint: "set it in the environment of the server",
    });
  }
  const given = signatureHeaders.map((header) => headers.get(header)).find((one) => one !== undefined);
  const right = `sha256=${signatureOf(world, value, bytes)}`;
  if (given !== undefined && isSameText(given.trim().toLowerCase(), right)) return;
  throw new SkeinError("refused", `webhook: the signature is ${given === undefined ? "missing" : "wrong"}`, {
    hint: `${signatureHeaders.join(" or ")}: sha256= followed by the hexadecimal HMAC-SHA256 of the body`,
  });
}
