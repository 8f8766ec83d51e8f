/** The parts of the library that a client needs, so that both reject and return the same. */
export { checkOptions, SkeinError } from "../core/error.ts";
export { checkJson } from "../core/text/json.ts";
export { mayIn, statuses, wayOut, type SessionStatus } from "../core/session/lifecycle.ts";
export { limit } from "../core/limit.ts";
export { parseSnapshot } from "../core/state.ts";
export { isUnsent } from "../core/unsent-request.ts";
