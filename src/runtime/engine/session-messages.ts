/** The changes of a session that concern what comes from outside: messages, contracts, triggers. */
import { checkCall } from "../../call/check.ts";
import type { SessionId } from "../../core/ids.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";
import { appendResult, type AppendResult } from "../log/append-result.ts";
import { declareContract, readContracts, type MessageContract } from "../message/contract.ts";
import { sendMessage, type SendOptions, type SendResult } from "../message/send.ts";
import type { SessionTrigger, TriggerOptions } from "../trigger/triggers.ts";
import { SessionReader } from "./session-reader.ts";

export class SessionMessages extends SessionReader {
  readonly #deps: Deps;

  constructor(deps: Deps, id: SessionId) {
    super(deps, id);
    this.#deps = deps;
  }

  /**
   * Sends a message to another session's inbox, exactly once: a text, or a value that is sent as its JSON.
   * A reply goes to the requester; then the receiver may be null.
   */
  async send(to: string | null, message: unknown, options: SendOptions = {}): Promise<SendResult> {
    return sendMessage(this.#deps, this.id, { ...options, to, value: message });
  }

  /** Declares a JSON Schema for messages on a topic. `true` accepts anything again. */
  async contract(topic: string, schema: unknown): Promise<AppendResult> {
    return appendResult(await declareContract(this.#deps, this.id, topic, schema));
  }

  /** Its contracts, by topic. */
  async contracts(): Promise<MessageContract[]> {
    return readContracts(this.#deps.store, this.id, await this.fold());
  }

  /**
   * Sets a trigger that wakes the session: a time, a file, another session. One of the same name is replaced.
   * For a webhook it returns the token, which is shown only once.
   */
  async trigger(
    name: string,
    spec: TriggerSpec,
    options: TriggerOptions = {},
  ): Promise<AppendResult & { readonly token?: string }> {
    checkCall("session.trigger", options);
    const { setTrigger } = await import("../trigger/triggers.ts");
    const { change, token } = await setTrigger(this.#deps, this.id, name, spec, options);
    return { ...appendResult(change), ...(token === null ? {} : { token }) };
  }

  /** Its triggers, by name. */
  async triggers(): Promise<SessionTrigger[]> {
    return (await import("../trigger/triggers.ts")).listTriggers(this.#deps, this.id);
  }

  /** Fires a trigger by hand: adds its input, and wakes a sleeping session. */
  async fire(name: string, options: { readonly text?: string } = {}): Promise<AppendResult> {
    checkCall("session.fire", options);
    const { fireNow } = await import("../trigger/fire.ts");
    return appendResult(await fireNow(this.#deps, this.id, name, options.text));
  }

  async untrigger(name: string): Promise<AppendResult> {
    const { writer, actor } = this.#deps;
    return appendResult(await writer.change(this.id, { do: "untrigger", name }, { actor }));
  }
}
