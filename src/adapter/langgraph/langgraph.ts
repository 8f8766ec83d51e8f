/** `skein/langgraph`: LangGraph's checkpoints and long-term memory in Skein. */
export { SkeinSaver, type SkeinSaverOptions } from "./saver.ts";
export type { Serializer } from "./value.ts";
export { SkeinStore, type SkeinStoreOptions } from "./store.ts";
export { importThreads, type ImportThreadsOptions, type ImportThreadsResult } from "./import.ts";
