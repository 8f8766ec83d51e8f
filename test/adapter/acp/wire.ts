/** Checks what an ACP agent writes, line by line, against the protocol's own JSON Schema. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Validator, type Schema } from "@cfworker/json-schema";

interface Definition {
  readonly "x-side"?: string;
  readonly "x-method"?: string;
}

const path = new URL(import.meta.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"));
const schema = JSON.parse(readFileSync(path, "utf8")) as { $defs: Record<string, Definition> };

/** By side and method: `agent session/new` has a request and a response. */
const names = new Map<string, string>();
for (const [name, definition] of Object.entries(schema.$defs)) {
  const kind = /(Request|Response|Notification)$/.exec(name)?.[1];
  const { "x-side": side, "x-method": method } = definition;
  if (kind !== undefined && method !== undefined) names.set(`${side} ${method} ${kind}`, name);
}

const validators = new Map<string, Validator>();

function assertValid(key: string, value: unknown): void {
  const name = names.get(key);
  assert.ok(name, `the schema has no ${key}`);
  let validator = validators.get(name);
  if (validator === undefined) {
    const whole = { $defs: schema.$defs, $ref: `#/$defs/${name}` } as unknown as Schema;
    validators.set(name, (validator = new Validator(whole, "2020-12", true)));
  }
  const { valid, errors } = validator.validate(value);
  assert.ok(valid, `${name}: ${JSON.stringify(errors.slice(-3))}\n${JSON.stringify(value).slice(0, 2_000)}`);
}

type Message = Readonly<Record<string, unknown>>;

/** Sees the lines of both sides of a connection; `check` fails on the first line that the schema refuses. */
export class WireCheck {
  readonly #asked = new Map<unknown, string>();
  #lines = 0;

  get lines(): number {
    return this.#lines;
  }

  fromClient(line: string): void {
    const message = parse(line);
    const { method, id } = message ?? {};
    if (typeof method === "string" && id !== undefined) this.#asked.set(id, method);
  }

  fromAgent(line: string): void {
    this.#lines += 1;
    const message = JSON.parse(line) as Message;
    assert.equal(message["jsonrpc"], "2.0");
    const { method, id } = message;
    if (method === "$/cancel_request") return;
    if (typeof method === "string")
      return assertValid(
        `client ${method} ${id === undefined ? "Notification" : "Request"}`,
        message["params"],
      );
    if (message["error"] !== undefined) {
      const { code, message: text } = message["error"] as Message;
      assert.ok(Number.isInteger(code) && typeof text === "string", line);
      return;
    }
    assertValid(`agent ${this.#asked.get(id)} Response`, message["result"]);
  }
}

function parse(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Message) : null;
  } catch {
    return null;
  }
}
