/** Every source of causes that a worker watches by. */
import type { Source } from "./source.ts";

export const sources: readonly Source[] = [];
