/** `skein/google-adk`: sessions of Google's Agent Development Kit in a Skein store. */
export { keepAdkSessions, type AdkEvent, type AdkSession, type AdkClass } from "./session-service.ts";
export type { AdkState } from "./state.ts";
