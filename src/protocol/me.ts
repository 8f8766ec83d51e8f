/**
 * The identity of the caller: a separate route next to login and logout, because it needs a token but no
 * scope.
 */
import * as z from "zod";
import { scopes } from "../core/workspace/access-token.ts";
import * as answer from "../call/answer.ts";
import { read } from "../call/operation.ts";

export const Me = z.looseObject({
  /** As records name it: `user:prn_…`. */
  actor: answer.Text,
  tenant: answer.Text,
  /** `admin` includes all of them. */
  scopes: z.array(z.enum(scopes)),
  /** When the token expires; null: never. */
  expiresAt: answer.Count.nullable(),
  /** Of the server. */
  version: answer.Text,
});
/** The identity and rights of a client at a server. */
export type Me = Readonly<z.infer<typeof Me>>;

export const mePath = "/v1/me";

/** Not a call of the library: there the caller is known. */
export const meOperation = read("engine", "me", {
  path: mePath,
  title: "Show who you are",
  summary: "Who comes with this token or login, what they may do, and which version answers.",
  answer: () => Me,
});
