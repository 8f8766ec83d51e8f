/** All sources of causes that a worker watches. */
import { fileSource } from "./source-file.ts";
import { gitSource } from "./source-git.ts";
import { querySource } from "./source-query.ts";
import { resourceSource } from "./source-resource.ts";
import { sessionSource } from "./source-session.ts";
import type { Source } from "./source.ts";

export const sources: readonly Source[] = [fileSource, gitSource, resourceSource, querySource, sessionSource];
