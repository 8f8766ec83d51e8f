/** A kind of items as typed: a built-in one, or one that an agent declares. */
import { isBuiltInKind, itemKinds, kindPattern, type ItemKind } from "../../core/item/kind.ts";
import { nearest } from "../../core/error.ts";
import { oneOf } from "./args.ts";

export function kindOf(what: string, text: string): ItemKind {
  // A misspelling of a built-in kind is more likely than a kind of an agent's own.
  const isOwn = kindPattern.test(text) && nearest(text, itemKinds) === undefined;
  return isBuiltInKind(text) || isOwn ? text : oneOf(what, text, itemKinds);
}
