/** Events of tokens, in the workspace's own log: who may come in over the network, and as whom. */
import * as z from "zod";
import { event, Key, MayReason, Millis, Sha256, Word } from "./entry.ts";

const TokenRef = z.string().regex(/^tok_[0-9a-z]{26}$/);
const PrincipalRef = z.string().regex(/^prn_[0-9a-z]{26}$/);

export const tokenEvents = {
  "token.issued": event({
    meaning: "Whoever has this token may do what its scopes say, and is known by its principal.",
    erased: "The token holds; what it was called is gone.",
    body: z.looseObject({
      id: TokenRef,
      /** SHA-256 of the secret's text. The secret itself is nowhere. */
      hash: Sha256,
      /** A scope that a program does not know allows nothing there. */
      scopes: z.array(Word).min(1).max(20),
      principal: PrincipalRef,
      /** From this moment on it holds no more. Absent: until it is revoked. */
      expiresAt: Millis.optional(),
    }),
    content: z.looseObject({ name: Key }).optional(),
  }),
  "token.revoked": event({
    meaning: "The token holds no more.",
    erased: "It was revoked; the reason is gone.",
    body: z.looseObject({ id: TokenRef }),
    content: MayReason,
  }),
};
