/** Who asks: at an address of its own beside login and logout, since it takes no scope but a token at all. */
import * as z from "zod";
import { scopes } from "../core/workspace/access-token.ts";
import * as answer from "../call/answer.ts";
import { read } from "../call/operation.ts";

export const Me = z.looseObject({
  /** As records name them: `user:prn_…`. */
  actor: answer.Text,
  tenant: answer.Text,
  /** `admin` allows all of it. */
  scopes: z.array(z.enum(scopes)),
  /** When the token ends; null: never. */
  expiresAt: answer.Count.nullable(),
  /** Of the server. */
  version: answer.Text,
});
/** The identity and rights of a client at a server. */
export type Me = Readonly<z.infer<typeof Me>>;

export const mePath = "/v1/me";

/** No call of the library: there nobody has to say who they are. */
export const meOperation = read("engine", "me", {
  path: mePath,
  title: "Show who you are",
  summary: "Who comes with this token or login, what they may do, and which version answers.",
  answer: Me,
});
