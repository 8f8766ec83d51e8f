/** What a client needs of the library itself, so that both refuse alike and give the same. */
export { checkOptions, SkeinError } from "../core/error.ts";
export { checkJson } from "../core/text/json.ts";
export { mayIn, statuses, wayOut, type SessionStatus } from "../core/session/lifecycle.ts";
export { limit } from "../core/limit.ts";
export { parseSnapshot } from "../core/state.ts";
export { isUnsent } from "../core/unsent-request.ts";
